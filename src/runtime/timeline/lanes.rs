//! The thread of the file that shows each execution, so that no two slices of a thread overlap.
//!
//! A slot does one thing at a time. If its times overlap, the clocks are inexact, and the slice is shortened. An
//! operation without a slot is shown in the first lane that is free.

use std::collections::HashMap;

/// When the newest slice of a thread began and ended.
#[derive(Clone, Copy, Default)]
struct Newest {
    begin: u64,
    end: u64,
}

/// The threads of one device.
#[derive(Default)]
pub(super) struct Lanes(HashMap<u32, Newest>);

/// The first thread that is a lane; those below are slots.
const FIRST: u32 = 10_000;

/// The thread of a slot.
pub(super) fn of_slot(slot: usize) -> u32 {
    1 + u32::try_from(slot).unwrap_or(FIRST).min(FIRST - 2)
}

/// The name of a thread in the file.
pub(super) fn name(thread: u32) -> String {
    match thread.checked_sub(FIRST) {
        Some(lane) => format!("lane {lane}"),
        None => format!("slot {}", thread.saturating_sub(1)),
    }
}

impl Lanes {
    /// The earliest time at which a slot may have begun an operation that was submitted at `submitted`.
    pub(super) fn free_from(&self, thread: u32, submitted: u64) -> u64 {
        self.0.get(&thread).map_or(0, |newest| newest.end).max(submitted)
    }

    /// Adds a slice of a slot. Returns the part that does not overlap earlier slices.
    pub(super) fn on_slot(&mut self, thread: u32, (begin, end): (u64, u64)) -> (u64, u64) {
        let newest = self.0.entry(thread).or_default();
        if begin < newest.begin {
            return (begin, end.min(newest.begin)); // an earlier execution that was observed later
        }
        let begin = begin.max(newest.end);
        *newest = Newest { begin, end: end.max(begin) };
        (begin, newest.end)
    }

    /// Adds a slice to the first lane that is free, and returns that lane.
    pub(super) fn in_lane(&mut self, (begin, end): (u64, u64)) -> u32 {
        let is_free = |lane: &u32| self.0.get(lane).is_none_or(|newest| newest.end <= begin);
        let lane = (FIRST..).find(is_free).unwrap_or(FIRST);
        self.0.insert(lane, Newest { begin, end });
        lane
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_of_a_slot_do_not_overlap() {
        let mut lanes = Lanes::default();
        assert_eq!(lanes.on_slot(1, (10, 20)), (10, 20));
        assert_eq!(lanes.on_slot(1, (19, 30)), (20, 30), "the clocks are not that exact");
        assert_eq!(lanes.on_slot(1, (5, 22)), (5, 20), "seen after one that came later");
        assert_eq!(lanes.on_slot(1, (25, 28)), (30, 30));
        assert_eq!(lanes.on_slot(2, (5, 22)), (5, 22));
        assert_eq!((lanes.free_from(1, 7), lanes.free_from(1, 40), lanes.free_from(3, 7)), (30, 40, 7));
    }

    #[test]
    fn what_runs_side_by_side_has_lanes() {
        let mut lanes = Lanes::default();
        let (first, second) = (lanes.in_lane((0, 10)), lanes.in_lane((5, 15)));
        assert_ne!(first, second);
        assert_eq!(lanes.in_lane((10, 12)), first);
        assert_eq!((name(first), name(second), name(of_slot(3))), ("lane 0".into(), "lane 1".into(), "slot 3".into()));
    }
}
