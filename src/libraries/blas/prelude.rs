//! What the file of a routine needs.

#[cfg(feature = "host")]
pub(super) use super::element::HostVector;
pub(super) use super::matrix::{check_matrix, check_order, check_size, fills};
pub(super) use super::numbers::Numbers;
#[cfg(feature = "cuda")]
pub(super) use super::routine::Queue;
pub(super) use super::routine::Routine;
#[cfg(feature = "cuda")]
pub(super) use super::scalar::Scalar;
#[cfg(feature = "host")]
pub(super) use super::scalar::value;
pub(super) use super::scalar::{check_scalar, scalars};
pub(super) use super::setters::{row_major, setters};
pub(super) use super::vector::{ReadableVector, Strided, Vector, VectorMut, WritableVector};
pub(super) use super::{
    Blas, BlasElement, ComplexElement, Diag, Gemm, GemmElement, MixedElement, RealElement, Scaled, Side, Transpose,
    Uplo, VectorElement,
};
pub(super) use crate::core::buffer::{DeviceBuffer, In, List, Readable};
pub(super) use crate::core::dispatch::PendingDispatch;
pub(super) use crate::core::error::{Error, Result};
pub(super) use crate::core::op::{Cost, OperandNames, Spans};
pub(super) use crate::device::dispatch::Submitted;
pub(super) use crate::device::tensor::{ReadableTensor, Tensor, TensorRef, WritableTensor};
#[cfg(feature = "cuda")]
pub(super) use crate::libraries::blas::native::PointerMode;
#[cfg(feature = "host")]
pub(super) use crate::numerics;
pub(super) use std::marker::PhantomData;
