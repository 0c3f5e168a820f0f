//! Triangular and tridiagonal systems, and incomplete factorizations.
//!
//! | file | what it does |
//! |---|---|
//! | `triangular` | triangular solves; the analysis of the structure is kept and reused with other values |
//! | `tridiagonal` | batches of tridiagonal systems |
//! | `factor` | incomplete LU and Cholesky factorizations |

mod factor;
mod triangular;
mod tridiagonal;

pub use triangular::SparseTriangular;

#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) fn register<T: super::SolveElement, I: super::SparseIndex>(registry: &mut crate::engines::worker::Registry) {
    registry.call::<triangular::Levels<T, I>>();
    registry.call::<triangular::Solve<T, I>>();
    registry.call::<factor::Factor<T, I>>();
}

#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) fn register_elements<T: super::SolveElement>(registry: &mut crate::engines::worker::Registry) {
    registry.call::<tridiagonal::Solve<T>>();
}
