//! Stream slots: in-order queues that are leased only while work is enqueued.

use super::api::Code;
use super::context::{BINDING, Context};
use super::frees::Frees;
use super::last_event::LastEvent;
use super::live::Live;
use super::recent::Recent;
use super::reclaim::Reclaim;
use super::ring::{Retired, Ring};
use super::sequence::Sequence;
use super::{Core, Native, fault};
use crate::clock::Timing;
use crate::dispatch::Backoff;
use crate::engine::Epoch;
use crate::engine::life::Life;
use crate::engine::process;
use crate::library::Handles;
use crate::sync::{Arc, AtomicU64, Mutex, Ordering};
use cudarc::driver::sys::{CUevent, CUevent_st, CUstream};
use std::sync::{OnceLock, Weak};

/// A slot: the part under the lease, and the part that marks share.
pub(crate) struct Slot {
    pub(crate) shared: Arc<Shared>,
    pub(crate) lease: Mutex<State>,
}

/// What marks of a slot hold: enough to tell whether a ticket is over, also after the engine has ended.
pub(crate) struct Shared {
    pub(crate) index: usize,
    pub(crate) sequence: Sequence,
    pub(crate) life: Arc<Life>,
    pub(crate) context: Arc<Context>,
    pub(crate) timing: &'static Timing,
    pub(crate) epoch: Arc<OnceLock<Weak<Epoch>>>,
    pub(crate) core: OnceLock<Weak<Core>>,
    pub(crate) reclaim: Arc<Reclaim>,
    /// Memory whose uses are all on this stream: freed after them, or reused, by the next lease of the slot.
    pub(crate) frees: Frees,
    /// Device addresses allocated on this slot and not freed.
    pub(crate) live: Live,
    pub(crate) dispatches: AtomicU64,
    last_event: LastEvent<CUevent_st>,
    pub(crate) plans: Hits,
    /// Buffers that had memory again, and those for which the pool was asked.
    pub(crate) memory: Hits,
    /// Beside the lease, because a fault is often noticed by who holds it.
    pub(crate) recent: Recent,
    fork_generation: u32,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Slot({}, {:?})", self.index, self.sequence)
    }
}

/// What only the holder of the lease touches.
pub(crate) struct State {
    pub(crate) stream: Native<CUstream>,
    pub(crate) ring: Ring<Native<CUevent>>,
    /// What this stream has already been made to wait for, by slot: what comes later follows it anyway.
    pub(crate) followed: Vec<u64>,
    /// Device memory for a scalar result; reused in stream order.
    pub(crate) result: Option<u64>,
    pub(crate) functions: Vec<super::ptx::Cached>,
    pub(crate) tables: super::tables::Tables,
    pub(crate) handles: Handles,
    /// Device memory that the slot's libraries work in; reused in stream order.
    pub(crate) workspace: Option<u64>,
    /// Device memory of what the slot's handles keep; each piece is used in stream order.
    pub(crate) kept: Vec<u64>,
}

/// Calls that found what they wanted here, and calls for which somebody was asked: the library for a plan, the driver for
/// memory. Counted by the holder of the lease alone, so that no locked instruction is needed.
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
    /// After a fault, and at the exit of the process, nobody frees what waits here; and what waits holds the slot that it
    /// waits in, so that they would hold each other for ever.
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
        Slot {
            shared: Arc::new(Shared {
                index,
                sequence: Sequence::new(),
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
                ring: Ring::new(),
                followed: Vec::new(),
                result: None,
                functions: Vec::new(),
                tables: super::tables::Tables::default(),
                handles: Handles::default(),
                workspace: None,
                kept: Vec::new(),
            }),
        }
    }

    /// Nothing in flight, as far as is known.
    pub(crate) fn is_idle(&self) -> bool {
        self.shared.sequence.in_flight() == 0
    }
}

impl Shared {
    /// Nobody may call the driver for this slot any more: its epoch has ended, the process exits, or this is a forked
    /// child. What is not known to be over now never will be.
    pub(crate) fn over(&self) -> bool {
        self.life.dead() || self.fork_generation != process::fork_generation()
    }

    /// This is a forked child of the process that it was made in.
    pub(crate) fn is_forked(&self) -> bool {
        process::forked_since(self.fork_generation)
    }

    /// Asks the driver about `ticket`'s event, and when that is over, about the newest one: gives the last ticket found
    /// to be over. A fault that shows ends the epoch.
    fn ask(&self, ticket: u64, event: CUevent) -> Result<Option<u64>, Code> {
        // After the polling right was taken: the end of the epoch takes it too, and sets the flag before.
        if self.over() {
            return Ok(None);
        }
        // Somebody else may have reset the context, whose events are gone then.
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
        // SAFETY: the event lives until the epoch's end, which excludes pollers. An event is of its own context, whatever
        // is current.
        match unsafe { self.context.api.event_query(event) } {
            Code::SUCCESS => Ok(true),
            Code::NOT_READY => Ok(false),
            Code::INVALID_CONTEXT => self.query_bound(event),
            code => self.refused(code),
        }
    }

