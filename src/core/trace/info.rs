//! What a trace hook receives about an operation.

use crate::core::element::DType;
use crate::core::sync::{AtomicU64, Ordering};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// One operation, as trace hooks receive it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct OpInfo {
    /// The number of the dispatch among all traced dispatches of the process, from 1. It is the same in all hooks of
    /// one dispatch.
    pub number: u64,
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
    /// The least number of bytes that must be moved.
    pub bytes: u64,
    /// When the device executed it. Set in [`after_complete`](crate::trace::Trace::after_complete), if a trace [asks for
    /// it](crate::trace::Trace::wants_device_times).
    pub ran: Option<DeviceTime>,
}

/// A new buffer, as trace hooks receive it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AllocationInfo {
    /// Its size in bytes.
    pub bytes: u64,
    /// The label given by [`Device::labelled`](crate::Device::labelled).
    pub label: Option<&'static str>,
}

/// When a device executed an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceTime {
    /// The time from submission, when `latency` begins, to the start of the work on the device. `None`: not known, for
    /// example for a worker.
    pub began: Option<Duration>,
    /// How long the work took on the device.
    pub took: Duration,
}

impl DeviceTime {
    pub(crate) fn new(began: Option<Duration>, took: Duration) -> Self {
        DeviceTime { began, took }
    }
}

/// A new number for a dispatch.
pub(crate) fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// An op in flight, as seen by code that is compiled once for all ops.
pub(crate) trait OpMetadata {
    /// The names of the op and of its library, for errors.
    fn names(&self) -> (&'static str, &'static str);
    /// For traces. Calls the op, which is the user's code and may panic.
    fn info(&self) -> OpInfo;
}

impl dyn OpMetadata + '_ {
    /// As [`info`](OpMetadata::info). A panic of the op must not escape here, because waiters are about to be woken:
    /// then only the names are given.
    pub(crate) fn info_at_end(&self) -> OpInfo {
        catch_unwind(AssertUnwindSafe(|| self.info())).unwrap_or_else(|_| {
            let (op, library) = self.names();
            let (kernel, stream, label) = (None, None, None);
            OpInfo {
                number: 0,
                op,
                library,
                kernel,
                reads: &[],
                writes: &[],
                stream,
                label,
                flops: 0,
                bytes: 0,
                ran: None,
            }
        })
    }
}

impl OpInfo {
    pub(crate) fn numbered(self, number: u64) -> Self {
        OpInfo { number, ..self }
    }
}
