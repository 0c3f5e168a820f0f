//! What a slot keeps alive until its tickets have completed.
//!
//! Entries are in the order of the stream. An entry's keep-alive (`cargo`) is dropped, and its event reused, only when
//! its ticket is known to be complete. It makes no difference whether the pending was dropped or forgotten.

use crate::core::order::KeepAlive;
use crate::core::order::sequence::Sequence;
use crate::core::sync::Arc;
use smallvec::SmallVec;
use std::collections::VecDeque;

/// One entry. `event` is `None` while the ticket is *open*: recording its event failed (or was put off), and the next
/// event recorded on the stream answers for it.
struct Entry<E> {
    ticket: u64,
    event: Option<E>,
    cargo: Option<Arc<dyn KeepAlive>>,
}

/// Keep-alives taken out of the ring, to be retired when no lock is held.
pub(crate) type Retired = SmallVec<[Arc<dyn KeepAlive>; 8]>;

/// The ring of one slot. Protected by the slot's lease.
pub(crate) struct Ring<E> {
    entries: VecDeque<Entry<E>>,
    free: Vec<E>,
    made: usize,
    look_at: usize,
}

impl<E: Copy> Ring<E> {
    pub(crate) fn new() -> Self {
        Ring { entries: VecDeque::with_capacity(2 * LOOK), free: Vec::with_capacity(2 * LOOK), made: 0, look_at: LOOK }
    }

    /// An event to record: a reused one, or a new one from `make`.
    pub(crate) fn event<X>(&mut self, make: impl FnOnce() -> Result<E, X>) -> Result<E, X> {
        match self.free.pop() {
            Some(event) => Ok(event),
            None => {
                let event = make()?;
                self.made += 1;
                Ok(event)
            }
        }
    }

    /// Returns an event that was not recorded after all.
    pub(crate) fn put_back(&mut self, event: E) {
        self.free.push(event);
    }

    /// The number of events made so far.
    pub(crate) fn events(&self) -> usize {
        self.made
    }

    /// Keeps `cargo` until `ticket` has completed.
    pub(crate) fn push(&mut self, ticket: u64, event: Option<E>, cargo: Option<Arc<dyn KeepAlive>>) {
        self.entries.push_back(Entry { ticket, event, cargo });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Takes out entries known to be complete, at most `most` with a keep-alive. Their events become free, and their
    /// keep-alives go to `out`.
    pub(crate) fn reap(&mut self, sequence: &Sequence, most: usize, out: &mut Retired) {
        let completed = sequence.completed();
        let mut taken = 0;
        while taken < most
            && self.entries.front().is_some_and(|entry| entry.ticket <= completed)
            && let Some(entry) = self.entries.pop_front()
        {
            // Not `extend`: for one element it costs several times as much.
            if let Some(event) = entry.event {
                self.free.push(event);
            }
            if let Some(cargo) = entry.cargo {
                taken += 1;
                out.push(cargo);
            }
        }
    }

    /// An entry that is worth asking the driver about. `None` unless the ring has grown by [`LOOK`] since the last
    /// look, so that many dispatches share the cost. It is the middle one: it is likely to be complete, and then half
    /// of the ring is.
    pub(crate) fn worth_a_look(&mut self) -> Option<(u64, E)> {
        if self.entries.len() < self.look_at {
            return None;
        }
        self.look_at = self.entries.len() + LOOK;
        self.recorded_from(self.entries.len() / 2)
    }

    /// Call after a look that found the entry complete: half of the ring will be reaped, so the next look is due
    /// [`LOOK`] entries above that half.
    pub(crate) fn looked(&mut self) {
        self.look_at = self.entries.len() / 2 + LOOK;
    }

    /// The newest recorded entry: if it is complete, all are.
    pub(crate) fn last_event(&self) -> Option<(u64, E)> {
        self.entries.iter().rev().find_map(|e| e.event.map(|event| (e.ticket, event)))
    }

    /// The oldest recorded entry.
    pub(crate) fn first_event(&self) -> Option<(u64, E)> {
        self.recorded_from(0)
    }

    fn recorded_from(&self, index: usize) -> Option<(u64, E)> {
        self.entries.iter().skip(index).find_map(|e| e.event.map(|event| (e.ticket, event)))
    }

    /// The event that answers for `ticket`: its own, or the next one that was recorded on the stream.
    pub(crate) fn answering(&self, ticket: u64) -> Option<(u64, E)> {
        let start = self.entries.partition_point(|e| e.ticket < ticket);
        self.recorded_from(start)
    }

    /// Takes out everything, at the end of the epoch.
    pub(crate) fn take_all(&mut self, out: &mut Retired) -> Vec<E> {
        let mut events: Vec<E> = std::mem::take(&mut self.free);
        for entry in self.entries.drain(..) {
            events.extend(entry.event);
            out.extend(entry.cargo);
        }
        events
    }

    /// The number of entries.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

/// From how many entries on a look at the device pays. It costs half as much as a dispatch when the answer is yes, and
/// ten times that while other threads are in the driver.
const LOOK: usize = 64;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::core::sync::{AtomicUsize, Ordering};

    struct Counted(Arc<AtomicUsize>);
    impl KeepAlive for Counted {
        fn retire(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn cargo_and_events_come_back_when_their_ticket_has_passed_and_not_before() {
        let (sequence, told) = (Sequence::new(), Arc::new(AtomicUsize::new(0)));
        let mut ring = Ring::new();
        for number in 0..4u32 {
            let event = ring.event::<()>(|| Ok(number)).unwrap();
            ring.push(sequence.issue(), Some(event), Some(Arc::new(Counted(told.clone()))));
        }
        let mut out = Retired::new();
        ring.reap(&sequence, 9, &mut out);
        assert!(out.is_empty());
        sequence.observe(3);
        ring.reap(&sequence, 2, &mut out);
        assert_eq!((out.len(), ring.len()), (2, 2));
        ring.reap(&sequence, 9, &mut out);
        assert_eq!((out.len(), ring.len()), (3, 1));
        out.iter().for_each(|c| c.retire());
        assert_eq!(told.load(Ordering::Relaxed), 3);
        assert_eq!(ring.event::<()>(|| Err(())), Ok(2)); // recycled, the latest first
        assert_eq!(ring.events(), 4);
    }

    #[test]
    fn a_ring_that_is_looked_at_stays_small_on_a_device_that_keeps_up() {
        let sequence = Sequence::new();
        let (mut ring, mut out, mut looks) = (Ring::new(), Retired::new(), 0);
        for _ in 0..10_000 {
            if let Some((ticket, _)) = ring.worth_a_look() {
                looks += 1;
                sequence.observe(ticket); // everything is complete as soon as the driver is asked
                ring.looked();
            }
            ring.reap(&sequence, 4, &mut out);
            let event = ring.event::<()>(|| Ok(7u32)).unwrap();
            ring.push(sequence.issue(), Some(event), None);
        }
        assert!(ring.events() <= 2 * LOOK + 1, "{} events", ring.events());
        assert!(looks <= 10_000 / (LOOK / 2), "{looks} looks");
    }

    #[test]
    fn an_open_ticket_is_answered_for_by_the_next_record() {
        let sequence = Sequence::new();
        let mut ring = Ring::new();
        let open = sequence.issue();
        ring.push(open, None, None);
        assert_eq!(ring.answering(open), None);
        let next = sequence.issue();
        ring.push(next, Some(7u32), None);
        assert_eq!(ring.answering(open), Some((next, 7)));
    }
}
