//! Device memory on its way back to the pool.
//!
//! When the last region of an allocation goes, its regions' completions say who may still touch the bytes:
//!
//! - nobody: freed by whoever leases its slot next;
//! - work on one stream only: freed on that stream, behind it, with no wait. A pipeline of temporaries runs in the same
//!   bytes however far the host is ahead;
//! - work on several streams, or work that is not enqueued yet: parked until all of it is over. A stream that waited for the others would hold up later
//!   allocations instead.
//!
//! Nothing here calls the driver: see [`free_some`], which the holder of a lease calls.

use super::fault;
use super::housekeeping::Nudge;
use super::slot::{Shared, State};
use crate::buffer::{AccessHistory, Allocation, Home};
use crate::engine::Completion;
use crate::engine::life::Stand;
use crate::sync::{Arc, AtomicU64, Mutex, Ordering};
use crate::trace::Counters;
use crossbeam_queue::SegQueue;

/// Where an allocation came from.
#[derive(Debug)]
pub(crate) struct PoolBytes {
    pub(crate) slot: Arc<Shared>,
    /// Its place in the slot's list of live addresses.
    pub(crate) place: u32,
}

/// What waits to be given back.
pub(crate) struct Reclaim {
    /// What was parked and not looked at yet: whoever drops a buffer must not wait for the lock below.
    coming: SegQueue<Parked>,
    /// The driver is asked under this lock.
    parked: Mutex<Vec<Parked>>,
    /// How many there are of both.
    count: AtomicU64,
    pub(crate) nudge: Arc<Nudge>,
    counters: Arc<Counters>,
}

type Parked = (Arc<Allocation>, AccessHistory);

impl std::fmt::Debug for Reclaim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Reclaim(parked: {})", self.parked())
    }
}

impl PoolBytes {
    /// The last region is gone; `uses` may still be in flight.
    pub(crate) fn release(&self, allocation: &Arc<Allocation>, uses: AccessHistory) {
        let life = &self.slot.life;
        // Nor in a forked child, where the lists below may be locked for ever.
        if self.slot.over() {
            return self.slot.reclaim.give_up(life.stand());
        }
        // First: what is bound after this look has its marks below.
        let coming = uses.all().any(Completion::is_coming);
        let mut marks = uses.all().flat_map(Completion::marks).filter(|mark| !mark.is_past());
        let target = match marks.next() {
            _ if coming => None,
            None => Some(&self.slot),
            Some(first) => marks.all(|m| m.same_slot(first)).then_some(&first.slot),
        };
        // A stream of another device (a peer copy) cannot free for this pool.
        let reclaim = &self.slot.reclaim;
        match target.filter(|slot| Arc::ptr_eq(&slot.context, &self.slot.context)) {
            Some(slot) => {
                slot.frees.push(allocation.clone());
                // The end of the epoch may have emptied the list just before.
                if life.dead() {
                    return slot.frees.clear();
                }
            }
            None => {
                drop(marks);
                reclaim.park(allocation.clone(), uses);
                // As above.
                if life.dead() {
                    return drop(reclaim.take());
                }
            }
        }
        reclaim.nudge.nudge();
    }
}

impl Reclaim {
    pub(crate) fn new(nudge: Arc<Nudge>, counters: Arc<Counters>) -> Self {
        Reclaim { coming: SegQueue::new(), parked: Mutex::default(), count: AtomicU64::new(0), nudge, counters }
    }

    /// After a fault nobody can prove the bytes idle; after an orderly end they were freed already.
    fn give_up(&self, stand: Stand) {
        if matches!(stand, Stand::Poisoned | Stand::Lost) {
            self.counters.leaked.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn park(&self, allocation: Arc<Allocation>, uses: AccessHistory) {
        self.count.fetch_add(1, Ordering::SeqCst);
        self.coming.push((allocation, uses));
    }

    /// All of them, to be dropped with no lock held.
    fn take(&self) -> Vec<Parked> {
        let mut parked = self.parked.lock();
        let mut all = std::mem::take(&mut *parked);
        all.extend(std::iter::from_fn(|| self.coming.pop()));
        self.count.fetch_sub(all.len() as u64, Ordering::SeqCst);
        all
    }

    /// Allocations that wait for work on several streams.
    pub(crate) fn parked(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    /// Hands the parked allocations whose uses are all over to their slots. True when some are left, or in the hands of
    /// another who does the same.
    pub(crate) fn unpark(&self) -> bool {
        let Some(mut parked) = self.parked.try_lock() else { return true };
        parked.extend(std::iter::from_fn(|| self.coming.pop()));
        let before = parked.len();
        parked.retain(|(allocation, uses)| {
            let done = uses.all().all(Completion::poll);
            if let (true, Home::Cuda(home)) = (done, &allocation.home) {
                home.slot.frees.push(allocation.clone());
            }
            !done
        });
        self.count.fetch_sub((before - parked.len()) as u64, Ordering::SeqCst);
        !parked.is_empty()
    }

    /// The epoch ended: forgets all that is parked, counting it when nothing could prove it idle.
    pub(crate) fn forget(&self, stand: Stand) {
        for _ in self.take() {
            self.give_up(stand);
        }
    }
}

/// Frees what waits on this slot, at most `most` allocations, behind all that is enqueued on its stream. Under the
/// lease, the context current. True when some are left.
pub(crate) fn free_some(shared: &Shared, state: &mut State, most: usize) -> bool {
    for _ in 0..most {
        // An empty queue is the rule, and asking is cheaper than a failed `pop`, which has a lock.
        if shared.frees.is_empty() {
            return false;
        }
        let Some(allocation) = shared.frees.pop() else { return false };
        let Home::Cuda(home) = &allocation.home else { continue };
        // SAFETY: the address is from this context's pool and is freed once: an allocation is released once, and its
        // place in the list of live addresses is taken out here. All its uses are over or lie on this stream, before.
        let code = unsafe { shared.context.api.mem_free_async(allocation.address, state.stream.0) };
        home.slot.live.leave(home.place);
        if let Err(code) = code.ok() {
            home.slot.reclaim.counters.leaked.fetch_add(1, Ordering::Relaxed);
            if let Some(epoch) = shared.epoch.get().and_then(std::sync::Weak::upgrade) {
                fault::report(&epoch, code, "cuMemFreeAsync");
            }
        }
    }
    !shared.frees.is_empty()
}
