//! Work that is enqueued after its submission: because its calls block, because it needs a plan that is still being built, or
//! because it follows other such work. Its end in the buffers is in `core/order/late.rs`.
//!
//! `submit.rs`: its submission; `job.rs`: its enqueue; `helpers.rs`: the threads that do it, and build plans.

mod helpers;
mod job;
mod submit;

pub(crate) use helpers::Helpers;
pub(crate) use job::{carried, dep_done, run};
pub(crate) use submit::{Frame, LateJob, submit_late, submit_late_on};

use crate::core::order::flow::{Flow, Mark as LateMark};
use crate::core::sync::Arc;

/// The late dispatches of one epoch.
pub(crate) struct LateWork {
    /// Those that were submitted but are not enqueued yet.
    flow: Arc<Flow>,
    helpers: Arc<Helpers>,
}

impl LateWork {
    pub(crate) fn new(helpers: Arc<Helpers>) -> Self {
        LateWork { flow: Arc::new(Flow::new()), helpers }
    }

    /// Counts one. Returns its number.
    fn enter(&self) -> u64 {
        self.flow.enter()
    }

    /// It is enqueued, or has failed.
    fn leave(&self, number: u64) {
        self.flow.leave(number);
    }

    pub(crate) fn in_flight(&self) -> u64 {
        self.flow.in_flight()
    }

    /// All that were submitted by now.
    pub(crate) fn mark(&self) -> LateMark {
        LateMark::new(&self.flow)
    }

    pub(crate) fn helpers(&self) -> &Arc<Helpers> {
        &self.helpers
    }
}
