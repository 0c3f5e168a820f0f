//! Convolutions and their gradients.
//!
//! `spec.rs` is what a caller says, `problem.rs` a convolution with all its sizes, `sizing.rs` what calls that are alike have in common, `op.rs` the operation; `host/` computes it on the
//! CPU, `../native/convolve.rs` by cuDNN. `order.rs` brings tensors into the order that both need, `run.rs` submits
//! calls without their types, `tune.rs` measures engines for them, `front.rs` has the calls, and `pass.rs` names one of them to
//! ask for its plan.

mod front;
#[cfg(feature = "host")]
mod host;
mod op;
mod order;
mod pass;
mod problem;
mod run;
mod sizing;
mod spec;
mod tune;

pub use front::Fused;
pub(super) use op::Convolve;
pub use pass::ConvolutionPass;
pub(super) use problem::{Direction, Problem, Sizes};
pub(super) use sizing::Sizing;
pub use spec::{Convolution, Paddings, Spatial};
pub(super) use tune::{planned, tune};
