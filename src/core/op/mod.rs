//! What an operation consists of, as far as no engine has to be known for it. The operation itself, `Op`, is in `engines/op/`,
//! because its CUDA half works with the engine's queue.
//!
//! `any_op.rs`: it without its type; `output.rs`: its result; `raw.rs`: what the device returns to the host; `any_vec.rs`: a vector of that; `left.rs`: whether it returns something, as a type; `bulk.rs`: such data on its way; `made.rs`: buffers that it makes while it runs; `kind.rs`: how its calls behave; `wire.rs`: how it crosses
//! to a worker; `retention.rs`: what outlives its pending; `contained.rs`: runs code of its author.

mod any_op;
mod any_vec;
#[cfg(any(feature = "cuda", target_os = "linux"))]
mod bulk;
pub(crate) mod contained;
mod internal;
mod kind;
mod left;
mod made;
mod output;
pub(crate) mod raw;
mod retention;
pub(crate) mod wire;

pub(crate) use any_op::AnyOp;
pub(crate) use any_vec::AnyVec;
#[cfg(any(feature = "cuda", target_os = "linux"))]
pub(crate) use bulk::Bulk;
pub(crate) use contained::{Contained, contained, guarded, quietly};
pub(crate) use internal::Internal;
pub use kind::OpKind;
pub(crate) use left::NothingLeft;
pub use left::{Sure, Verdict};
pub use made::{Made, Make, Next};
pub use output::{Immediate, Output};
pub(crate) use retention::Retention;

use crate::core::buffer::Elems;
pub(crate) use crate::core::op::raw::Index;
pub use crate::core::op::raw::Raw;
pub use wire::Wire;
pub(crate) use wire::{Incoming, Outgoing, garbled};

/// The names of operands that are read, and of those that are written.
pub type OperandNames = (&'static [&'static str], &'static [&'static str]);

/// How much work an op is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Floating-point (or integer) operations.
    pub flops: u64,
    /// Bytes that must move at least: each input read once, each output written once.
    pub bytes: u64,
}

/// The addresses and lengths of a tuple's operands.
pub type Spans<E> = <E as Elems>::Spans;
/// The buffers inside an output.
pub type Bufs<O> = <<O as Output>::Writes as Elems>::Bufs;
/// What the failure of an operation with this output is: [`Rejected`](crate::Rejected) with its buffers, or a plain
/// [`Error`](crate::Error) for an output without buffers, such as a scalar.
pub type Failure<O> = <<O as Output>::Writes as Elems>::Failure;
