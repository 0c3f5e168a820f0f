//! The engine of one epoch of an isolated device.

use super::flights::Flight;
use super::link::Link;
use super::standby::Standby;
use super::untyped_dispatch::UntypedDispatch;
use crate::core::arena::Block;
use crate::core::buffer::{Allocation, Home, RemoteMemory, Shape, View, shift};
use crate::core::device_info::{DeviceInfo, PoolInfo};
use crate::core::dispatch::{Backoff, Gate, Wait};
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::op::{OpKind, Outgoing, guarded};
use crate::core::order::LaneOrder;
use crate::core::order::{AccessHistory, Completion};
use crate::core::sync::{Arc, AtomicU32, AtomicU64, Mutex, Ordering};
use crate::core::trace::{Event, OpInfo, Stats};
use crate::engines::dispatch::Submission;
use crate::engines::op::OpCode;
use crate::engines::worker::shared::Follows;
use crate::engines::worker::shared::order;
use crate::engines::worker::shared::reply;
use crate::engines::worker::shared::{Alloc, InjectedFault, Place, Run};
use crate::engines::worker::shared::{DONE, LOST, SPILLED};
use smallvec::SmallVec;
use std::sync::{OnceLock, Weak};

/// A worker, as its client sees it.
pub(crate) struct WorkerEngine {
    pub(crate) link: Arc<Link>,
    /// How operations are named in orders to it.
    pub(super) code: OpCode,
    pub(super) info: DeviceInfo,
    pub(super) inline: bool,
    pub(super) standby: Option<Arc<Standby>>,
    #[cfg(feature = "cuda")]
    pub(super) nvml_keep_alive: Option<Arc<super::nvml_keep_alive::NvmlKeepAlive>>,
    #[cfg(feature = "host")]
    pub(crate) plan: Option<crate::engines::host::FaultPlan>,
}

/// Where what the order `sent` made is freed.
pub(super) fn home_of(link: &Arc<Link>, sent: &LaneOrder) -> Home {
    let owner: Weak<Link> = Arc::downgrade(link);
    Home::Remote { owner, lane: sent.progress.lane }
}

impl RemoteMemory for Link {
    fn free(&self, lane: usize, id: u64) {
        Link::free(self, lane, id);
    }
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Link(process {})", self.pid)
    }
}

impl WorkerEngine {
    /// The worker's device runs each operation on the thread that submits it, and submitting waits for it.
    pub(crate) fn is_inline(&self) -> bool {
        self.inline
    }

    /// The worker has not ended.
    pub(super) fn is_there(&self) -> bool {
        !self.link.ending.has_come()
    }

    /// The worker runs this same executable, so an offset into it means the same there.
    pub(crate) fn is_same_program(&self) -> bool {
        self.code == OpCode::Offset
    }

    /// How operations are named in orders to the worker.
    pub(crate) fn code(&self) -> OpCode {
        self.code
    }

    pub(crate) fn is_gpu(&self) -> bool {
        self.info.kind == crate::core::device_info::DeviceKind::Cuda
    }

    pub(crate) fn pid(&self) -> u32 {
        self.link.pid
    }

    pub(crate) fn installed(&self, epoch: &Arc<Epoch>) {
        self.link.ending.bind(epoch);
    }

    /// Dispatches that the worker has not finished.
    pub(crate) fn unfinished(&self) -> u64 {
        self.link.unfinished()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.link.is_idle()
    }

    pub(crate) fn in_flight(&self) -> u64 {
        self.link.in_flight()
    }

    /// Settles completed dispatches, if this is not called from within the user's code: see `Reaper::glance`.
    pub(crate) fn look(&self) {
        self.link.glance();
    }

    /// Settles completed dispatches, for a caller that waits for them.
    pub(crate) fn settle(&self) {
        self.link.reap();
    }

