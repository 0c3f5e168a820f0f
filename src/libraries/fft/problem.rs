//! A transform as its op holds it: a specification with the sizes and strides of both sides. Plain data.

use super::dims::Dims;
use super::spec::{Direction, Kind, Normalization};
use serde::{Deserialize, Serialize};

/// The layout of one side of a transform in its buffer.
///
/// Distances count elements of that side: real numbers on a real side, complex numbers on a complex side (for halves, two
/// elements of the buffer each).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct DataLayout {
    /// Distance between neighbours along each axis.
    pub(super) strides: Dims,
    /// Distance between the arrays of a batch.
    pub(super) dist: Option<usize>,
}

impl DataLayout {
    /// A stride for each axis.
    pub(super) fn strided(strides: impl Into<Dims>) -> Self {
        DataLayout { strides: strides.into(), dist: None }
    }

    /// An array inside a larger, row-major one, as in cuFFT's and FFTW's "advanced" layout: `embed` are the sizes of the
    /// larger array (the first of them matters only to `dist`), `stride` the distance along its last axis.
    pub(super) fn embedded(embed: impl Into<Dims>, stride: usize) -> Self {
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
    #[cfg(test)]
    pub(super) fn dist(self, dist: usize) -> Self {
        DataLayout { dist: Some(dist), ..self }
    }
}

/// A Fourier transform: its kind, sizes, layout and normalisation.
///
/// The shape is that of the transform on its real or complex ("logical") side: for real-to-complex the shape of the real
/// input, for complex-to-real that of the real output. The complex side of both has `n / 2 + 1` points along the last
/// transformed axis. Arrays are row-major and packed unless a [`DataLayout`] says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[must_use]
pub(super) struct Problem {
    pub(super) kind: Kind,
    pub(super) direction: Direction,
    pub(super) norm: Normalization,
    pub(super) shape: Dims,
    pub(super) axes: Option<Dims>,
    /// The shape of the input, if it differs from what the transform takes: along transformed axes it is cropped or padded
    /// with zeros. Along the halved axis of a complex-to-real transform it counts complex numbers.
    pub(super) input_shape: Option<Dims>,
    pub(super) batch: usize,
    pub(super) input: Option<DataLayout>,
    pub(super) output: Option<DataLayout>,
    pub(super) hermitian: bool,
}

impl Problem {
    pub(super) fn new(kind: Kind, shape: impl Into<Dims>) -> Self {
        Problem {
            kind,
            direction: if kind == Kind::C2r { Direction::Inverse } else { Direction::Forward },
            norm: Normalization::default(),
            shape: shape.into(),
            axes: None,
            input_shape: None,
            batch: 1,
            input: None,
            output: None,
            hermitian: false,
        }
    }

    /// A complex transform of an array of this shape, forward.
    pub(super) fn c2c(shape: impl Into<Dims>) -> Self {
        Problem::new(Kind::C2c, shape)
    }

    /// A transform of a real array of this shape, forward.
    pub(super) fn r2c(shape: impl Into<Dims>) -> Self {
        Problem::new(Kind::R2c, shape)
    }

    /// An inverse transform to a real array of this shape.
    pub(super) fn c2r(shape: impl Into<Dims>) -> Self {
        Problem::new(Kind::C2r, shape)
    }

    pub(super) fn direction(self, direction: Direction) -> Self {
        Problem { direction, ..self }
    }

    pub(super) fn inverse(self) -> Self {
        self.direction(Direction::Inverse)
    }

    pub(super) fn norm(self, norm: Normalization) -> Self {
        Problem { norm, ..self }
    }

    /// Arrays of this shape, one after another.
    pub(super) fn batch(self, batch: usize) -> Self {
        Problem { batch, ..self }
    }

    /// Transforms only along these axes of the shape.
    pub(super) fn axes(self, axes: impl Into<Dims>) -> Self {
        Problem { axes: Some(axes.into()), ..self }
    }

    pub(super) fn hermitian(self) -> Self {
        Problem { hermitian: true, ..self }
    }
}

#[cfg(test)]
impl Problem {
    pub(super) fn input_shape(self, shape: impl Into<Dims>) -> Self {
        Problem { input_shape: Some(shape.into()), ..self }
    }

    pub(super) fn input(self, layout: DataLayout) -> Self {
        Problem { input: Some(layout), ..self }
    }

    pub(super) fn output(self, layout: DataLayout) -> Self {
        Problem { output: Some(layout), ..self }
    }
}
