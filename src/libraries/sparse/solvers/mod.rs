//! Iterative methods for `A * x = b`, composed of operations on the device.
//!
//! **No iteration waits for its own results.** All scalars of a recurrence stay in device memory: inner products are
//! left there, `scalars` computes factors from them, and vector updates read the factors. At a fixed interval the norm
//! of the residual is sent to the host. The host checks it when it sends the next one, so a solver stops at most two
//! intervals after it has converged. A factor whose divisor is zero is zero: iterations after an exact solution, or after
//! a breakdown, change nothing.
//!
//! **Only a residual computed from x decides about success** (`passes`): a recurrence may claim anything.
//!
//! | file | contents |
//! |---|---|
//! | `iteration` | tolerances, limits, progress; solutions and failures |
//! | `passes` | the frame of all methods: passes until the true residual is small enough |
//! | `system` | the system with scaled numbers, and the operations on it |
//! | `watch` | the asynchronous check of the residual |
//! | `precondition` | the preconditioners: Jacobi, ILU(0), IC(0), polynomials |
//! | `scalars`, `vectors`, `basis` | the small operations: factors, vectors with factors in device memory, orthogonal bases |
//! | `cg`, `bicgstab`, `gmres`, `minres` | the methods |

mod basis;
mod bicgstab;
mod cg;
mod gmres;
mod iteration;
mod minres;
mod passes;
mod precondition;
mod scalars;
mod system;
mod vectors;
mod watch;

pub use iteration::{Iteration, IterationProgress, IterativeSolution, Unsolved};
pub use precondition::Preconditioner;

#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) fn register<T: super::SolveElement>(registry: &mut crate::engines::worker::Registry) {
    registry.call::<scalars::Quotient<T>>();
    registry.call::<scalars::Lanczos<T>>();
    registry.call::<vectors::Xpby<T>>();
    registry.call::<vectors::Times<T>>();
    registry.call::<vectors::Reciprocal<T>>();
    registry.call::<basis::Dots<T>>();
    registry.call::<basis::Combine<T>>();
    registry.call::<basis::Rotate<T>>();
    registry.call::<basis::BackSolve<T>>();
}
