//! Device memory and its handles.
//!
//! ```text
//! DeviceBuffer<T> ─┐                      (owns, may be written; share() / try_unique() turn one into the other)
//! GpuRef<T> ───────┼─> Region ─> Allocation ─> bytes of an engine
//! In<'a, T> ───────┘   │  track: completions of the last writers and of the readers since
//!                      └─ epoch: the life of the device these bytes belong to
//! ```
//!
//! - An [`Allocation`] is a piece of an engine's memory. It knows how to give itself back, and **no epoch**: work in
//!   flight keeps allocations alive, and must not keep the engine that runs it alive (no cycle).
//! - A [`Region`] is a window of an allocation with its own ordering state: whole buffers have one, the parts that
//!   [`DeviceBuffer::split_at`] makes have one each, so that their writers do not wait for each other.
//! - Giving memory back makes no driver call where it happens: see `Region`'s `Drop`.
//!
//! The handles are in `device_buffer.rs`, `gpu_ref.rs` and `operand.rs`, what counts them in `handles.rs`; below them are
//! `region.rs` and `allocation.rs`, with the host engine's bytes in `host_memory.rs`. Ordering lives in `access_history.rs`, what the bytes are worth in `init_state.rs`. Operands as
//! tuples are in `elems.rs`; without their types in `dynamic.rs`, as an engine sees them in `any.rs`, with their types
//! again as outputs in `typed_output.rs`. `mirrored.rs`: data that survives its device.

mod access_history;
mod allocation;
mod any;
mod device_buffer;
mod dynamic;
mod elems;
mod gpu_ref;
mod handles;
mod host_memory;
mod init_state;
mod mirrored;
mod operand;
mod region;
mod typed_output;

pub(crate) use access_history::AccessHistory;
pub(crate) use allocation::{Allocation, Home, Meter};
pub use any::{AnySlice, AnySliceMut, AnySpan};
pub use device_buffer::DeviceBuffer;
pub use dynamic::{AnyBuffer, AnyBuffers, AnyIn, AnyIns, Dyn};
pub use elems::{Elems, List, Operand};
pub(crate) use elems::{Places, Receive, Shape, Visit};
pub use gpu_ref::GpuRef;
pub(crate) use host_memory::{large_pages, recycle, recycled};
pub(crate) use init_state::InitState;
pub use mirrored::Mirrored;
pub(crate) use mirrored::Mirrors;
pub use operand::{In, Span};
pub(crate) use operand::{View, Views};
pub(crate) use region::Region;
pub use typed_output::TypedOutput;