    pub(crate) fn fill(&self, stats: &mut Stats) {
        stats.standby = self.standby.as_ref().and_then(|standby| standby.pid());
        stats.standby_failed = self.standby.as_ref().and_then(|standby| standby.failed());
        #[cfg(feature = "cuda")]
        {
            stats.bulk_staged = self.link.is_staged();
            stats.driver_held = self.nvml_keep_alive.as_ref().is_some_and(|held| held.is_held());
        }
        stats.slots = self.info.processors as usize;
        self.link.read_stats(stats);
        stats.slots_busy = usize::try_from(self.link.unsettled()).unwrap_or(usize::MAX).min(stats.slots);
    }

    /// The device is no longer used: closes the standby, and ends the worker once nothing is in flight.
    pub(crate) fn close(&self) {
        if crate::core::process::fork_generation() == self.link.fork_generation
            && let Some(standby) = &self.standby
        {
            standby.close();
        }
        self.leave();
    }

    /// The generation is over: ends the worker, even if it hangs. Does not wait; the monitor ends it.
    pub(crate) fn retire(&self) {
        self.link.doomed.store(true, Ordering::Release);
        self.leave();
    }

    /// Ends the worker once nothing is in flight.
    fn leave(&self) {
        // A forked child inherits the descriptors, but the worker is its parent's.
        if crate::core::process::fork_generation() == self.link.fork_generation {
            self.link.closing.store(true, Ordering::Release);
            self.link.bell.ring();
        }
    }

    /// Memory in the worker, returned at once, and a history that makes its users follow the order that makes it.
    pub(crate) fn allocate(
        &self,
        epoch: &Arc<Epoch>,
        wanted: [usize; 3],
        growing: bool,
        label: Option<&'static str>,
    ) -> Result<(Allocation, AccessHistory)> {
        let [bytes, len, lead] = wanted;
        let charged = if growing { 0 } else { bytes as u64 };
        epoch.meter.take(charged)?;
        let id = next_address(bytes).inspect_err(|_| epoch.meter.give(charged))?;
        let size = bytes.checked_div(len).unwrap_or(1);
        let (name, freeing) = (label.map(Into::into), self.link.freeing());
        let reserve = growing.then_some(bytes as u64);
        let order = Alloc { id, len: len as u64, size: size as u32, lead: lead as u32, reserve, label: name, freeing };
        let sent = postcard::to_stdvec(&order)
            .map_err(crate::core::op::garbled)
            .and_then(|body| self.link.tell(epoch, order::ALLOC, &body));
        let sent = match sent {
            Ok(sent) => sent,
            Err(error) => {
                epoch.meter.give(charged);
                return Err(error);
            }
        };
        let home = home_of(&self.link, &sent);
        let mut track = AccessHistory::default();
        track.publish_write(&Completion::Order(sent));
        shift::count(shift::At::Worker, lead);
        let (meter, place) = (epoch.meter.clone(), (id, bytes as u64));
        Ok(match growing {
            true => (Allocation::growing(place, home, meter, label), track),
            false => (Allocation::new(id, bytes as u64, home, meter), track),
        })
    }

    /// Shared memory for a download.
    pub(crate) fn block(&self, epoch: &Epoch, bytes: usize) -> Result<Block> {
        epoch.admit()?;
        self.link.block(epoch, bytes)
    }

    /// How many of `bytes` bytes to send at a time: while the worker copies one piece, this process fills the next.
    pub(crate) fn piece_of(&self, bytes: usize) -> usize {
        bytes.min(8 << 20).min(self.link.bulk())
    }

    /// Shared memory with a copy of `bytes`.
    pub(crate) fn stage(&self, epoch: &Epoch, bytes: &[u8]) -> Result<Block> {
        let mut block = self.block(epoch, bytes.len())?;
        block.fill(bytes);
        Ok(block)
    }

