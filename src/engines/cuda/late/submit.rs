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
//! 7. A dispatch over several devices is late as a whole: it is one job, with an end and a share on each device, and all
//!    of its ends are bound with one outcome.
//!
//! `core/order/late.rs` is its end, `job.rs` its enqueue; the task is in `wait/task.rs`.

use crate::core::buffer::{InitState, View};
use crate::core::dispatch::Options;
use crate::core::dispatch::{Gate, Ongoing};
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::op::{Made, OpKind};
use crate::core::order::late::Ends;
use crate::core::order::{Completion, Follower, Late, Mark, Runnable, Settle};
use crate::core::sync::{Arc, AtomicBool, Mutex, Ordering};
use crate::engines::cuda::Core;
use crate::engines::cuda::code::{Cell, Need};
use crate::engines::cuda::dispatch::DeviceOperands;
use crate::engines::cuda::streams::SlotMark;
use crate::engines::cuda::streams::{Choice, Place};
use crate::engines::dispatch::{Call, Submission};
use crate::engines::op::Facts;
use crate::engines::worker::shared::Relay;
use smallvec::SmallVec;
use std::sync::OnceLock;

/// What a late dispatch follows on one device. The flag of an edge is true if the dispatch needs the data that the
/// earlier work writes.
pub(crate) type Edges = SmallVec<[(Completion, bool); 6]>;

