//! Calls that are not yet known to be both enqueued and complete.

use super::event::PidTid;
use std::collections::BTreeMap;

/// A call.
#[derive(Clone, Copy)]
pub(super) struct Call {
    /// The thread that made the call.
    pub(super) place: PidTid,
    pub(super) at: u64,
    /// When the operation was enqueued, and whether by the thread that made the call. `None`: not yet known.
    pub(super) enqueued: Option<(u64, bool)>,
    /// When its slot was leased. Known only once the operation is complete.
    pub(super) over: Option<u64>,
}

/// Calls that are not yet known to be both enqueued and complete, by their numbers.
///
/// A call that never completes, such as one whose enqueue failed, is kept until [`MOST`] newer calls came.
#[derive(Default)]
pub(super) struct Calls(BTreeMap<u64, Call>);

/// The most calls that are remembered.
const MOST: usize = 1 << 16;

impl Calls {
    pub(super) fn begun(&mut self, number: u64, place: PidTid, at: u64) {
        if self.0.len() >= MOST {
            self.0.pop_first();
        }
        self.0.insert(number, Call { place, at, enqueued: None, over: None });
    }

    /// The operation was enqueued. Returns the call; removes it if the operation is already known to be complete.
    pub(super) fn enqueued(&mut self, number: u64, at: u64, place: PidTid) -> Option<Call> {
        let call = self.0.get_mut(&number)?;
        call.enqueued = Some((at, call.place == place));
        let known = *call;
        if known.over.is_some() {
            self.0.remove(&number);
        }
        Some(known)
    }

    /// The operation is complete, and its slot was leased at `leased`. Returns the call; removes it if it is known to
    /// be enqueued.
    pub(super) fn over(&mut self, number: u64, leased: u64) -> Option<Call> {
        let call = self.0.get_mut(&number)?;
        call.over = Some(leased);
        let known = *call;
        if known.enqueued.is_some() {
            self.0.remove(&number);
        }
        Some(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_forgotten_when_it_is_enqueued_and_over_in_either_order() {
        let mut calls = Calls::default();
        calls.begun(1, (1, 1), 10);
        calls.begun(2, (1, 1), 20);
        assert!(calls.enqueued(1, 15, (1, 1)).is_some_and(|call| call.over.is_none()));
        assert!(calls.over(1, 12).is_some_and(|call| call.enqueued == Some((15, true))));
        assert!(calls.over(2, 22).is_some_and(|call| call.enqueued.is_none()));
        assert!(calls.enqueued(2, 25, (1, 2)).is_some_and(|call| call.over == Some(22)));
        assert!(calls.0.is_empty() && calls.over(1, 30).is_none());
    }

    #[test]
    fn calls_that_came_to_nothing_are_not_kept_for_ever() {
        let mut calls = Calls::default();
        (0..MOST as u64 + 10).for_each(|number| calls.begun(number, (1, 1), number));
        assert_eq!(calls.0.len(), MOST);
        assert!(calls.enqueued(9, 0, (1, 1)).is_none() && calls.enqueued(10, 0, (1, 1)).is_some());
    }
}
