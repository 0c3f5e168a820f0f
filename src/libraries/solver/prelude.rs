//! The imports that the file of a routine needs.

#[cfg(feature = "host")]
pub(super) use super::batch;
pub(super) use super::given::{Given, GivenTensor, elements_of, head, matrices_of};
#[cfg(feature = "host")]
pub(super) use super::host::{Memory, Operands, Systems, small, small_eigh, small_svd, systems};
pub(super) use super::matrix::{Matrix, check_len};
#[cfg(feature = "cuda")]
pub(super) use super::native::{At, Copy, Group, small_lu};
#[cfg(feature = "cuda")]
pub(super) use super::routine::Call;
pub(super) use super::routine::{Routine, cost};
pub(super) use super::small::systems::{Row, System};
pub(super) use super::small::{Job, Task, fits, fits_qr};
#[cfg(feature = "host")]
pub(super) use super::verdict::first;
pub(super) use super::verdict::{First, Meaning};
pub(super) use super::{Solver, SolverElement};

pub(super) use crate::core::error::{Error, Result};
pub(super) use crate::core::op::{Bufs, Cost, OperandNames, Output, Spans};
pub(super) use crate::device::dispatch::Submitted;
pub(super) use crate::device::tensor::{Strided, Tensor};
#[cfg(feature = "cuda")]
pub(super) use crate::engines::cuda_enqueue::Enqueue;
pub(super) use crate::libraries::flags::{Diag, Transpose, Uplo};
pub(super) use std::marker::PhantomData;
