//! What a trace is told of an operation.

use crate::DType;
use crate::op::{Cost, Op};

/// One operation, as traces see it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct OpInfo {
    /// Its name: `gemm`.
    pub op: &'static str,
    /// Its library: `blas`.
    pub library: &'static str,
    /// The kernel that a launch starts.
    pub kernel: Option<&'static str>,
    /// Element types of what it reads.
    pub reads: &'static [DType],
    /// Element types of what it writes.
    pub writes: &'static [DType],
    /// The stream slot it went to; `None` on the host engine and before one was chosen.
    pub stream: Option<usize>,
    /// The label given by [`Device::labelled`](crate::Device::labelled).
    pub label: Option<&'static str>,
    /// Arithmetic operations.
    pub flops: u64,
    /// Bytes that must move at least.
    pub bytes: u64,
}

impl OpInfo {
    pub(crate) fn of<O: Op>(op: &O, label: Option<&'static str>, stream: Option<usize>) -> Self {
        let (Cost { flops, bytes }, (reads, writes)) = (op.cost(), op.dtypes());
        OpInfo {
            op: O::NAME,
            library: O::LIBRARY,
            kernel: op.subject().copied(),
            reads,
            writes,
            stream,
            label,
            flops,
            bytes,
        }
    }
}