    /// Steps 3 to 6 of `device/dispatch/mod.rs`. The order on the device is left to the worker.
    pub(crate) fn submit(&self, s: &mut Submission<'_, '_, '_>) -> Result<()> {
        let (epoch, facts) = (s.epoch, s.facts);
        if !s.call.crosses() {
            return Err(Error::unsupported(format!(
                "`{}` cannot run on the isolated device {}: `Op::wire` is not implemented",
                facts.name, epoch.label
            )));
        }
        if facts.kind == OpKind::Phased {
            return Err(Error::unsupported(format!(
                "`{}` cannot run on the isolated device {}: it makes buffers between its phases",
                facts.name, epoch.label
            )));
        }
        let info = match epoch.counters.trace() {
            Some(_) => Some(s.info(None)?),
            None => None,
        };
        if let (Some(trace), Some(info)) = (epoch.counters.trace(), &info) {
            trace.begin(info, (s.operands(), s.read_count));
        }
        let (is_gated, operands) = (s.is_gated(), s.operands());
        let (call, mut shape) = (&mut *s.call, Shape::new());
        call.shape(&mut shape)?;
        // The operands after these become invalid if the order is not carried out.
        let spared = if facts.preserves_on_failure { s.operand_count } else { s.read_count };
        let seat = s.options.seat;
        let mut order = self.order(call.code(self.code)?, (s.timed, seat), (operands, spared), &shape)?;
        guarded(&mut || call.encode(&mut order))?;
        let (order, block) = order.closed();
        let keep = s.views.iter().map(|v| v.region.allocation.clone()).collect();
        epoch.remember(call.subject(), s.options.label);
        let number = epoch.flow.enter();
        let dispatch = UntypedDispatch::new(facts, &self.link, (epoch, number), keep, block, info);
        let sent = call.become_flight(dispatch).and_then(|flight| {
            self.send(epoch, &flight, &order, (s.views, s.read_count, is_gated), info)?;
            Ok(flight)
        });
        let flight = sent.inspect_err(|_| epoch.flow.leave(number))?;
        if let Some(dispatch) = flight.dispatch() {
            dispatch.sent();
            if self.inline {
                dispatch.wait(Wait::Adaptive, None);
            }
        }
        Ok(())
    }

