//! What the file of a routine needs.

#[cfg(feature = "host")]
pub(super) use super::element::HostVector;
pub(super) use super::matrix::{check_matrix, check_order, check_size, fills};
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
#[cfg(feature = "cuda")]
pub(super) use crate::blas::native::PointerMode;
#[cfg(feature = "host")]
pub(super) use crate::numerics;
pub(super) use crate::op::{Cost, OperandNames, Spans};
pub(super) use crate::{DeviceBuffer, Error, In, List, PendingDispatch, Readable, Result, Submitted};
pub(super) use std::marker::PhantomData;
