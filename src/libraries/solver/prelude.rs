//! The imports that the file of a routine needs.

#[cfg(feature = "host")]
pub(super) use super::batch;
pub(super) use super::matrix::{Matrix, check_len};
#[cfg(feature = "cuda")]
pub(super) use super::native::{At, Copy, Group};
#[cfg(feature = "cuda")]
pub(super) use super::routine::Call;
pub(super) use super::routine::{Routine, cost};
#[cfg(feature = "host")]
pub(super) use super::verdict::first;
pub(super) use super::verdict::{First, Meaning};
pub(super) use super::{Solver, SolverElement};
#[cfg(feature = "cuda")]
pub(super) use crate::Enqueue;
pub(super) use crate::op::{Bufs, Cost, OperandNames, Output, Spans};
pub(super) use crate::{DeviceBuffer, Diag, Error, In, Readable, Result, Submitted, Transpose, Uplo};
pub(super) use std::marker::PhantomData;
