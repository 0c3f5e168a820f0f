//! What the layouts of tensors mean to a library of BLAS's family: vectors with an increment, matrices with a leading
//! dimension, batches at even distances. The one place that reads strides so.
//!
//! A front splits each tensor into a part of a buffer and a layout ([`TensorRef::operand`](crate::TensorRef)), asks here
//! what the layout is, and calls one function that is not generic over its operands. No call of a front copies, but for the
//! solver's: what a routine cannot read is refused with an error that names [`Device::contiguous`](crate::Device::contiguous).

mod matrices;
mod vector;

pub(crate) use matrices::{Matrices, sizes, spread};
pub(crate) use vector::Vector;