    /// The order for an operation, without the operation's own bytes, which are appended to it.
    fn order(
        &self,
        code: u64,
        (timed, seat): (bool, Option<u8>),
        (views, read_count): (&[View<'_>], usize),
        shape: &Shape,
    ) -> Result<Outgoing> {
        let places: SmallVec<[Place; 4]> = views.iter().map(place).collect();
        let mut order = Outgoing::opened(192 + 16 * views.len());
        order.value(&Run {
            code,
            timed,
            seat,
            fault: self.inject_fault(),
            places: &places[..],
            read_count: u32::try_from(read_count).unwrap_or(u32::MAX),
            shape: &shape[..],
        })?;
        Ok(order)
    }

    /// Sends the order, publishes it to the buffers, and marks its writes as written.
    fn send(
        &self,
        epoch: &Arc<Epoch>,
        flight: &Arc<dyn Flight>,
        order: &[u8],
        (views, read_count, is_gated): (&[View<'_>], usize, bool),
        info: Option<OpInfo>,
    ) -> Result<()> {
        let gate = Gate::enter(views, read_count, is_gated);
        let follows = Follows::gather(views, read_count);
        let sent = self.link.send(epoch, order::RUN, flight, &follows, order)?;
        follows.publish(views, read_count, sent);
        drop(gate); // before the hook, which may submit on the same operands
        for write in views.iter().skip(read_count) {
            write.written();
        }
        if let (Some(trace), Some(info)) = (epoch.counters.trace(), info) {
            trace.emit(Event::AfterEnqueue, &info);
        }
        Ok(())
    }

    /// The fault that the fault plan injects into the next operation.
    fn inject_fault(&self) -> Option<InjectedFault> {
        #[cfg(feature = "host")]
        return self.plan.as_ref()?.next_op().map(|fault| match fault {
            crate::engines::host::Fault::Fail => InjectedFault::Fail,
            crate::engines::host::Fault::Poison => InjectedFault::Poison,
            crate::engines::host::Fault::Delay(time) => InjectedFault::Delay(time.as_nanos() as u64),
        });
        #[cfg(not(feature = "host"))]
        None
    }

    /// Free and total bytes, and the pool's. `None` on a host device; for a GPU the worker is asked.
    pub(crate) fn memory(&self, epoch: &Arc<Epoch>) -> Result<Option<(u64, u64, PoolInfo)>> {
        if self.info.kind == crate::core::device_info::DeviceKind::Host {
            return Ok(None);
        }
        let (place, answer, looking) = (AtomicU32::new(0), OnceLock::new(), Mutex::default());
        let question = Arc::new(Question { link: self.link.clone(), place, answer, looking });
        let flight: Arc<dyn Flight> = question.clone();
        self.link.send(epoch, order::MEMORY, &flight, &Follows::default(), &[])?;
        let timing = epoch.timing;
        let (start, mut backoff) = (timing.clock.start(), Backoff::new(&timing.waits));
        while !question.retire() {
            if epoch.dead() {
                return Err(epoch.verdict());
            }
            if start.elapsed() > timing.watch.question {
                return Err(Error::Timeout { waited: start.elapsed(), site: crate::core::error::Site::none() });
            }
            backoff.pause(None);
        }
        epoch.admit()?;
        let answer = question.answer.get().cloned();
        let answer =
            answer.unwrap_or_else(|| Err(Error::library("the worker did not report how much memory is free")))?;
        let [free, reserved, reserved_peak, used, used_peak, threshold, trims, _] = answer;
        let pool = PoolInfo { reserved, reserved_peak, used, used_peak, threshold, trims };
        Ok(Some((free, self.info.total_memory, pool)))
    }
}

impl Drop for WorkerEngine {
    fn drop(&mut self) {
        self.leave();
    }
}

/// A question in flight that is not an operation: free bytes and the pool's.
struct Question {
    link: Arc<Link>,
    place: AtomicU32,
    answer: OnceLock<Result<[u64; 8]>>,
    /// Held while the place is read. Until the answer is set, the place belongs to this question.
    looking: Mutex<()>,
}

impl Flight for Question {
    fn place(&self) -> &AtomicU32 {
        &self.place
    }

    fn retire(&self) -> bool {
        if self.answer.get().is_some() {
            return true;
        }
        let Some(_looking) = self.looking.try_lock() else { return false };
        if self.answer.get().is_some() {
            return true;
        }
        let place = self.place.load(Ordering::Relaxed);
        let answer = match self.link.answers.state(place).load(Ordering::Acquire) {
            DONE => Ok(reply::words_of(&self.link.answers.bytes(place))),
            SPILLED => match self.link.spill(place) {
                Some(Ok(_)) => Err(Error::library("the worker answered another request")),
                Some(Err(error)) => Err(error),
                // The answer is still in the socket.
                None if !self.link.ending.is_over() => return false,
                None => Err(Error::library("the worker is gone")),
            },
            LOST => Err(Error::library("the worker is gone")),
            _ => return false,
        };
        if self.answer.set(answer).is_ok() {
            self.link.concluded();
        }
        true
    }

    fn name(&self) -> &'static str {
        "memory"
    }
}

/// Where an operand lies, in the worker's terms.
fn place(view: &View<'_>) -> Place {
    let window = &view.region.window;
    let all = view.offset == window.start && view.len == window.len();
    Place {
        id: view.region.allocation.address,
        region: (window.start as u64, window.end as u64),
        window: (!all).then_some((view.offset as u64, view.len as u64)),
    }
}

/// Addresses of no real memory. They differ for all allocations of all workers, keep distances within one allocation,
/// and are aligned as those of the worker's device. A reserve takes as many as it likes, without memory: an error when all are used.
pub(super) fn next_address(bytes: usize) -> Result<u64> {
    const ALIGNMENT: u64 = 256;
    static NEXT: AtomicU64 = AtomicU64::new(1 << 46);
    let size = (bytes as u64).next_multiple_of(ALIGNMENT) + ALIGNMENT;
    let next = NEXT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| next.checked_add(size));
    next.map_err(|_| Error::library("so many addresses were reserved in workers that none are left"))
}
