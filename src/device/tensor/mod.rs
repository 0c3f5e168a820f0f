//! Tensors: a buffer, and where the elements of a tensor lie in it.
//!
//! ```text
//! Tensor<T>        (owns a DeviceBuffer, is written) ─┐
//! TensorRef<'a, T> (borrows In, or shares GpuRef)  ───┼─> Layout: extents, strides, offset
//! Part<T>          (a Tensor of which a part is written)
//! ```
//!
//! - A [`Layout`] is plain data, and all views are made of it alone: `layout/`. What holds for one is said there.
//! - A tensor knows no engine beyond what its buffer knows. Order, generations and memory are the buffer's.
//! - Elements are moved by one operation, `assign/`: copies between strided views, fills, `contiguous`.
//! - `any.rs`: tensors and views whose element type is known at run time, `any_calls.rs` the calls that take them.
//! - `make.rs`: new tensors, of shapes (`shape.rs`) or of numbers (`literal.rs`). `show.rs`: printed. `close.rs`: compared. `operand.rs`: as operands of
//!   an [`Op`](crate::op::Op). `in_flight.rs`: those that are still computed, as operands of calls.
//!   `tuples.rs`: several, as the output of one dispatch.
//!
//! It stands beside the buffers and below the libraries, so that each front can take tensors.

mod any;
mod any_calls;
pub(crate) mod assign;
mod cells;
mod close;
mod decimal;
mod in_flight;
mod layout;
pub(crate) mod literal;
mod make;
mod numbers;
mod operand;
mod part;
mod parts;
mod readable;
mod shape;
mod show;
#[expect(clippy::module_inception, reason = "the file of the type that the folder is about")]
mod tensor;
mod tensor_ref;
mod tuples;
mod views;

pub use crate::device::copy::{HostData, Uploadable};
pub use any::{AnyTensor, AnyTensorRef};
#[cfg(any(feature = "npy", feature = "safetensors"))]
pub(crate) use any_calls::by_size;
#[cfg(feature = "cuda")]
pub(crate) use assign::plan::rows_of;
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) use assign::register;
pub(crate) use layout::fused;
pub use layout::{AxisSlice, AxisSlices, IntoLayout, Layout, Lines};
pub use literal::Nested;
pub use operand::Strided;
pub use part::Part;
pub(crate) use part::Whole;
pub use readable::{ReadableTensor, WritableTensor};
pub use shape::IntoShape;
pub use show::Shown;
pub use tensor::Tensor;
pub use tensor_ref::TensorRef;
