//! A task in flight on a GPU, before its type is erased.

use crate::core::dispatch::TaskHold;
use crate::core::sync::Arc;
use crate::engines::cuda::CudaTask;
use crate::engines::op::{HostOf, Op};

/// As [`TaskHold`], for a task in flight on a GPU, before its type is erased. The slot's ring holds a share only if the device
/// needs the whole of it.
pub(super) enum Enqueued<O: Op> {
    Sole(Box<CudaTask<O>>),
    Shared(Arc<CudaTask<O>>),
}

impl<O: Op> Enqueued<O> {
    pub(super) fn task(&self) -> &CudaTask<O> {
        match self {
            Enqueued::Sole(task) => task,
            Enqueued::Shared(task) => task,
        }
    }

    pub(super) fn hold(self) -> TaskHold<HostOf<O>> {
        match self {
            Enqueued::Sole(task) => TaskHold::Sole(task),
            Enqueued::Shared(task) => TaskHold::Shared(task),
        }
    }
}