/// A late dispatch without its types, before and after it is enqueued.
pub(crate) trait LateJob: Runnable {
    fn frame(&self) -> &Frame;
    /// Its task, once it is enqueued. Set before the dispatch is bound.
    fn enqueued(&self) -> Option<&dyn Ongoing>;
    /// Enqueues it: passes its op and operands to `how`, once, and on success keeps the task that they became. A panic
    /// becomes an error.
    fn enqueue(&self, how: &mut dyn FnMut(&mut Call<'_>) -> Result<()>) -> Result<()>;
}

/// The part of a late dispatch that does not depend on the type of its op.
pub(crate) struct Frame {
    pub(crate) lead: Share,
    /// The shares of the other devices, for a dispatch over several.
    pub(crate) others: Vec<Share>,
    pub(crate) facts: &'static Facts,
    /// Its number in traces.
    pub(crate) traced: u64,
    pub(crate) options: Options,
    /// The CUDA half runs, or has run.
    pub(crate) begun: AtomicBool,
    /// Why it failed. Set before the dispatch is bound.
    pub(crate) error: OnceLock<Error>,
    /// If it failed after something was enqueued: where that ends.
    pub(crate) touched: OnceLock<Ends<SlotMark>>,
    /// What the enqueue needs. Taken by the thread that enqueues it.
    pub(crate) work: Mutex<Option<Work>>,
    /// The buffers that its phases made. (They are not kept in the ring, which must hold no `Epoch`.)
    pub(crate) made: Mutex<Made>,
}

/// The part of a late dispatch that belongs to one of its devices.
pub(crate) struct Share {
    pub(crate) core: Arc<Core>,
    pub(crate) epoch: Arc<Epoch>,
    /// Its end in the buffers of this device.
    late: Arc<Late>,
    /// Its number in `Core::late`, which counts the late dispatches.
    number: u64,
    /// Which stream of its own it uses, if it has one: see [`Options::seat`].
    pub(crate) seat: Option<u8>,
}

/// What the enqueue needs, and consumes.
pub(crate) struct Work {
    pub(crate) relay: Option<Relay>,
    /// For each device, the lead first.
    pub(crate) edges: SmallVec<[Edges; 1]>,
    pub(crate) plans: SmallVec<[Cell; 1]>,
    /// The number of operands.
    pub(crate) operands: usize,
}

impl Share {
    fn new(place: &Place<'_, '_>) -> Self {
        let (core, epoch) = (place.core.clone(), place.operands.epoch.clone());
        let seat = if let Choice::Seat(seat) = place.slot { Some(seat) } else { None };
        Share { late: Arc::new(Late::new()), number: core.late.enter(), core, epoch, seat }
    }

    pub(crate) fn late(&self) -> &Arc<Late> {
        &self.late
    }

    /// Binds its end: to `end`, or if nothing was enqueued to the ends of what it was to follow.
    pub(crate) fn bind(&self, end: Option<&SlotMark>, edges: &Edges, outcome: Result<()>) {
        let mut ends: Ends<Mark> = end.map(SlotMark::published).into_iter().collect();
        if end.is_none() {
            let marks = edges.iter().flat_map(|(edge, _)| edge.marks()).filter(|mark| !mark.is_past());
            for mark in marks {
                // One for each slot, the latest: each failed dispatch of a chain would double them otherwise.
                if !ends.iter_mut().any(|end| end.renew(mark)) {
                    ends.push(mark.clone());
                }
            }
        }
        self.late.bind(ends, outcome);
        self.leave();
        self.core.nudge(); // a sweep must see its completion even if no thread waits for it
    }

    fn leave(&self) {
        self.core.late.leave(self.number);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if !self.late.is_bound() {
            self.leave(); // it was never submitted
        }
    }
}

impl Frame {
    pub(crate) fn new(s: &Submission<'_, '_, '_>, lead: Share, others: Vec<Share>) -> Self {
        Frame {
            lead,
            others,
            facts: s.facts,
            traced: s.number,
            options: *s.options,
            begun: AtomicBool::new(false),
            error: OnceLock::new(),
            touched: OnceLock::new(),
            work: Mutex::new(None),
            made: Mutex::default(),
        }
    }

    /// Its place in the order of late dispatches.
    pub(crate) fn number(&self) -> u64 {
        self.lead.number
    }

    pub(crate) fn epoch(&self) -> &Arc<Epoch> {
        &self.lead.epoch
    }

    /// The shares of its devices, the lead first.
    pub(crate) fn shares(&self) -> impl Iterator<Item = &Share> {
        std::iter::once(&self.lead).chain(&self.others)
    }

    /// Sets what the enqueue needs. Call before the guard (the first dependency) is dropped.
    pub(crate) fn give(&self, work: Work) {
        *self.work.lock() = Some(work);
    }

    pub(crate) fn take_made(&self, made: &mut Made) {
        *made = std::mem::take(&mut *self.made.lock());
    }

    pub(crate) fn settled(&self) -> &Settle {
        self.lead.late.core()
    }
}

/// Publishes a dispatch that is enqueued later, by a helper.
pub(crate) fn submit_late(core: &Arc<Core>, s: &mut Submission<'_, '_, '_>, needs: SmallVec<[Need; 1]>) -> Result<()> {
    let place = Place::new(core, DeviceOperands::from_submission(s), Choice::Any);
    submit_late_on(s, (&place, &[]), needs)
}

/// Publishes a dispatch on all of its devices, and has it enqueued later. The plans are those of the first.
pub(crate) fn submit_late_on(
    s: &mut Submission<'_, '_, '_>,
    (lead, others): (&Place<'_, '_>, &[Place<'_, '_>]),
    needs: SmallVec<[Need; 1]>,
) -> Result<()> {
    // Make the task first: after the publication nothing may fail.
    let frame = Frame::new(s, Share::new(lead), others.iter().map(Share::new).collect());
    let task = s.call.become_late(frame)?;
    let edges = {
        let _gate = Gate::enter(s.views, s.read_count, s.is_gated());
        let places = || std::iter::once(lead).chain(others);
        let edges: SmallVec<[Edges; 1]> = places().map(|place| look(place.operands)).collect();
        for ((place, edges), share) in places().zip(&edges).zip(task.frame().shares()) {
            publish(place.operands, edges, share.late());
        }
        edges
    };
    let job: Arc<dyn Runnable> = task.clone();
    edges.iter().for_each(|edges| follow(&job, edges));
    let plans: SmallVec<[Cell; 1]> = needs.iter().map(|_| Cell::default()).collect();
    lead.core.find_plans(s.epoch, needs, &job, &plans);
    task.frame().give(Work { relay: s.relay.take(), edges, plans, operands: s.operand_count });
    // Drop the guard.
    if job.core().dep_done() {
        if s.facts.kind == OpKind::Enqueue { job.run() } else { lead.core.late.helpers().push(job) }
    }
    Ok(())
}

/// Collects all that this work must follow.
fn look(s: DeviceOperands<'_, '_>) -> Edges {
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
fn publish(s: DeviceOperands<'_, '_>, edges: &Edges, late: &Arc<Late>) {
    let end = Completion::Late(late.clone());
    let covers = |edge: &Completion, earlier: &Completion| match (edge, earlier) {
        (Completion::Late(edge), Completion::Late(earlier)) => Arc::ptr_eq(edge, earlier),
        (Completion::Cuda(edge), Completion::Cuda(earlier)) => {
            edge.same_stream(earlier) && edge.ticket >= earlier.ticket
        }
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
