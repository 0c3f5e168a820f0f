//! How a spectrum is computed, where there is a choice.

use crate::core::error::{Error, Result};

/// When the Jacobi methods (by rotations) stop.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[must_use]
pub struct Jacobi {
    pub(super) tolerance: Option<f64>,
    pub(super) sweeps: usize,
}

impl Jacobi {
    /// Down to the precision of the type, in at most 100 sweeps over all pairs of columns.
    pub const fn new() -> Self {
        Jacobi { tolerance: None, sweeps: 100 }
    }

    /// What counts as zero, relative to the matrix; never less than the precision of the type.
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = Some(tolerance);
        self
    }

    /// The most sweeps. If they do not suffice, the verdict is [`Error::NotConverged`], and the result so far comes
    /// back.
    pub fn sweeps(mut self, sweeps: usize) -> Self {
        self.sweeps = sweeps;
        self
    }

    pub(super) fn check(&self) -> Result<()> {
        match self.tolerance {
            Some(tolerance) if !(tolerance >= 0.0 && tolerance.is_finite()) => {
                Err(Error::invalid("tolerance", format!("{tolerance}, but it must be finite and at least 0")))
            }
            _ if self.sweeps == 0 => Err(Error::invalid("sweeps", "0, but at least one is needed")),
            _ => Ok(()),
        }
    }
}

impl Default for Jacobi {
    fn default() -> Self {
        Jacobi::new()
    }
}

/// A randomized decomposition, by the method of Halko, Martinsson and Tropp ("Finding structure with randomness", SIAM
/// Review 53, 2011).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[must_use]
pub struct Randomized {
    pub(super) rank: usize,
    pub(super) oversampling: usize,
    pub(super) iterations: usize,
    pub(super) seed: u64,
}

impl Randomized {
    /// The `rank` largest singular values, with ten projections more than that and two iterations of the power method.
    pub fn new(rank: usize) -> Self {
        Randomized { rank, oversampling: 10, iterations: 2, seed: 0 }
    }

    /// Projections beyond the rank: more of them are more accurate and take longer.
    pub fn oversampling(mut self, columns: usize) -> Self {
        self.oversampling = columns;
        self
    }

    /// Iterations of the power method: more of them are more accurate if the values decay slowly.
    pub fn iterations(mut self, rounds: usize) -> Self {
        self.iterations = rounds;
        self
    }

    /// The seed of the projections on the host engine. cuSOLVER takes none.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    pub(super) fn check(&self, size: usize) -> Result<()> {
        if self.rank == 0 || self.rank > size {
            return Err(Error::invalid(
                "rank",
                format!("{}, but it must be from 1 to {size}, the number of singular values", self.rank),
            ));
        }
        Ok(())
    }

    /// Whether there are at least as many projections as values. They save nothing then, so the whole decomposition is
    /// computed instead.
    pub(super) fn is_whole(&self, size: usize) -> bool {
        self.rank.saturating_add(self.oversampling) >= size
    }
}

/// How singular values are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum SvdMethod {
    /// The method that suits the engine and the size, as accurate as `Bidiagonal`. For f32 and f64 with at most 32 rows and
    /// columns it is one-sided rotations of our own, with the same bits on the host and on a GPU, in at most 100 sweeps. For
    /// others it is `Bidiagonal` on the host; on a GPU rotations (`gesvdj`) for a batch of complex matrices of up to 32 rows and
    /// columns, and `Bidiagonal` below 128 values.
    /// From 128 values on it is the polar decomposition; if that reports that it moved the values, `Bidiagonal`
    /// computes the result instead.
    #[default]
    Auto,
    /// By a bidiagonal matrix: QR iterations on a GPU (`gesvd`), divide and conquer on the host. The most accurate on a
    /// GPU.
    Bidiagonal,
    /// By rotations of pairs of columns (`gesvdj`). On a GPU it is the fastest for small matrices, and one call does a
    /// whole batch of matrices of up to 32 rows and columns. On the host it is one-sided, which computes even tiny
    /// values to many digits; vectors of values that rounding leaves nothing of are made orthogonal to the others. On a
    /// GPU, in single precision, vectors of matrices whose rows and columns differ by tens of orders of magnitude are
    /// orthonormal to three or four digits only (measured on an H100).
    Jacobi(Jacobi),
    /// By the polar decomposition and the eigenvalues of its symmetric factor (`gesvdp`), on a GPU in double precision
    /// whatever the type. It consists mostly of products, so it is faster than `Bidiagonal` for large matrices. If a
    /// matrix is close to one of lower rank, its values are moved by the perturbation that
    /// [`Svd::error`](super::Svd::error) returns; that is zero if nothing was moved.
    Polar,
    /// Only the largest values, approximately, by random projections (`gesvdr`).
    Randomized(Randomized),
}

