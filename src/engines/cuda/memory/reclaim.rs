//! Device memory on its way back to the pool.
//!
//! When the last region of an allocation is dropped, the completions of its regions say which work may still use the
//! bytes:
//!
//! - none: the next holder of its slot's lease frees them;
//! - work on one stream only: they are freed on that stream, behind the work, with no wait. A pipeline of temporaries
//!   uses the same bytes again and again, however far the host is ahead;
//! - work on several streams, or work that is not enqueued yet: the allocation is parked until all of it is complete.
//!   To make one stream wait for the others instead would delay later allocations.
//!
//! Nothing here calls the driver, except [`free_some`], which the holder of a lease calls, and the polls of
//! [`Reclaim::unpark`].

use crate::core::buffer::{Allocation, Home, Pool};
use crate::core::epoch::life::Stand;
use crate::core::order::{AccessHistory, Completion, Stream};
use crate::core::sync::{Arc, AtomicU64, Mutex, Ordering};
use crate::core::trace::Counters;
use crate::engines::cuda::context::fault;
use crate::engines::cuda::housekeeping::Nudge;
use crate::engines::cuda::streams::Streams;
use crate::engines::cuda::streams::{Shared, State};
use crossbeam_queue::SegQueue;
use std::any::Any;
use std::sync::Weak;

/// The slot whose pool an allocation came from, and its index in the slot's list of live addresses.
fn origin(home: &Home) -> Option<(&Shared, u32)> {
    match home {
        Home::Pool { pool, place } => Some(((&**pool as &dyn Any).downcast_ref()?, *place)),
        _ => None,
    }
}

/// The parked allocations.
pub(crate) struct Reclaim {
    /// Parked, but not moved to `parked` yet: a thread that drops a buffer must not wait for the lock below.
    coming: SegQueue<Parked>,
    /// The driver is polled under this lock.
    parked: Mutex<Vec<Parked>>,
    /// The number of allocations in both.
    count: AtomicU64,
    pub(crate) nudge: Arc<Nudge>,
    pub(super) counters: Arc<Counters>,
}

type Parked = (Arc<Allocation>, AccessHistory);

impl std::fmt::Debug for Reclaim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Reclaim(parked: {})", self.parked())
    }
}

impl Pool for Shared {
    fn release(&self, allocation: &Arc<Allocation>, uses: AccessHistory) {
        // The epoch is over, or this is a forked child, where the lists below may be locked for ever.
        if self.over() {
            return self.reclaim.give_up(self.life.stand());
        }
        let only = self.only_stream(&uses);
        let slot = |stream: &Arc<Stream>| Some(self.core.get()?.upgrade()?.streams.slot(stream.number)?.shared.clone());
        if only.is_some_and(|stream| Arc::ptr_eq(stream, &self.stream)) {
            self.free_behind(allocation);
        } else if let Some(slot) = only.and_then(|stream| slot(stream).filter(|slot| Arc::ptr_eq(&slot.stream, stream)))
        {
            slot.free_behind(allocation);
        } else {
            self.park(allocation, uses);
        }
    }
}

impl Shared {
    /// The stream that all uses in flight are on; this one if there are none. `None` if they are on several, or if one of
    /// them is not enqueued yet.
    fn only_stream<'a>(&'a self, uses: &'a AccessHistory) -> Option<&'a Arc<Stream>> {
        // Check this before the marks. In the other order, work that is bound between the two checks would be missed by
        // both.
        if uses.all().any(Completion::is_coming) {
            return None;
        }
        let mut marks = uses.all().flat_map(Completion::marks).filter(|mark| !mark.is_past());
        let Some(first) = marks.next() else { return Some(&self.stream) };
        marks.all(|mark| mark.same_stream(first)).then_some(&first.stream)
    }

    /// Has it freed behind what is on this stream.
    fn free_behind(&self, allocation: &Arc<Allocation>) {
        self.frees.push(allocation.clone());
        // The end of the epoch may have cleared the list just before this push.
        if self.life.dead() {
            return self.frees.clear();
        }
        self.reclaim.nudge.nudge();
    }

