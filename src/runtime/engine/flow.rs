//! What went into a life of a device, and what has come out of it.
//!
//! Operations come out in any order, so two counts do not tell whether all that went in before some moment is out. Who
//! wants to know that leaves a *mark*: how many had gone in by then. What went in after a mark tells it when it comes
//! out, so that the mark knows how much of what came out was not its own.
//!
//! **Race "gone in before"**: what went in after a mark must find it, and with no mark nobody shall pay for that. Who
//! leaves one says first that there is one, and takes its number by *writing* the count of what went in. Whoever goes in
//! later writes that count after it, and acquires it: so he sees the word when he comes out. He tells the marks first and is
//! counted then: so whatever is counted was told.
//!
//! The model checker runs this very file (`tests/loom/`).

use crate::sync::{Arc, AtomicU64, Mutex, Ordering};

/// The operations of one life. On CUDA the tickets of the slots are counted instead.
pub(crate) struct Flow {
    entered: AtomicU64,
    left: AtomicU64,
    /// Marks that there are.
    marked: AtomicU64,
    marks: Mutex<Vec<Arc<Tally>>>,
}

/// What a mark knows.
struct Tally {
    /// So many had gone in.
    before: u64,
    /// So many of those that went in later are out.
    later: AtomicU64,
}

/// All that had gone in at some moment.
pub(crate) struct Mark {
    flow: Arc<Flow>,
    tally: Arc<Tally>,
}

impl Flow {
    pub(crate) fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Flow { entered: zero(), left: zero(), marked: zero(), marks: Mutex::new(Vec::new()) }
    }

    /// One goes in, and gets its number.
    #[inline]
    pub(crate) fn enter(&self) -> u64 {
        self.entered.fetch_add(1, Ordering::Acquire)
    }

    /// It comes out.
    #[inline]
    pub(crate) fn leave(&self, number: u64) {
        if self.marked.load(Ordering::Relaxed) > 0 {
            self.tell(number);
        }
        self.left.fetch_add(1, Ordering::Release);
    }

    #[cold]
    fn tell(&self, number: u64) {
        for tally in self.marks.lock().iter().filter(|tally| number >= tally.before) {
            tally.later.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// That went in.
    pub(crate) fn entered(&self) -> u64 {
        self.entered.load(Ordering::Relaxed)
    }

    /// That went in and are not out.
    pub(crate) fn in_flight(&self) -> u64 {
        let left = self.left.load(Ordering::Acquire);
        self.entered().saturating_sub(left)
    }
}

impl Mark {
    /// All that has gone in by now.
    pub(crate) fn of(flow: &Arc<Flow>) -> Self {
        let mut marks = flow.marks.lock();
        flow.marked.fetch_add(1, Ordering::Relaxed);
        let before = flow.entered.fetch_add(0, Ordering::AcqRel);
        let tally = Arc::new(Tally { before, later: AtomicU64::new(0) });
        marks.push(tally.clone());
        drop(marks);
        Mark { flow: flow.clone(), tally }
    }

    /// It is out, all of it. Never said too soon; while others come out at this very moment it may be said late, or be false once
    /// more.
    pub(crate) fn is_past(&self) -> bool {
        // In this order: of those that are counted, all that are not ours have been told.
        let left = self.flow.left.load(Ordering::Acquire);
        let later = self.tally.later.load(Ordering::Relaxed);
        left.saturating_sub(later) >= self.tally.before
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        self.flow.marks.lock().retain(|tally| !Arc::ptr_eq(tally, &self.tally));
        self.flow.marked.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_past_when_all_before_it_is_out_and_no_sooner() {
        let flow = Arc::new(Flow::new());
        assert!(Mark::of(&flow).is_past());
        let (first, second) = (flow.enter(), flow.enter());
        let early = Mark::of(&flow);
        let third = flow.enter();
        let late = Mark::of(&flow);
        flow.leave(third);
        flow.leave(flow.enter());
        assert!(!early.is_past() && !late.is_past() && flow.in_flight() == 2);
        flow.leave(second);
        assert!(!early.is_past() && !late.is_past());
        flow.leave(first);
        assert!(early.is_past() && late.is_past() && flow.in_flight() == 0);
        flow.enter();
        assert!(early.is_past() && late.is_past());
    }

    #[test]
    fn a_mark_that_is_gone_costs_nobody_anything() {
        let flow = Arc::new(Flow::new());
        flow.enter();
        let (one, other) = (Mark::of(&flow), Mark::of(&flow));
        drop(one);
        assert_eq!((flow.marked.load(Ordering::Relaxed), flow.marks.lock().len()), (1, 1));
        drop(other);
        assert_eq!((flow.marked.load(Ordering::Relaxed), flow.marks.lock().len()), (0, 0));
    }
}
