//! How a pending holds its task.

use super::Ongoing;
use crate::core::sync::Arc;
use std::ops::Deref;

/// A task, as its pending holds it. On a GPU most tasks belong to their pending alone: then two locked instructions, for
/// the counts of an [`Arc`], are saved on every dispatch.
pub(crate) enum TaskHold {
    /// Nothing else holds it.
    Sole(Box<dyn Ongoing>),
    /// An engine may hold it as well.
    Shared(Arc<dyn Ongoing>),
}

impl TaskHold {
    /// As a task that can be held several times.
    #[cfg(target_os = "linux")]
    pub(crate) fn into_shared(self) -> Arc<dyn Ongoing> {
        match self {
            TaskHold::Sole(task) => Arc::from(task),
            TaskHold::Shared(task) => task,
        }
    }
}

impl Deref for TaskHold {
    type Target = dyn Ongoing;
    #[inline]
    fn deref(&self) -> &Self::Target {
        match self {
            TaskHold::Sole(task) => &**task,
            TaskHold::Shared(task) => &**task,
        }
    }
}
