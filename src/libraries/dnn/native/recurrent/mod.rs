//! Recurrent nets of cuDNN, which are no graphs: calls with descriptions of a net, of sequences and of states.
//!
//! `plan.rs` is a net, which is described once; `enqueue.rs` the passes; `functions.rs` the functions of the library. `steps/` computes
//! the nets that the library lacks.
//!
//! The library has one vector of all parameters, with the same places as ours: [`plan`] compares them at first use. Its reserve must
//! be there before its size is known, since only a handle tells it: ours has a margin, and is compared at each use.

mod enqueue;
mod functions;
mod plan;
mod steps;

pub(in super::super) use enqueue::{backward, forward, prepare};
