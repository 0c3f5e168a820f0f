//! Recurrent nets: plain ones, LSTM and GRU.
//!
//! `spec.rs` is what a caller says of a net, `parameters.rs` where its parameters lie in their one buffer; `net.rs` has a net and a
//! call with all their sizes. `op.rs` and `gradient.rs` are the operations, `front.rs` the calls, `training.rs` what joins both passes.
//! `host/` computes on the CPU, `../native/recurrent/` by cuDNN, and what cuDNN lacks by products and formulas. Both engines have the
//! same parameters, and each its own reserve.

mod front;
mod gradient;
#[cfg(feature = "host")]
mod host;
mod net;
mod op;
mod parameters;
mod spec;
mod training;

pub use front::Sequences;
pub(super) use gradient::RecurBackward;
pub(super) use net::{Net, RecurrentProblem};
pub(super) use op::Recur;
pub use parameters::{RecurrentGate, RecurrentParameter};
pub use spec::{Recurrent, RecurrentBias, RecurrentCell};
pub use training::RecurrentTraining;

/// Registers the operations of this folder in the registry of a worker program.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) fn register(registry: &mut crate::engines::worker::Registry) {
    registry.add::<Recur>();
    registry.add::<RecurBackward>();
}
