//! What a trace is told of an operation.

use crate::DType;
use crate::op::{Cost, Op, cost_of};
use std::panic::{AssertUnwindSafe, catch_unwind};

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

/// An op in flight, to code that is compiled once for all ops.
pub(crate) trait Told {
    /// Of the op and its library, for errors.
    fn names(&self) -> (&'static str, &'static str);
    /// For traces. Asks the op, which is the user's code and may panic.
    fn info(&self) -> OpInfo;
}

impl dyn Told + '_ {
    /// As [`info`](Told::info). An op that panics now, where somebody is about to be woken, is told by its names alone.
    pub(crate) fn info_at_end(&self) -> OpInfo {
        catch_unwind(AssertUnwindSafe(|| self.info())).unwrap_or_else(|_| {
            let (op, library) = self.names();
            OpInfo { op, library, kernel: None, reads: &[], writes: &[], stream: None, label: None, flops: 0, bytes: 0 }
        })
    }
}

impl OpInfo {
    pub(crate) fn of<O: Op>(op: &O, label: Option<&'static str>, stream: Option<usize>) -> Self {
        let (Cost { flops, bytes }, (reads, writes)) = (cost_of(op), op.dtypes());
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
