//! Direct solutions: factors with fill, in an order that keeps it small. On the host engine alone.
//!
//! Three steps, of which the first looks at the structure alone and serves for all matrices that have it: [`Sparse::analyse`],
//! [`Sparse::cholesky`], [`SparseCholesky::solve`]; or [`Sparse::solve_qr`] for the last two at once.
//!
//! | file | what it does |
//! |---|---|
//! | `analyse` | the order of elimination and the structure of the factor |
//! | `cholesky` | factors of positive definite matrices, and solutions |
//! | `qr` | least squares and systems without symmetry |

mod analyse;
mod cholesky;
mod qr;

pub use analyse::{Analysis, Direct};
pub use cholesky::SparseCholesky;
pub use qr::LeastSquares;

use super::element::SparseIndex;
#[cfg(feature = "host")]
use super::host::direct::NONE;
use crate::Error;

/// Why no GPU does it.
#[cfg(feature = "sparse")]
fn unsupported() -> Error {
    Error::unsupported(
        "direct solutions of sparse systems on a GPU: cuSOLVER's routines for them are deprecated, and cuDSS, which follows \
         them, is a library of its own that is not used yet; factor on `Device::host()`, or use the iterations of `sparse()`",
    )
}

/// As places.
#[cfg(feature = "host")]
fn places<I: SparseIndex>(x: &[I]) -> Vec<usize> {
    x.iter().map(|x| x.place()).collect()
}

/// Parents as places; what is no column is no parent.
#[cfg(feature = "host")]
fn parents<I: SparseIndex>(x: &[I]) -> Vec<usize> {
    x.iter().map(|i| if i.place() < x.len() { i.place() } else { NONE }).collect()
}

/// Lengths that a plan must have.
fn check_plan(n: usize, lens: [usize; 3]) -> crate::Result<()> {
    if lens == [n, n, n.saturating_add(1)] {
        Ok(())
    } else {
        Err(Error::invalid("analysis", format!("{lens:?} elements for {n} columns")))
    }
}

#[cfg(all(feature = "worker-program", target_os = "linux"))]
pub(super) fn register<T: super::SolveElement, I: SparseIndex>(registry: &mut crate::worker::Registry) {
    registry.call::<cholesky::Factor<T, I>>();
    registry.call::<cholesky::Solve<T, I>>();
    registry.call::<qr::Solve<T, I>>();
}

#[cfg(all(feature = "worker-program", target_os = "linux"))]
pub(super) fn register_indices<I: SparseIndex>(registry: &mut crate::worker::Registry) {
    registry.call::<analyse::Analyse<I>>();
}
