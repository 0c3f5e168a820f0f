//! The specification of a transform, as plain data.

use super::dims::Dims;
use serde::{Deserialize, Serialize};

/// The sign of the exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Direction {
    /// `exp(-2 pi i j k / n)`.
    Forward,
    /// `exp(+2 pi i j k / n)`.
    Inverse,
}

/// Which transform has the factor `1 / N`. `N` is the product of the transformed sizes. The names are SciPy's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Normalization {
    /// None, as in cuFFT and FFTW: an inverse of a forward transform gives `N` times the input.
    None,
    /// The inverse is divided by `N`. SciPy's default, and ours.
    #[default]
    Backward,
    /// Both are divided by the square root of `N`.
    Ortho,
    /// The forward transform is divided by `N`.
    Forward,
}

impl Normalization {
    /// The factor of a transform over `n` points.
    pub(super) fn factor(self, direction: Direction, n: f64) -> f64 {
        match (self, direction) {
            (Normalization::Ortho, _) => 1.0 / n.sqrt(),
            (Normalization::Backward, Direction::Inverse) | (Normalization::Forward, Direction::Forward) => 1.0 / n,
            _ => 1.0,
        }
    }
}

/// Which numbers are real.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// Complex to complex.
    C2c,
    /// Real to the half of the spectrum that is not redundant.
    R2c,
    /// That half to real.
    C2r,
}

/// The layout of one side of a transform in its buffer.
///
/// Distances count elements of that side: real numbers on a real side, complex numbers on a complex side (for halves, two
/// elements of the buffer each).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DataLayout {
    /// Distance between neighbours along each axis.
    pub(super) strides: Dims,
    /// Distance between the arrays of a batch.
    pub(super) dist: Option<usize>,
}

impl DataLayout {
    /// A stride for each axis. The distance between the arrays of a batch must be set with [`dist`](Self::dist).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::fft::{FftSpec, DataLayout};
    /// // The columns of a 3 x 4 row-major matrix.
    /// let spec = FftSpec::c2c([3]).batch(4).input(DataLayout::strided([4]).dist(1)).output(DataLayout::strided([4]).dist(1));
    /// assert_eq!(spec.input_len()?, 12);
    /// # Ok(()) }
    /// ```
    pub fn strided(strides: impl Into<Dims>) -> Self {
        DataLayout { strides: strides.into(), dist: None }
    }

    /// An array inside a larger, row-major one, as in cuFFT's and FFTW's "advanced" layout: `embed` are the sizes of the
    /// larger array (the first of them matters only to [`dist`](Self::dist)), `stride` the distance along its last axis.
    pub fn embedded(embed: impl Into<Dims>, stride: usize) -> Self {
        let embed: Dims = embed.into();
        let mut strides = embed;
        let mut step = stride;
        for axis in (0..embed.as_slice().len()).rev() {
            strides.set(axis, step);
            step = step.saturating_mul(embed.get(axis).unwrap_or(1));
        }
        DataLayout { strides, dist: Some(step) }
    }

    /// The distance between the arrays of a batch.
    pub fn dist(self, dist: usize) -> Self {
        DataLayout { dist: Some(dist), ..self }
    }
}

/// A Fourier transform: its kind, sizes, layout and normalisation. Plain data.
///
/// The shape is that of the transform on its real or complex ("logical") side: for real-to-complex the shape of the real
/// input, for complex-to-real that of the real output. The complex side of both has `n / 2 + 1` points along the last
/// transformed axis. Arrays are row-major and packed unless a [`DataLayout`] says otherwise.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::fft::{FftSpec, Normalization};
/// let spec = FftSpec::r2c([480, 640]).batch(3).norm(Normalization::Ortho); // three images
/// assert_eq!((spec.input_len()?, spec.output_len()?), (3 * 480 * 640, 3 * 480 * 321));
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[must_use]
pub struct FftSpec {
    pub(super) kind: Kind,
    pub(super) direction: Direction,
    pub(super) norm: Normalization,
    pub(super) shape: Dims,
    pub(super) axes: Option<Dims>,
    pub(super) n: Option<Dims>,
    pub(super) input_shape: Option<Dims>,
    pub(super) batch: usize,
    pub(super) input: Option<DataLayout>,
    pub(super) output: Option<DataLayout>,
    pub(super) hermitian: bool,
}

