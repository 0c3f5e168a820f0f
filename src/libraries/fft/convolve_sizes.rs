//! The sizes of a convolution, checked.

use super::convolve::{Mode, Shapes};
use super::dims::MOST_AXES;
use super::frequencies::next_fast_len;
use super::problem::Problem;
use crate::core::error::{Error, Result};
use smallvec::SmallVec;

/// The sizes along one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AxisSizes {
    pub(super) x: usize,
    pub(super) h: usize,
    /// Points of the Fourier transform.
    pub(super) n: usize,
    /// Where the wanted part of the full result begins; `out` is its length.
    pub(super) begin: usize,
    pub(super) out: usize,
}

/// A convolution with all its sizes, checked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sizes {
    pub(super) axes: SmallVec<[AxisSizes; 4]>,
    /// Number of arrays; `kernels`: as many, or 1.
    pub(super) batch: usize,
    pub(super) kernels: usize,
    /// Numbers of `x` in all; `weights`: of `h`; `outputs`: of `y`.
    pub(super) inputs: usize,
    pub(super) weights: usize,
    pub(super) outputs: usize,
    /// Numbers of all padded arrays; `points`: of one of them.
    pub(super) padded: usize,
    pub(super) points: usize,
}

impl Sizes {
    /// The shape of the transforms.
    fn shape(&self) -> SmallVec<[usize; MOST_AXES]> {
        self.axes.iter().map(|axis| axis.n).collect()
    }

    /// The forward and the inverse transform of `arrays` padded arrays.
    pub(super) fn specs(&self, complex: bool, arrays: usize) -> (Problem, Problem) {
        let shape = self.shape();
        match complex {
            true => (Problem::c2c(&shape).batch(arrays), Problem::c2c(&shape).inverse().batch(arrays)),
            // Half spectra of real arrays; their product is also one.
            false => (Problem::r2c(&shape).batch(arrays), Problem::c2r(&shape).hermitian().batch(arrays)),
        }
    }

    /// Points of the spectrum of one array.
    pub(super) fn spectrum(&self, complex: bool) -> usize {
        let halved = self.axes.last().map_or(1, |axis| axis.n);
        if complex { self.points } else { self.points / halved * (halved / 2 + 1) }
    }
}

impl Shapes {
    pub(super) fn sizes(&self) -> Result<Sizes> {
        for (name, shape) in [("x", &self.x), ("h", &self.h)] {
            if shape.is_too_long() {
                return Err(Error::invalid(name, format!("more than {MOST_AXES} axes")));
            }
            if let Some(axis) = shape.as_slice().iter().position(|n| *n == 0) {
                return Err(Error::invalid(name, format!("0 elements along axis {axis}")));
            }
        }
        let (x, h) = (self.x.as_slice(), self.h.as_slice());
        if x.len() != h.len() || x.is_empty() {
            return Err(Error::invalid(
                "h",
                format!("{} axes, but `x` has {}: both need the same number, at least 1", h.len(), x.len()),
            ));
        }
        let pairs = || x.iter().zip(h);
        if self.mode == Mode::Valid && pairs().any(|(x, h)| x < h) && pairs().any(|(x, h)| x > h) {
            let what = format!(
                "{h:?} is larger than {x:?} along one axis and smaller along another, so neither fits into the other"
            );
            return Err(Error::invalid("h", what));
        }
        let overflow = |name| Error::invalid(name, "the number of elements overflows");
        let mut axes: SmallVec<[AxisSizes; 4]> = SmallVec::new();
        for (&x, &h) in pairs() {
            let full = x.checked_add(h).ok_or_else(|| overflow("h"))? - 1;
            let (begin, out) = match self.mode {
                Mode::Full => (0, full),
                Mode::Same => ((h - 1) / 2, x),
                Mode::Valid => (x.min(h) - 1, x.abs_diff(h) + 1),
            };
            // The end of the full result wraps around onto its beginning. With this length it reaches only points
            // before `begin`.
            let needed = x.max(h).max(full - begin).max(begin + out);
            let n = next_fast_len(needed).ok_or_else(|| overflow("h"))?;
            axes.push(AxisSizes { x, h, n, begin, out });
        }
        let of = |name: &'static str, count: usize, size: fn(&AxisSizes) -> usize| {
            let total = axes.iter().try_fold(count, |all, axis| all.checked_mul(size(axis)));
            total.filter(|total| isize::try_from(*total).is_ok()).ok_or_else(|| overflow(name))
        };
        let kernels = if self.own { self.batch } else { 1 };
        let (inputs, weights) = (of("x", self.batch, |axis| axis.x)?, of("h", kernels, |axis| axis.h)?);
        let (outputs, padded) = (of("x", self.batch, |axis| axis.out)?, of("x", self.batch.max(1), |axis| axis.n)?);
        let points = of("x", 1, |axis| axis.n)?;
        Ok(Sizes { axes, batch: self.batch, kernels, inputs, weights, outputs, padded, points })
    }
}
