//! What the file of a routine needs.

#[cfg(feature = "host")]
pub(super) use super::element::HostVector;
pub(super) use super::matrix::{check_matrix, check_size, fills};
pub(super) use super::numbers::{Numbers, factors};
#[cfg(feature = "cuda")]
pub(super) use super::routine::Queue;
pub(super) use super::routine::Routine;
#[cfg(feature = "cuda")]
pub(super) use super::scalar::Scalar;
pub(super) use super::scalar::check_scalar;
#[cfg(feature = "host")]
pub(super) use super::scalar::value;
pub(super) use super::vector::Strided;
pub(super) use super::{
    Blas, BlasElement, ComplexElement, Diag, Gemm, GemmElement, MixedElement, RealElement, Side, Transpose, Uplo,
    VectorElement,
};
pub(super) use crate::core::buffer::{DeviceBuffer, In, List};
pub(super) use crate::core::dispatch::PendingDispatch;
pub(super) use crate::core::error::{Error, Result};
pub(super) use crate::core::op::{Cost, OperandNames, Spans};
pub(super) use crate::device::dispatch::Submitted;
pub(super) use crate::device::tensor::{Layout, Part, ReadableTensor, Tensor, TensorRef, WritableTensor};
#[cfg(feature = "cuda")]
pub(super) use crate::libraries::blas::native::PointerMode;
pub(super) use crate::libraries::flags::Order;
pub(super) use crate::libraries::operands::{self, Matrices, repeats};
#[cfg(feature = "host")]
pub(super) use crate::numerics;
pub(super) use std::marker::PhantomData;