/// The most rows and columns for which one call of the library rotates a whole batch.
#[cfg(feature = "cuda")]
const SMALL: usize = 32;

impl SvdMethod {
    pub(super) fn check(&self, size: usize) -> Result<()> {
        match self {
            SvdMethod::Auto | SvdMethod::Bidiagonal | SvdMethod::Polar => Ok(()),
            SvdMethod::Jacobi(jacobi) => jacobi.check(),
            SvdMethod::Randomized(randomized) => randomized.check(size),
        }
    }

    /// The method on a GPU. Replaces `Auto` if the size alone decides.
    #[cfg(feature = "cuda")]
    pub(super) fn on_gpu(self, (rows, cols): (usize, usize), batch: bool) -> Self {
        const POLAR: usize = 128;
        match self {
            SvdMethod::Auto if batch && rows.max(cols) <= SMALL => SvdMethod::Jacobi(Jacobi::new()),
            SvdMethod::Auto if rows.min(cols) < POLAR => SvdMethod::Bidiagonal,
            method => method,
        }
    }
}

/// How eigenvalues of symmetric and Hermitian matrices are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum EighMethod {
    /// The method that suits the engine and the size. For all values of matrices of f32 and f64 with at most 32 rows it is
    /// two-sided rotations of our own, with the same bits on the host and on a GPU, in at most 100 sweeps. For others it is
    /// rotations (`syevj`) for a batch of matrices of up to 32 rows on a GPU, else `Tridiagonal`.
    #[default]
    Auto,
    /// By a tridiagonal matrix and divide and conquer (`syevd`, `syevdx`).
    Tridiagonal,
    /// By rotations of rows and columns (`syevj`): faster for small matrices on a GPU.
    Jacobi(Jacobi),
}

impl EighMethod {
    /// The method on a GPU, with `Auto` replaced.
    #[cfg(feature = "cuda")]
    pub(super) fn on_gpu(self, rows: usize, batch: bool) -> Self {
        match self {
            EighMethod::Auto if batch && rows <= SMALL => EighMethod::Jacobi(Jacobi::new()),
            EighMethod::Auto => EighMethod::Tridiagonal,
            method => method,
        }
    }
}

/// What a method reports: its sweeps and its error.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Reached {
    pub(super) sweeps: Option<u32>,
    pub(super) error: Option<f64>,
}

impl Reached {
    /// The larger number of sweeps, and the larger error.
    pub(super) fn and(self, other: Reached) -> Reached {
        let error = match (self.error, other.error) {
            (Some(one), Some(other)) => Some(one.max(other)),
            (one, other) => one.or(other),
        };
        Reached { sweeps: self.sweeps.max(other.sweeps), error }
    }

    /// As eight bytes: the upper 48 bits of the error, and below them the number of sweeps plus one, or 0 for none.
    pub(super) fn pack(self) -> usize {
        let error = self.error.unwrap_or(f64::NAN).to_bits() as usize;
        let sweeps = self.sweeps.map_or(0, |sweeps| (sweeps as usize).saturating_add(1));
        error & !BELOW | sweeps.min(BELOW)
    }

    pub(super) fn unpack(packed: usize) -> Self {
        let error = f64::from_bits((packed & !BELOW) as u64);
        let sweeps = (packed & BELOW).checked_sub(1);
        Reached { sweeps: sweeps.map(|sweeps| sweeps as u32), error: (!error.is_nan()).then_some(error) }
    }
}

/// The bits of the sweeps.
const BELOW: usize = 0xFFFF;

#[cfg(test)]
mod tests {
    use super::Reached;

    #[test]
    fn what_was_reached_passes_through_eight_bytes() {
        for (sweeps, error) in
            [(None, None), (Some(0), None), (Some(7), Some(0.0)), (None, Some(3e-50)), (Some(100), Some(f64::INFINITY))]
        {
            let back = Reached::unpack(Reached { sweeps, error }.pack());
            let near = |(x, y): (f64, f64)| x == y || (x - y).abs() < 1e-10 * y;
            assert_eq!(back.sweeps, sweeps);
            assert!(back.error.is_some() == error.is_some() && back.error.zip(error).is_none_or(near), "{back:?}");
        }
        assert_eq!(Reached::unpack(Reached { sweeps: Some(1 << 20), error: None }.pack()).sweeps, Some(0xFFFE));
    }
}
