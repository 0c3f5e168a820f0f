//! Counts the operations that enter an epoch, and those that leave it.
//!
//! Operations leave in any order, so two counts do not tell whether all that entered before some moment have left. A
//! thread that needs to know this makes a *mark*: the number of operations that had entered by then. An operation that
//! entered after a mark reports to it when it leaves, so that the mark knows how many of those that left were not its
//! own.
//!
//! **Race "gone in before"**: an operation that enters after a mark must find it, but without a mark no operation
//! should pay for that. A thread that makes a mark first announces it (`marked`), and takes the mark's number by
//! *writing* the count of those that entered. An operation that enters later writes that count after it, with acquire
//! ordering, so it sees the announcement when it leaves. It reports to the marks first and is counted then, so every
//! operation that is counted has reported.
//!
//! The model checker runs this very file (`tests/loom/`).

use crate::core::sync::{Arc, AtomicU64, Mutex, Ordering};

/// The operations of one epoch. On CUDA the tickets of the slots are counted instead.
pub(crate) struct Flow {
    entered: AtomicU64,
    left: AtomicU64,
    /// How many marks exist.
    marked: AtomicU64,
    marks: Mutex<Vec<Arc<Tally>>>,
}

/// The counts of a mark.
struct Tally {
    /// How many operations had entered.
    before: u64,
    /// How many of those that entered later have left.
    later: AtomicU64,
}

/// All operations that had entered at some moment.
pub(crate) struct Mark {
    flow: Arc<Flow>,
    tally: Arc<Tally>,
}

impl Flow {
    pub(crate) fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Flow { entered: zero(), left: zero(), marked: zero(), marks: Mutex::new(Vec::new()) }
    }

    /// An operation enters, and gets its number.
    #[inline]
    pub(crate) fn enter(&self) -> u64 {
        self.entered.fetch_add(1, Ordering::Acquire)
    }

    /// The operation leaves.
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

    /// How many have entered.
    pub(crate) fn entered(&self) -> u64 {
        self.entered.load(Ordering::Relaxed)
    }

    /// How many have entered and not left.
    pub(crate) fn in_flight(&self) -> u64 {
        let left = self.left.load(Ordering::Acquire);
        self.entered().saturating_sub(left)
    }
}

impl Mark {
    /// A mark for all that have entered by now.
    pub(crate) fn new(flow: &Arc<Flow>) -> Self {
        let mut marks = flow.marks.lock();
        flow.marked.fetch_add(1, Ordering::Relaxed);
        let before = flow.entered.fetch_add(0, Ordering::AcqRel);
        let tally = Arc::new(Tally { before, later: AtomicU64::new(0) });
        marks.push(tally.clone());
        drop(marks);
        Mark { flow: flow.clone(), tally }
    }

    /// Whether all of them have left. Never true too soon. While other operations are leaving, it may become true late,
    /// or be false once more.
    pub(crate) fn is_past(&self) -> bool {
        // In this order: each operation counted here that entered after the mark has already reported.
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
        assert!(Mark::new(&flow).is_past());
        let (first, second) = (flow.enter(), flow.enter());
        let early = Mark::new(&flow);
        let third = flow.enter();
        let late = Mark::new(&flow);
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
        let (one, other) = (Mark::new(&flow), Mark::new(&flow));
        drop(one);
        assert_eq!((flow.marked.load(Ordering::Relaxed), flow.marks.lock().len()), (1, 1));
        drop(other);
        assert_eq!((flow.marked.load(Ordering::Relaxed), flow.marks.lock().len()), (0, 0));
    }
}
