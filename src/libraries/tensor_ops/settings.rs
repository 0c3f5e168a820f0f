//! By which ways a device contracts.

use crate::core::element::DType;
use crate::libraries::blas::Math;
use serde::{Deserialize, Serialize};

/// What computes the products of a [contraction](crate::tensor_ops).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Backend {
    /// Products of matrices; where they would need copies, cuTENSOR if the device's machine has it.
    #[default]
    Auto,
    /// Products of matrices by [`Blas`](crate::Blas), with copies where they are needed.
    Products,
    /// cuTENSOR for every product that it takes, on a GPU.
    CuTensor,
    /// One pass over all products of elements, without copies: the bits are the same on all devices.
    OnePass,
}

/// How a front computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Settings {
    pub(super) backend: Backend,
    pub(super) math: Math,
}

/// Where cuTENSOR is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CuTensor {
    Never,
    ToSpareCopies,
    Always,
}

/// What a plan may be made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ways {
    pub(super) dtype: DType,
    pub(super) math: Math,
    /// Whether there are products of matrices.
    pub(super) gemm: bool,
    pub(super) cutensor: CuTensor,
}
