//! Device memory and its handles.
//!
//! ```text
//! DeviceBuffer<T> ─┐                      (owns, may be written; share() / try_unique() turn one into the other)
//! GpuRef<T> ───────┼─> Region ─> Allocation ─> bytes of an engine
//! In<'a, T> ───────┘   │  track: completions of the last writers and of the readers since
//!                      └─ epoch: the generation of the device that these bytes belong to
//! ```
//!
//! - An [`Allocation`] is a piece of an engine's memory. It knows how to return itself, and holds **no epoch**: work in
//!   flight keeps allocations alive, and must not keep the engine that runs it alive (no cycle).
//! - A [`Region`] is a window of an allocation with its own ordering state. A whole buffer has one region. Each part
//!   that [`DeviceBuffer::split_at`] makes has a region of its own, so that writers of different parts do not wait for
//!   each other.
//! - Dropping a buffer makes no driver call on the dropping thread: see `Region`'s `Drop`.
//!
//! The handles are in `device_buffer.rs`, `gpu_ref.rs` and `operand.rs`, and their count in `handles.rs`. Below them
//! are `region.rs` and `allocation.rs`; `home.rs` says where memory goes back to, `lent.rs` has memory of others, `reserve.rs` what grows, `host_memory.rs` has the memory of the host engine; `ledger.rs` lists what a report names. `core/order/` has the
//! ordering state, `init_state.rs` whether the contents are valid. Operands: `elems.rs` as tuples, `dynamic.rs` without
//! their types, `any.rs` as an engine sees them, `readable.rs` as calls take them, `typed_output.rs` converted to typed
//! outputs. `capture.rs`: memory that recorded programs read while its owner may write it.

mod allocation;
mod any;
mod capture;
mod device_buffer;
mod dynamic;
mod elems;
mod gpu_ref;
mod handles;
mod home;
mod host_memory;
mod init_state;
mod ledger;
#[cfg(any(feature = "external", feature = "cuda"))]
mod lent;
mod operand;
pub(crate) mod readable;
mod region;
mod reserve;
pub(crate) mod shift;
mod typed_output;

pub(crate) use allocation::{Allocation, Meter};
pub use any::{AnySlice, AnySliceMut, AnySpan};
pub(crate) use capture::Captured;
pub use device_buffer::DeviceBuffer;
pub use dynamic::{AnyBuffer, AnyBuffers, AnyIn, AnyIns, Dyn};
pub use elems::{Elems, List, Operand};
pub(crate) use elems::{Places, Receive, Shape, Visit, sealed};
pub use gpu_ref::GpuRef;
pub(crate) use home::Home;
#[cfg(feature = "cuda")]
pub(crate) use home::Pool;
#[cfg(target_os = "linux")]
pub(crate) use home::RemoteMemory;
pub(crate) use host_memory::{large_pages, recycle, recycled};
pub(crate) use init_state::InitState;
#[cfg(any(feature = "external", feature = "cuda"))]
pub(crate) use lent::Owner;
pub use operand::{In, Span};
pub(crate) use operand::{View, Views};
pub use readable::{Readable, ReadableAny, Shareable};
pub(crate) use region::Region;
pub(crate) use reserve::Resizing;
pub use typed_output::TypedOutput;
