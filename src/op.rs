//! What the author of an operation needs: [`Op`] and the types in its signatures.
//!
//! A call of the library is an operation that this crate has written; a program can write its own, and submit it with
//! [`Device::dispatch`](crate::Device::dispatch). The documentation of [`Op`] writes one.

pub use crate::core::buffer::{
    AnyBuffer, AnyBuffers, AnyIn, AnyIns, AnySlice, AnySliceMut, AnySpan, Dyn, Elems, List, Operand, Readable,
    ReadableAny, Shareable, Span, TypedOutput,
};
pub use crate::core::dispatch::{Answer, Awaited, Timed};
pub use crate::core::launch::LaunchDims;
pub use crate::core::op::raw::Landed;
pub use crate::core::op::{
    Bufs, Cost, Failure, Immediate, Made, Make, Next, OpKind, OperandNames, Output, Raw, Spans, Sure, Wire,
};
pub use crate::device::dispatch::InFlight;
#[cfg(feature = "cuda")]
pub use crate::engines::cuda::{KernelArg, Ptx, StreamPtr};
pub use crate::engines::cuda_enqueue::{Enqueue, EnqueueOn, PlanBuilder};
pub use crate::engines::op::{Built, HostOf, Ins, Op, Outs, PlanKey, Prepare, Slices, SlicesMut, WritesOf};
