//! What the layouts of tensors mean to a library of BLAS's family: vectors with an increment, matrices with a leading
//! dimension, batches at even distances. The one place that reads strides so.
//!
//! A front splits each tensor into a part of a buffer and a layout ([`TensorRef::operand`](crate::TensorRef)), asks here
//! what the layout is, and calls one function that is not generic over its operands. No call of a front copies, but for the
//! solver's: what a routine cannot read is refused with an error that names [`Device::contiguous`](crate::Device::contiguous).

#[cfg(feature = "blas")]
mod matrices;
#[cfg(any(feature = "fft", feature = "collective", feature = "nvrtc"))]
mod packed;
#[cfg(feature = "blas")]
mod vector;

#[cfg(feature = "blas")]
pub(crate) use matrices::{Matrices, repeats, sizes};
#[cfg(any(feature = "fft", feature = "collective", feature = "nvrtc"))]
pub(crate) use packed::check_packed;
#[cfg(feature = "blas")]
pub(crate) use vector::Vector;
