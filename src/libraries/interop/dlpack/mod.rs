//! Tensors to and from other libraries of the process, without a copy: DLPack, which NumPy, PyTorch, CuPy and JAX speak.
//!
//! ```text
//! a Python capsule `dltensor_versioned`  ──pointer──>  Dlpack  ──tensor_of_dlpack──>  Tensor, or a shared view
//! a tensor  ──dlpack──>  Dlpack  ──into_raw──>  the pointer of a new capsule
//! ```
//!
//! A [`Dlpack`] owns a managed tensor: one struct of the ABI with a function, the *deleter*, that its owner calls once. Version 1
//! and the form before it are supported, in and out.
//!
//! # Who may write
//! - A tensor that goes out is moved in: nobody here has it any more, so the consumer may write it. A shared view
//!   ([`dlpack_shared`](crate::Device::dlpack_shared)) goes out with the flag *read only*, and cannot become writable here while
//!   the consumer has it. The old form cannot say so, so shared views have no such form.
//! - What comes in is a [`Tensor`](crate::Tensor) that is written, if its producer lets us; else only a shared view
//!   ([`shared_of_dlpack`](crate::Device::shared_of_dlpack)). That nobody else writes it meanwhile is promised to
//!   [`Dlpack::from_raw`].
//! - The deleter of what came in is called when the last handle is gone and all work on the memory is complete: on any thread, once.
//!   Memory of what went out is freed when the consumer has called the deleter, on any thread.
//!
//! # Streams
//! On a GPU each call takes the stream of the other side ([`ForeignStream`](crate::external::ForeignStream)): that of `stream` in
//! Python's `__dlpack__`, or the consumer's current one. What comes in follows what is on it; what goes out is followed by it. When
//! the consumer calls the deleter, the memory's next user follows what is on it by then. With `Idle` the calls wait, and the
//! consumer's own work must be complete when it calls the deleter.
//!
//! # Devices
//! The CPU's memory, and pinned memory of CUDA, for host devices; memory of the GPU of the same ordinal, and pinned memory, for a
//! GPU. Element types: each of [`DType`](crate::DType). Strides may be anything, negative and zero too.

mod abi;
mod export;
mod import;
mod managed;
mod types;

pub use managed::{Dlpack, DlpackForm};
