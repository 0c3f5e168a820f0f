//! How a pending holds its task.

use super::Task;
#[cfg(feature = "cuda")]
use crate::core::op::{HostOf, Op};
use crate::core::sync::Arc;
#[cfg(feature = "cuda")]
use crate::engines::cuda::CudaTask;
use std::ops::Deref;

/// A task, as its pending holds it. On a GPU most tasks belong to their pending alone: then two locked instructions, for
/// the counts of an [`Arc`], are saved on every dispatch.
pub(crate) enum TaskHold<H> {
    /// Nothing else holds it.
    Sole(Box<dyn Task<H>>),
    /// An engine may hold it as well.
    Shared(Arc<dyn Task<H>>),
}

impl<H> TaskHold<H> {
    /// As a task that can be held several times.
    pub(crate) fn into_shared(self) -> Arc<dyn Task<H>> {
        match self {
            TaskHold::Sole(task) => Arc::from(task),
            TaskHold::Shared(task) => task,
        }
    }
}

impl<H> Deref for TaskHold<H> {
    type Target = dyn Task<H>;
    fn deref(&self) -> &Self::Target {
        match self {
            TaskHold::Sole(task) => &**task,
            TaskHold::Shared(task) => &**task,
        }
    }
}

/// The same for a task in flight on a GPU, before its type is erased. The slot's ring holds a share only if the device
/// needs the whole of it.
#[cfg(feature = "cuda")]
pub(crate) enum Enqueued<O: Op> {
    Sole(Box<CudaTask<O>>),
    Shared(Arc<CudaTask<O>>),
}

#[cfg(feature = "cuda")]
impl<O: Op> Enqueued<O> {
    pub(crate) fn task(&self) -> &CudaTask<O> {
        match self {
            Enqueued::Sole(task) => task,
            Enqueued::Shared(task) => task,
        }
    }

    pub(crate) fn hold(self) -> TaskHold<HostOf<O>> {
        match self {
            Enqueued::Sole(task) => TaskHold::Sole(task),
            Enqueued::Shared(task) => TaskHold::Shared(task),
        }
    }
}