    /// For a driver that wants the context current.
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

    /// A driver call failed outside a dispatch: a sticky code ends the epoch.
    pub(crate) fn report(&self, code: Code, call: &str) {
        if let Some(epoch) = self.epoch.get().and_then(Weak::upgrade) {
            fault::report(&epoch, code, call);
        }
    }

    /// The last ticket issued, and what to ask about it.
    pub(crate) fn last(&self) -> (u64, Option<Native<CUevent>>) {
        let issued = self.sequence.issued();
        match self.last_event.after(issued.saturating_sub(1)) {
            Some((newest, event)) => (newest, Some(Native(event))),
            None => (issued, None),
        }
    }

    /// Asks about the last ticket, if it is not known to be over.
    pub(crate) fn poll_last(&self) {
        let (ticket, event) = self.last();
        self.poll(ticket, event);
    }

    /// Whether `ticket` is over, asking about `event` if need be. Never waits.
    pub(crate) fn poll(&self, ticket: u64, event: Option<Native<CUevent>>) -> bool {
        match event {
            Some(event) => self.sequence.poll(ticket, || self.ask(ticket, event.0)).unwrap_or(false),
            None => self.sequence.reached(ticket),
        }
    }
}

impl State {
    /// Takes out what lasts as long as the slot: addresses of device memory.
    pub(crate) fn take_memory(&mut self) -> Vec<u64> {
        let lasting = self.result.take().into_iter().chain(self.workspace.take());
        lasting.chain(self.tables.take()).chain(std::mem::take(&mut self.kept)).collect()
    }

    /// Pieces of such memory.
    pub(crate) fn memory(&self) -> usize {
        usize::from(self.result.is_some())
            + usize::from(self.workspace.is_some())
            + self.tables.count()
            + self.kept.len()
    }

    /// The stream already waits for a ticket of another slot, by an earlier wait on it or on a later one.
    pub(crate) fn follows(&self, slot: usize, ticket: u64) -> bool {
        self.followed.get(slot).is_some_and(|followed| *followed >= ticket)
    }

    /// The stream was made to wait for it.
    pub(crate) fn now_follows(&mut self, slot: usize, ticket: u64) {
        if self.followed.len() <= slot {
            self.followed.resize(slot + 1, 0);
        }
        if let Some(followed) = self.followed.get_mut(slot) {
            *followed = (*followed).max(ticket);
        }
    }

    /// Takes out what is over; what is taken must be retired when the lease is gone.
    pub(crate) fn reap(&mut self, shared: &Shared, most: usize, out: &mut Retired) {
        if let Some((ticket, event)) = self.ring.worth_a_look()
            && shared.poll(ticket, Some(event))
        {
            self.ring.looked();
        }
        self.ring.reap(&shared.sequence, most, out);
    }

    /// Records the next ticket. On failure the ticket is open: the next record on the stream answers for it.
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
            Err(code) => return (shared.sequence.issue(), None, code),
        };
        // SAFETY: event and stream are alive: the epoch's end takes this slot's lease first.
        let code = unsafe { api.event_record(event.0, self.stream.0) };
        let ticket = shared.sequence.issue();
        if code.is_success() {
            shared.last_event.set(ticket, event.0);
            (ticket, Some(event), code)
        } else {
            self.ring.put_back(event);
            (ticket, None, code)
        }
    }
}

/// The end of a dispatch on a slot: a ticket, and the event recorded for it.
///
/// The event may be recycled for a later ticket once this one was seen to be over; who waits on it then waits at worst a
/// little longer, for work that was enqueued earlier than the wait, so no cycle can form.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub(crate) slot: Arc<Shared>,
    pub(crate) ticket: u64,
    /// `None`: open, see `ring.rs`.
    pub(crate) event: Option<Native<CUevent>>,
}

impl Mark {
    pub(crate) fn is_past(&self) -> bool {
        self.slot.sequence.reached(self.ticket)
    }

    /// Becomes the later of the two when they are on one slot. (A mark may be told late: `peer.rs` has left the lease.)
    pub(crate) fn renew(&mut self, later: &Mark) -> bool {
        let same = self.same_slot(later);
        if same && later.ticket >= self.ticket {
            (self.ticket, self.event) = (later.ticket, later.event);
        }
        same
    }

    pub(crate) fn same_slot(&self, other: &Mark) -> bool {
        Arc::ptr_eq(&self.slot, &other.slot)
    }

    /// Looks, asking the driver if need be.
    pub(crate) fn poll(&self) -> bool {
        self.slot.poll(self.ticket, self.event)
    }

    /// Waits until it is over, or nobody will ever know. The caller has no lease.
    pub(crate) fn outlast(&self) {
        let mut backoff = Backoff::new(&self.slot.timing.waits);
        while !self.poll() && !self.slot.over() {
            backoff.pause(None);
        }
    }
}
