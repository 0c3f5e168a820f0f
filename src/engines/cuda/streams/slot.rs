//! Stream slots: in-order queues that are leased only while work is enqueued.

use super::last_event::LastEvent;
use super::recent::Recent;
use super::ring::{Retired, Ring};
use crate::core::clock::Timing;
use crate::core::dispatch::Backoff;
use crate::core::epoch::Epoch;
use crate::core::epoch::life::Life;
use crate::core::order::sequence::Sequence;
use crate::core::order::{Completion, EventHandle, Mark, Stream};
use crate::core::process;
use crate::core::sync::{Arc, AtomicU64, Mutex, Ordering};
use crate::engines::cuda::api::Code;
use crate::engines::cuda::context::fault;
use crate::engines::cuda::context::{BINDING, Context};
use crate::engines::cuda::memory::Frees;
use crate::engines::cuda::memory::Live;
use crate::engines::cuda::memory::Reclaim;
use crate::engines::cuda::memory::Tables;
use crate::engines::cuda::{Core, Native};
use crate::engines::ffi::Handles;
use cudarc::driver::sys::{CUevent, CUevent_st, CUstream};
use std::sync::{OnceLock, Weak};

/// A slot: the state under the lease, and the part that marks share.
pub(crate) struct Slot {
    pub(crate) shared: Arc<Shared>,
    /// The same as that of `shared`, one step nearer.
    pub(crate) stream: Arc<Stream>,
    pub(crate) lease: Mutex<State>,
}

/// What the marks of a slot hold: enough to tell whether a ticket has completed, also after the engine has ended.
pub(crate) struct Shared {
    pub(crate) index: usize,
    /// The part of it that the marks in buffers hold.
    pub(crate) stream: Arc<Stream>,
    pub(crate) life: Arc<Life>,
    pub(crate) context: Arc<Context>,
    pub(crate) timing: &'static Timing,
    pub(crate) epoch: Arc<OnceLock<Weak<Epoch>>>,
    pub(crate) core: OnceLock<Weak<Core>>,
    pub(crate) reclaim: Arc<Reclaim>,
    /// Memory whose uses are all on this stream. The next holder of the slot's lease frees it behind them, or reuses
    /// it.
    pub(crate) frees: Frees,
    /// Device addresses that were allocated on this slot and are not freed.
    pub(crate) live: Live,
    pub(crate) dispatches: AtomicU64,
    last_event: LastEvent<CUevent_st>,
    pub(crate) plans: Hits,
    /// Allocations that reused memory of this slot, and those for which the pool was asked.
    pub(crate) memory: Hits,
    /// Outside the lease, because the thread that notices a fault often holds the lease.
    pub(crate) recent: Recent,
    fork_generation: u32,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Slot({}, {:?})", self.index, self.stream.sequence)
    }
}

/// State that only the holder of the lease touches.
pub(crate) struct State {
    pub(crate) stream: Native<CUstream>,
    /// Where the last dispatch on it ends. It is kept so that to publish the next one touches no count of an `Arc`.
    pub(crate) end: Completion,
    pub(crate) ring: Ring<Native<CUevent>>,
    /// For each other slot, the last ticket that this stream was made to wait for: later work on this stream follows it
    /// anyway.
    pub(crate) followed: Vec<u64>,
    /// Device memory for a scalar result; reused in stream order.
    pub(crate) result: Option<u64>,
    /// A word of device memory that counts the blocks of a kernel: zero between the kernels of the stream.
    pub(crate) counter: Option<u64>,
    pub(crate) functions: Vec<crate::engines::cuda::code::Cached>,
    pub(crate) tables: Tables,
    pub(crate) handles: Handles,
    /// Device memory that the slot's libraries use as workspace; reused in stream order.
    pub(crate) workspace: Option<u64>,
    /// Device memory kept for the slot's handles; each piece is used in stream order.
    pub(crate) kept: Vec<u64>,
}

/// The number of requests that were met here, and of those for which something had to be asked: the library for a plan,
/// the driver for memory. Only the holder of the lease counts, so no locked instruction is needed.
#[derive(Debug, Default)]
pub(crate) struct Hits {
    pub(crate) hits: AtomicU64,
    pub(crate) misses: AtomicU64,
}

