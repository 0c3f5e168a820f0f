//! Systems that are solved directly: triangular and tridiagonal ones, and incomplete factors.
//!
//! | file | what it does |
//! |---|---|
//! | `triangular` | a triangle with its analysis, which is kept and used again with other values |
//! | `tridiagonal` | batches of tridiagonal systems |
//! | `factor` | incomplete LU and Cholesky factors |

mod factor;
mod triangular;
mod tridiagonal;

pub use triangular::{Spsm, Triangular};
pub use tridiagonal::Gtsv;

#[cfg(all(feature = "worker-program", target_os = "linux"))]
pub(super) fn register<T: super::SolveElement, I: super::SparseIndex>(registry: &mut crate::worker::Registry) {
    registry.call::<triangular::Levels<T, I>>();
    registry.call::<triangular::Solve<T, I>>();
    registry.call::<factor::Factor<T, I>>();
}

#[cfg(all(feature = "worker-program", target_os = "linux"))]
pub(super) fn register_elements<T: super::SolveElement>(registry: &mut crate::worker::Registry) {
    registry.call::<tridiagonal::Solve<T>>();
}
