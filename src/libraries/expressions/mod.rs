//! Formulas for the elements of tensors: recorded once from a closure, run on the CPU and on a GPU with the same bits.
//!
//! ```text
//! closure --build--> Expr (ir/) --lower--> Low (low/) --+--> host/: vectorised loops over blocks
//!                                                        +--> ptx/: one kernel as text
//! ```

mod ahead;
mod build;
#[cfg(feature = "cuda")]
mod cuda;
mod deferred;
mod formula;
mod front;
mod functions;
#[cfg(feature = "host")]
mod host;
mod ir;
mod low;
mod nest;
mod op;
mod operands;
#[cfg(feature = "cuda")]
mod ptx;
mod scalar;
mod types;

pub use build::{Constant, Operand, Outputs, Parts, Symbol, Symbols, constant, extent, position, scalar};
pub use deferred::{Deferred, Term};
pub use formula::Formula;
pub use functions::Function;
pub use ir::{Binary, Compare, Expr, Id, Node, Op, Overflow, Unary};
pub use operands::{Inputs, Target, Targets};
pub use scalar::Scalar;

/// Registers the operation of this folder in the registry of a worker program.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) fn register(registry: &mut crate::worker::Registry) {
    registry.add::<op::Map>();
    registry.add::<ahead::Ahead>();
}