    /// Has it freed when all of its uses are complete.
    fn park(&self, allocation: &Arc<Allocation>, uses: AccessHistory) {
        self.reclaim.park(allocation.clone(), uses);
        // As above.
        if self.life.dead() {
            return drop(self.reclaim.take());
        }
        self.reclaim.nudge.nudge();
    }
}

impl Reclaim {
    pub(crate) fn new(nudge: Arc<Nudge>, counters: Arc<Counters>) -> Self {
        Reclaim { coming: SegQueue::new(), parked: Mutex::default(), count: AtomicU64::new(0), nudge, counters }
    }

    /// After a fault nothing proves that the bytes are idle: they leak, and are counted. After an orderly end they were
    /// freed already.
    fn give_up(&self, stand: Stand) {
        if matches!(stand, Stand::Poisoned | Stand::Lost) {
            self.counters.leaked.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn park(&self, allocation: Arc<Allocation>, uses: AccessHistory) {
        self.count.fetch_add(1, Ordering::SeqCst);
        self.coming.push((allocation, uses));
    }

    /// Takes out all of them. The caller must drop them with no lock held.
    fn take(&self) -> Vec<Parked> {
        let mut parked = self.parked.lock();
        let mut all = std::mem::take(&mut *parked);
        all.extend(std::iter::from_fn(|| self.coming.pop()));
        self.count.fetch_sub(all.len() as u64, Ordering::SeqCst);
        all
    }

    /// The number of parked allocations.
    pub(crate) fn parked(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    /// Hands the parked allocations whose uses are all complete to their slots. True if some are left, or if another
    /// thread is in this function.
    pub(crate) fn unpark(&self, streams: &Streams) -> bool {
        let Some(mut parked) = self.parked.try_lock() else { return true };
        parked.extend(std::iter::from_fn(|| self.coming.pop()));
        let before = parked.len();
        // Memory of others, whose owners are dropped without the lock.
        let mut lent = Vec::new();
        parked.retain(|(allocation, uses)| {
            let done = uses.all().all(|end| streams.poll(end));
            match (done, origin(&allocation.home)) {
                (true, Some((slot, _))) => slot.frees.push(allocation.clone()),
                (true, None) => lent.push(allocation.clone()),
                (false, _) => {}
            }
            !done
        });
        self.count.fetch_sub((before - parked.len()) as u64, Ordering::SeqCst);
        let some_are_left = !parked.is_empty();
        drop(parked);
        drop(lent);
        some_are_left
    }

    /// The epoch ended: forgets all parked allocations, and counts those that nothing proved idle.
    pub(crate) fn forget(&self, stand: Stand) {
        for (allocation, _) in self.take() {
            if super::lent::is_lent(&allocation.home) {
                self.give_up_lent(allocation, stand);
                continue;
            }
            drop(allocation);
            self.give_up(stand);
        }
    }
}

/// Frees at most `most` of the allocations that wait on this slot, behind all that is enqueued on its stream. Call
/// under the lease, with the context current. True if some are left.
pub(crate) fn free_some(shared: &Shared, state: &mut State, most: usize) -> bool {
    for _ in 0..most {
        // The queue is usually empty, and this check is cheaper than a failed `pop`, which takes a lock.
        if shared.frees.is_empty() {
            return false;
        }
        let Some(allocation) = shared.frees.pop() else { return false };
        let Some((slot, place)) = origin(&allocation.home) else { continue };
        // SAFETY: the address without the lead is from this context's pool. It is freed once: an allocation is released once, and its
        // entry in the list of live addresses is removed here. All its uses are complete or come earlier on this
        // stream.
        let code = unsafe {
            shared.context.api.mem_free_async(allocation.address - u64::from(allocation.lead), state.stream.0)
        };
        slot.live.leave(place);
        if let Err(code) = code.ok() {
            slot.reclaim.counters.leaked.fetch_add(1, Ordering::Relaxed);
            if let Some(epoch) = shared.epoch.get().and_then(Weak::upgrade) {
                fault::report(&epoch, code, "cuMemFreeAsync");
            }
        }
    }
    !shared.frees.is_empty()
}
