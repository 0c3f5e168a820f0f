//! A dispatch that is enqueued after its submission.
//!
//! ```text
//!   submit: look at all operands ─> publish on all ─> register with what is coming ─> drop the guard ──0──> ready
//!   helper: ready ─> lease (or park) ─> enqueue ─> bind ─> those that follow count down
//! ```
//!
//! 1. **Look at everything, then publish everything**: an op depends only on what was published before its own
//!    publication. So no cycle can form, not even with aliases.
//! 2. After the publication nothing is rejected: every failure is reported by the completion and the pending.
//! 3. The count of dependencies begins at 1, the guard. Each completion that is still coming and each plan that is
//!    being built adds 1. The thread that removes the last one queues the work on a helper. If that is the submitting
//!    thread, and the op only enqueues (`OpKind::Enqueue`), the thread enqueues it itself.
//! 4. Whether something upstream failed is checked when the work runs, along data edges only. Whether the device is
//!    dead is checked after the lease was taken.
//! 5. The dispatch is bound once, outside any lease and lock, when its event is recorded. If nothing was enqueued, it
//!    is bound to the ends of all that it was to follow.
//! 6. What its phases use (op, addresses, plans, memory) is held by the task until it is enqueued, and then by the
//!    ring.

use super::Core;
use super::late::Late;
use super::late_frame::{Edges, Frame, Work};
use super::plans::{Cell, Need};
use super::submit::Around;
use crate::core::buffer::{InitState, View};
use crate::core::dispatch::Gate;
use crate::core::error::{Error, Result};
use crate::core::op::OpKind;
use crate::core::order::{Completion, Follower, Runnable};
use crate::core::sync::{Arc, Ordering};
use crate::engines::dispatch::Submission;
use smallvec::SmallVec;

impl Core {
    /// Publishes a dispatch that is enqueued later, by a helper.
    pub(super) fn submit_late(self: &Arc<Self>, s: &mut Submission<'_, '_>, needs: SmallVec<[Need; 1]>) -> Result<()> {
        let around = Around::of(s);
        let late = Late::new();
        // Make the task first: after the publication nothing may fail.
        let frame = Frame::new(self, s, late.clone());
        let number = frame.number;
        let task = s.call.become_late(frame).inspect_err(|_| self.late.leave(number))?;
        let edges = {
            let _gate = Gate::enter(around.views, around.read_count, s.is_gated());
            let edges = look(around);
            publish(around, &edges, &late);
            edges
        };
        let job: Arc<dyn Runnable> = task.clone();
        follow(&job, &edges);
        let plans: SmallVec<[Cell; 1]> = needs.iter().map(|_| Cell::default()).collect();
        self.find_plans(s.epoch, needs, &job, &plans);
        task.frame().give(Work { relay: s.relay.take(), edges, plans, operands: s.operand_count });
        // Drop the guard.
        if job.core().dep_done() {
            if s.facts.kind == OpKind::Enqueue { job.run() } else { self.helpers.push(job) }
        }
        Ok(())
    }
}

impl Around<'_, '_> {
    /// Whether all that it must follow is enqueued.
    ///
    /// # Errors
    /// Earlier work that writes data it needs has failed, or one of the devices is gone.
    pub(super) fn is_bound(self) -> Result<bool> {
        self.views.iter().try_for_each(|view| view.region.epoch.go_on())?;
        let edges = look(self);
        if let Some((failed, _)) = edges.iter().find(|(edge, data)| *data && edge.has_failed_late()) {
            return Err(Error::upstream("", failed.late_error()));
        }
        Ok(!edges.iter().any(|(edge, _)| edge.is_coming()))
    }
}

/// Collects all that this work must follow.
fn look(s: Around<'_, '_>) -> Edges {
    let mut edges = Edges::new();
    for (i, view) in s.views.iter().enumerate() {
        if i < s.read_count {
            let track = view.region.history.lock();
            edges.extend(track.writers.iter().filter(|end| !end.is_spent()).map(|end| (end.clone(), true)));
        } else {
            let data = view.needs_contents();
            let track = view.region.history.lock();
            edges.extend(track.writers.iter().filter(|end| !end.is_spent()).map(|end| (end.clone(), data)));
            // Also readers that failed, although they have completed: a reader that is not listed here stays in the
            // history beside this work, and counts as a writer there.
            edges.extend(track.readers.iter().filter(|end| !end.is_spent()).map(|end| (end.clone(), false)));
        }
    }
    edges
}

/// Records in the buffers where this work ends, and the new state of their contents.
fn publish(s: Around<'_, '_>, edges: &Edges, late: &Arc<Late>) {
    let end = Completion::Late(late.clone());
    let covers = |edge: &Completion, earlier: &Completion| match (edge, earlier) {
        (Completion::Late(edge), Completion::Late(earlier)) => Arc::ptr_eq(edge, earlier),
        (Completion::Cuda(edge), Completion::Cuda(earlier)) => edge.same_slot(earlier) && edge.ticket >= earlier.ticket,
        _ => false,
    };
    // Work that was published between `look` and this, by an alias, stays in the history beside this work.
    let is_followed = |earlier: &Completion| earlier.is_spent() || edges.iter().any(|(edge, _)| covers(edge, earlier));
    for (i, view) in s.views.iter().enumerate() {
        if i < s.read_count {
            view.region.history.lock().publish_read(&end);
            continue;
        }
        let mut track = view.region.history.lock();
        view.region.writers_done.store(false, Ordering::Release);
        if view.is_part() {
            track.publish_part(&end)
        } else {
            track.publish_write_beside(&end, is_followed)
        }
        drop(track);
        if !s.preserves_on_failure {
            written_late(view);
        }
    }
}

/// Sets the state of the region's contents after a submitted write.
fn written_late(view: &View<'_>) {
    view.written_in_part();
    if view.whole && view.undefined {
        view.region.init.set(InitState::Uninit);
    } else if view.whole || view.region.init.get() == InitState::Valid {
        view.region.init.set(InitState::Late);
    }
}

/// Adds a dependency to `job` for each completion that is still coming, and subscribes `job` to it.
fn follow(job: &Arc<dyn Runnable>, edges: &Edges) {
    for (edge, data) in edges {
        let Completion::Late(dep) = edge else { continue };
        job.core().add_dep();
        if !dep.core().subscribe(Follower::Node { node: job.clone(), data: *data }) {
            if *data && dep.has_failed() {
                job.core().taint(dep.error());
            }
            job.core().dep_done(); // not the last one: the guard still counts
        }
    }
}
