//! The specification of a transform: what the tensors do not say.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

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

/// What a Fourier transform is told besides its tensors: direction, normalisation, axes, lengths. Plain data.
///
/// The extents of the tensors are the sizes, their strides say where the elements lie, and the axes that are not transformed
/// are a batch.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::{Complex, Device, FftSpec, fft::Normalization};
/// let device = Device::host()?;
/// let x = device.tensor([3, 4], vec![Complex::new(1.0f64, 0.0); 12])?; // three lines of four
/// let spec = FftSpec::new().axes([-1]).norm(Normalization::Ortho);
/// let y = device.fft().c2c(&spec, &x, device.uninit([3, 4])?)?.await_result()?;
/// assert_eq!(device.item(y.slice((2, 0))?)?.re, 2.0); // 4 / sqrt(4)
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[must_use]
pub struct FftSpec {
    pub(super) direction: Option<Direction>,
    pub(super) norm: Normalization,
    /// None: all.
    pub(super) axes: SmallVec<[isize; 4]>,
    /// None: those of the tensors.
    pub(super) n: SmallVec<[usize; 4]>,
    pub(super) hermitian: bool,
}

impl FftSpec {
    /// Over all axes, inverse from complex to real and forward else, the inverse divided by the number of points.
    pub fn new() -> Self {
        FftSpec::default()
    }

    /// The direction. A complex-to-real transform forward is SciPy's `hfft`, a real-to-complex transform inverse its
    /// `ihfft`.
    pub fn direction(self, direction: Direction) -> Self {
        FftSpec { direction: Some(direction), ..self }
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

    /// Transforms only along these axes, each named once; a negative one counts from the end. By default, and for an empty
    /// list, along all of them. Real transforms halve the last one named.
    pub fn axes(self, axes: impl AsRef<[isize]>) -> Self {
        FftSpec { axes: axes.as_ref().into(), ..self }
    }

    /// The length of the transform along each of the [`axes`](Self::axes), if it is not that of the input, which is cropped
    /// or padded with zeros then. SciPy's `n` and `s`. In place, it tells how many places of a line are numbers.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, FftSpec};
    /// let device = Device::host()?;
    /// let x = device.tensor([2, 3], [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// let spec = FftSpec::new().axes([1]).n([8]); // padded to lines of eight
    /// let y = device.fft().r2c(&spec, &x, device.uninit([2, 5])?)?.await_result()?;
    /// assert_eq!(device.item(y.slice((1, 0))?)?.re, 15.0);
    /// # Ok(()) }
    /// ```
    pub fn n(self, n: impl AsRef<[usize]>) -> Self {
        FftSpec { n: n.as_ref().into(), ..self }
    }

    /// Promises that the input of a complex-to-real transform over several axes is the spectrum of a real array. This
    /// saves a GPU a pass and the memory for it. For any other input a GPU gives other numbers than the CPU.
    pub fn hermitian(self) -> Self {
        FftSpec { hermitian: true, ..self }
    }
}
