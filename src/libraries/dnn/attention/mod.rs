//! Attention: softmax(scale * Q K^T + bias) V, and its gradients.
//!
//! `spec.rs` is what a caller says, `problem.rs` an attention with all its sizes, `op.rs` and `gradient.rs` the operations; `host/` computes
//! them on the CPU, `../native/attend.rs` and `attend_backward.rs` by cuDNN. `rows.rs` reads operands as rows, `call.rs` makes a problem of a
//! call, `front.rs` has the calls. `dropout.rs` makes the mask, which both engines read; `sink.rs` is the gradient of the sink, a formula;
//! `pages.rs` has keys and values in blocks.

mod call;
#[cfg(feature = "rng")]
mod dropout;
mod front;
mod gradient;
#[cfg(feature = "host")]
mod host;
mod op;
mod pages;
mod problem;
mod rows;
mod sink;
mod spec;

pub(super) use front::planned;
pub(super) use gradient::AttendBackward;
pub(super) use op::Attend;
#[cfg(all(test, feature = "cuda"))]
pub(super) use pages::Pages;
pub(super) use problem::{AttentionProblem, Rows};
pub use spec::{Attention, Corner};