impl Hits {
    pub(crate) fn count(&self, asked: bool) {
        let counter = if asked { &self.misses } else { &self.hits };
        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

impl Drop for Slot {
    /// After a fault, and at process exit, nothing frees the memory that waits here. The waiting allocations hold the
    /// slot and the slot holds them, so without this neither would ever be dropped.
    fn drop(&mut self) {
        self.shared.frees.clear();
    }
}

impl Slot {
    pub(crate) fn new(
        index: usize,
        stream: CUstream,
        context: Arc<Context>,
        life: Arc<Life>,
        epoch: Arc<OnceLock<Weak<Epoch>>>,
        reclaim: Arc<Reclaim>,
        timing: &'static Timing,
    ) -> Self {
        let in_order = Arc::new(Stream { number: index, sequence: Sequence::new() });
        let end = Completion::Cuda(Mark { stream: in_order.clone(), ticket: 0, event: None });
        Slot {
            shared: Arc::new(Shared {
                index,
                stream: in_order.clone(),
                life,
                context,
                timing,
                epoch,
                core: OnceLock::new(),
                reclaim,
                frees: Frees::default(),
                live: Live::default(),
                dispatches: AtomicU64::new(0),
                last_event: LastEvent::new(),
                plans: Hits::default(),
                memory: Hits::default(),
                recent: Recent::default(),
                fork_generation: process::fork_generation(),
            }),
            lease: Mutex::new(State {
                stream: Native(stream),
                end,
                ring: Ring::new(),
                followed: Vec::new(),
                result: None,
                counter: None,
                functions: Vec::new(),
                tables: Tables::default(),
                handles: Handles::default(),
                workspace: None,
                kept: Vec::new(),
            }),
            stream: in_order,
        }
    }

    /// Whether nothing is in flight, as far as is known.
    pub(crate) fn is_idle(&self) -> bool {
        self.stream.sequence.in_flight() == 0
    }
}

impl Shared {
    /// Whether the driver must not be called for this slot any more: its epoch has ended, the process exits, or this is
    /// a forked child. A ticket that is not known to be complete now never will be.
    pub(crate) fn over(&self) -> bool {
        self.life.dead() || self.fork_generation != process::fork_generation()
    }

    /// Whether this is a forked child of the process that made the slot.
    pub(crate) fn is_forked(&self) -> bool {
        process::forked_since(self.fork_generation)
    }

    /// Asks the driver about `ticket`'s event and, if that is complete, about the newest one. Returns the last ticket
    /// found complete. A fault that appears here ends the epoch.
    fn ask(&self, ticket: u64, event: CUevent) -> Result<Option<u64>, Code> {
        // Checked after the polling right was taken: the end of the epoch sets the flag first, and takes the right
        // after that.
        if self.over() {
            return Ok(None);
        }
        // Other code may have reset the context; then its events are gone.
        self.context.look().inspect_err(|code| self.report(*code, BINDING))?;
        if !self.query(event)? {
            return Ok(None);
        }
        match self.last_event.after(ticket) {
            Some((newest, event)) if !self.over() && self.query(event)? => Ok(Some(newest)),
            _ => Ok(Some(ticket)),
        }
    }

    fn query(&self, event: CUevent) -> Result<bool, Code> {
        // SAFETY: the event lives until the epoch's end, which excludes pollers. An event belongs to its own context,
        // whichever is current.
        match unsafe { self.context.api.event_query(event) } {
            Code::SUCCESS => Ok(true),
            Code::NOT_READY => Ok(false),
            Code::INVALID_CONTEXT => self.query_bound(event),
            code => self.refused(code),
        }
    }

    /// For drivers that need the context to be current.
    #[cold]
    fn query_bound(&self, event: CUevent) -> Result<bool, Code> {
        let _bound = self.context.bind().inspect_err(|code| self.report(*code, BINDING))?;
        // SAFETY: as in `query`.
        match unsafe { self.context.api.event_query(event) } {
            Code::SUCCESS => Ok(true),
            Code::NOT_READY => Ok(false),
            code => self.refused(code),
        }
    }

    #[cold]
    fn refused(&self, code: Code) -> Result<bool, Code> {
        self.report(code, "cuEventQuery");
        Err(code)
    }

    /// Reports a driver call that failed outside a dispatch: a sticky code ends the epoch.
    pub(crate) fn report(&self, code: Code, call: &str) {
        if let Some(epoch) = self.epoch.get().and_then(Weak::upgrade) {
            fault::report(&epoch, code, call);
        }
    }

    /// The last ticket issued, and the event to query for it.
    pub(crate) fn last(&self) -> (u64, Option<Native<CUevent>>) {
        let issued = self.stream.sequence.issued();
        match self.last_event.after(issued.saturating_sub(1)) {
            Some((newest, event)) => (newest, Some(Native(event))),
            None => (issued, None),
        }
    }

    /// Polls the last ticket, if it is not known to be complete.
    pub(crate) fn poll_last(&self) {
        let (ticket, event) = self.last();
        self.poll(ticket, event);
    }

    /// Whether `ticket` has completed; queries `event` if needed. Never waits.
    pub(crate) fn poll(&self, ticket: u64, event: Option<Native<CUevent>>) -> bool {
        match event {
            Some(event) => self.stream.sequence.poll(ticket, || self.ask(ticket, event.0)).unwrap_or(false),
            None => self.stream.sequence.reached(ticket),
        }
    }
}

impl State {
    /// Takes out the device memory that lives as long as the slot: its addresses.
    pub(crate) fn take_memory(&mut self) -> Vec<u64> {
        let lasting = self.result.take().into_iter().chain(self.counter.take()).chain(self.workspace.take());
        lasting.chain(self.tables.take()).chain(std::mem::take(&mut self.kept)).collect()
    }

    /// The number of pieces of such memory.
    pub(crate) fn memory(&self) -> usize {
        usize::from(self.result.is_some())
            + usize::from(self.counter.is_some())
            + usize::from(self.workspace.is_some())
            + self.tables.count()
            + self.kept.len()
    }

    /// Whether the stream already waits for `ticket` of another slot, by an earlier wait for it or for a later ticket.
    pub(crate) fn follows(&self, slot: usize, ticket: u64) -> bool {
        self.followed.get(slot).is_some_and(|followed| *followed >= ticket)
    }

    /// Records that the stream was made to wait for `ticket` of another slot.
    pub(crate) fn now_follows(&mut self, slot: usize, ticket: u64) {
        if self.followed.len() <= slot {
            self.followed.resize(slot + 1, 0);
        }
        if let Some(followed) = self.followed.get_mut(slot) {
            *followed = (*followed).max(ticket);
        }
    }

    /// Takes out what has completed, at most `most` keep-alives. The caller must retire them after it has given back
    /// the lease.
    pub(crate) fn reap(&mut self, shared: &Shared, most: usize, out: &mut Retired) {
        if let Some((ticket, event)) = self.ring.worth_a_look()
            && shared.poll(ticket, Some(event))
        {
            self.ring.looked();
        }
        self.ring.reap(&shared.stream.sequence, most, out);
    }

    /// Issues the next ticket and records an event for it. If that fails the ticket is open: the next event recorded on
    /// the stream answers for it.
    pub(crate) fn record(&mut self, shared: &Shared) -> (u64, Option<Native<CUevent>>, Code) {
        let api = shared.context.api;
        let make = || {
            let mut event: CUevent = std::ptr::null_mut();
            const DISABLE_TIMING: u32 = 2;
            // SAFETY: `event` is valid for the write; the context is current.
            unsafe { api.event_create(&mut event, DISABLE_TIMING) }.ok().map(|()| Native(event))
        };
        let event = match self.ring.event(make) {
            Ok(event) => event,
            Err(code) => return (shared.stream.sequence.issue(), None, code),
        };
        // SAFETY: event and stream are alive, because the end of the epoch first takes this slot's lease.
        let code = unsafe { api.event_record(event.0, self.stream.0) };
        let ticket = shared.stream.sequence.issue();
        if code.is_success() {
            shared.last_event.set(ticket, event.0);
            (ticket, Some(event), code)
        } else {
            self.ring.put_back(event);
            (ticket, None, code)
        }
    }
}

/// The end of a dispatch on a slot, as its task knows it: a ticket, and the event recorded for it. (What the buffers know of
/// it is a [`Mark`].)
///
/// Once the ticket is known to be complete, the event may be recycled for a later ticket. A thread or stream that waits
/// for it then waits a little longer at worst. It waits for work that was enqueued earlier than the wait, so no cycle
/// can form.
#[derive(Clone, Debug)]
pub(crate) struct SlotMark {
    pub(crate) slot: Arc<Shared>,
    pub(crate) ticket: u64,
    /// `None`: open, see `ring.rs`.
    pub(crate) event: Option<Native<CUevent>>,
}

impl SlotMark {
    pub(crate) fn is_past(&self) -> bool {
        self.slot.stream.sequence.reached(self.ticket)
    }

    /// As the buffers remember it.
    pub(crate) fn published(&self) -> Mark {
        let event = self.event.and_then(Native::handle);
        Mark { stream: self.slot.stream.clone(), ticket: self.ticket, event }
    }

    /// Whether it has completed; asks the driver if needed.
    pub(crate) fn poll(&self) -> bool {
        self.slot.poll(self.ticket, self.event)
    }

    /// Waits until it has completed, or until that can never be known (the slot is over). The caller must hold no
    /// lease.
    pub(crate) fn outlast(&self) {
        let mut backoff = Backoff::new(&self.slot.timing.waits);
        while !self.poll() && !self.slot.over() {
            backoff.pause(None);
        }
    }
}

impl Native<CUevent> {
    /// As the marks in buffers hold it.
    #[inline]
    pub(crate) fn handle(self) -> Option<EventHandle> {
        EventHandle::new(self.0.expose_provenance())
    }

    #[inline]
    pub(crate) fn of_handle(handle: EventHandle) -> Self {
        Native(std::ptr::with_exposed_provenance_mut(handle.get()))
    }
}
