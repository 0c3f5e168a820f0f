//! How a pending holds its task.

use super::Task;
use crate::core::sync::Arc;
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