impl FftSpec {
    fn new(kind: Kind, direction: Direction, shape: Dims) -> Self {
        FftSpec {
            kind,
            direction,
            norm: Normalization::default(),
            shape,
            axes: None,
            n: None,
            input_shape: None,
            batch: 1,
            input: None,
            output: None,
            hermitian: false,
        }
    }

    /// A complex transform of an array of this shape, forward.
    pub fn c2c(shape: impl Into<Dims>) -> Self {
        FftSpec::new(Kind::C2c, Direction::Forward, shape.into())
    }

    /// A transform of a real array of this shape, forward. Returns only the points of the spectrum up to half of the
    /// last transformed axis; the others are their conjugates.
    pub fn r2c(shape: impl Into<Dims>) -> Self {
        FftSpec::new(Kind::R2c, Direction::Forward, shape.into())
    }

    /// An inverse transform to a real array of this shape, from the output of [`r2c`](Self::r2c). `n / 2 + 1` is the
    /// same for an even `n` and for the odd one after it, so the shape is that of the real array.
    ///
    /// The imaginary part of the first point along the last transformed axis is not read, nor, for an even `n`, that of the
    /// last point. With several axes this holds after the other axes have been transformed, as in NumPy.
    pub fn c2r(shape: impl Into<Dims>) -> Self {
        FftSpec::new(Kind::C2r, Direction::Inverse, shape.into())
    }

    /// The direction. A complex-to-real transform forward is SciPy's `hfft`, a real-to-complex transform inverse its
    /// `ihfft`.
    pub fn direction(self, direction: Direction) -> Self {
        FftSpec { direction, ..self }
    }

    /// The direction forward; see [`direction`](Self::direction).
    pub fn forward(self) -> Self {
        self.direction(Direction::Forward)
    }

    /// The direction inverse; see [`direction`](Self::direction).
    pub fn inverse(self) -> Self {
        self.direction(Direction::Inverse)
    }

    /// Which transform has the factor `1 / N`; [`Normalization::Backward`] by default.
    pub fn norm(self, norm: Normalization) -> Self {
        FftSpec { norm, ..self }
    }

    /// A batch of arrays of this shape, one after another (or as [`DataLayout::dist`] says).
    pub fn batch(self, batch: usize) -> Self {
        FftSpec { batch, ..self }
    }

    /// Transforms only along these axes of the shape, counted from 0, each named once; by default along all of them.
    /// Real transforms halve the last one named.
    pub fn axes(self, axes: impl Into<Dims>) -> Self {
        FftSpec { axes: Some(axes.into()), ..self }
    }

    /// The length of the transform along each of the [`axes`](Self::axes), if it differs from the shape. The input
    /// keeps its shape and is cropped or padded with zeros; the output has these sizes. SciPy's `n` and `s`.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::fft::FftSpec;
    /// let spec = FftSpec::c2c([3, 5]).axes([1]).n([8]);
    /// assert_eq!((spec.input_len()?, spec.output_len()?), (15, 24));
    /// # Ok(()) }
    /// ```
    pub fn n(self, n: impl Into<Dims>) -> Self {
        FftSpec { n: Some(n.into()), ..self }
    }

    /// The shape of the input, if it differs from what the transform takes: along transformed axes it is cropped or
    /// padded with zeros. Along the halved axis of a complex-to-real transform it counts complex numbers.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::fft::FftSpec;
    /// let spec = FftSpec::c2r([16]).input_shape([5]); // SciPy's irfft(x, 16) of five points
    /// assert_eq!((spec.input_len()?, spec.output_len()?), (5, 16));
    /// # Ok(()) }
    /// ```
    pub fn input_shape(self, shape: impl Into<Dims>) -> Self {
        FftSpec { input_shape: Some(shape.into()), ..self }
    }

    /// The layout of the input in its buffer; packed by default.
    pub fn input(self, layout: DataLayout) -> Self {
        FftSpec { input: Some(layout), ..self }
    }

    /// The layout of the output in its buffer; packed by default. Its elements must not overlap. Memory between them is
    /// not written.
    pub fn output(self, layout: DataLayout) -> Self {
        FftSpec { output: Some(layout), ..self }
    }

    /// Promises that the input of a complex-to-real transform over several axes is the spectrum of a real array. This
    /// saves a GPU a pass and the memory for it. For any other input a GPU gives other numbers than the CPU.
    pub fn hermitian(self) -> Self {
        FftSpec { hermitian: true, ..self }
    }
}
