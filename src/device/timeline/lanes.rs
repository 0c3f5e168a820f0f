//! The thread of the file that shows each execution, so that no two slices of a thread overlap.
//!
//! A slot does one thing at a time. If its times overlap, the clocks are inexact, and the slice is shortened. An
//! operation without a slot is shown in the first lane that is free.

use std::collections::{BTreeMap, HashMap};

/// The last slices of a thread: the end of each by its beginning. They do not overlap. Completions may be observed in
/// any order, so it is not enough to know the newest.
#[derive(Default)]
struct Slices {
    ends: BTreeMap<u64, u64>,
    /// Before this, slices may exist that are no longer known.
    known_from: u64,
}

/// The number of slices of a thread that are known. An execution that is observed after so many later ones is shown
/// after those that were forgotten.
const KNOWN: usize = 64;

/// The threads of one device.
#[derive(Default)]
pub(super) struct Lanes(HashMap<u32, Slices>);

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

impl Slices {
    /// The end of the last slice.
    fn end(&self) -> u64 {
        self.ends.last_key_value().map_or(self.known_from, |(_, end)| *end)
    }

    /// Adds a slice. Returns the part that overlaps no other: it may be empty.
    fn add(&mut self, (begin, end): (u64, u64)) -> (u64, u64) {
        let before = self.ends.range(..=begin).next_back().map_or(0, |(_, end)| *end);
        let begin = begin.max(before).max(self.known_from);
        let after = self.ends.range(begin..).map(|(next, _)| *next).next().unwrap_or(u64::MAX);
        let end = end.min(after).max(begin);
        if end > begin {
            self.ends.insert(begin, end);
        }
        while self.ends.len() > KNOWN {
            let Some((_, end)) = self.ends.pop_first() else { break };
            self.known_from = end;
        }
        (begin, end)
    }
}

impl Lanes {
    /// The earliest time at which a slot may have begun an operation that was submitted at `submitted`.
    pub(super) fn free_from(&self, thread: u32, submitted: u64) -> u64 {
        self.0.get(&thread).map_or(0, Slices::end).max(submitted)
    }

    /// Adds a slice of a slot. Returns the part that does not overlap earlier slices.
    pub(super) fn on_slot(&mut self, thread: u32, slice: (u64, u64)) -> (u64, u64) {
        self.0.entry(thread).or_default().add(slice)
    }

    /// Adds a slice to the first lane that is free, and returns that lane.
    pub(super) fn in_lane(&mut self, slice: (u64, u64)) -> u32 {
        let is_free = |lane: &u32| self.0.get(lane).is_none_or(|slices| slices.end() <= slice.0);
        let lane = (FIRST..).find(is_free).unwrap_or(FIRST);
        self.0.entry(lane).or_default().add(slice);
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
        assert_eq!(lanes.on_slot(1, (5, 22)), (5, 10), "seen after one that came later");
        assert_eq!(lanes.on_slot(1, (25, 28)), (30, 30));
        assert_eq!(lanes.on_slot(2, (5, 22)), (5, 22));
        assert_eq!((lanes.free_from(1, 7), lanes.free_from(1, 40), lanes.free_from(3, 7)), (30, 40, 7));
    }

    #[test]
    fn completions_are_observed_in_any_order() {
        // By a generator of fixed numbers: slices of one slot that overlap a little, in an order that is not theirs.
        let mut lanes = Lanes::default();
        let mut seed = 1u64;
        let mut next = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let mut shown = Vec::new();
        for number in 0..1000u64 {
            let begin = 100 * (number + next(20));
            shown.push(lanes.on_slot(1, (begin, begin + 90 + next(40))));
        }
        assert!(shown.iter().filter(|(begin, end)| begin < end).count() > 500);
        shown.retain(|(begin, end)| begin < end);
        shown.sort_unstable();
        for pair in shown.windows(2) {
            assert!(pair[0].1 <= pair[1].0, "{pair:?} overlap");
        }
        assert!(lanes.0[&1].ends.len() <= KNOWN);
    }

    #[test]
    fn two_that_are_observed_late_do_not_overlap() {
        let mut lanes = Lanes::default();
        assert_eq!(lanes.on_slot(1, (20, 30)), (20, 30));
        assert_eq!(lanes.on_slot(1, (8, 10)), (8, 10));
        assert_eq!(lanes.on_slot(1, (9, 11)), (10, 11));
        assert_eq!(lanes.on_slot(1, (7, 9)), (7, 8));
        assert_eq!(lanes.on_slot(1, (18, 22)), (18, 20));
        assert_eq!(lanes.free_from(1, 0), 30);
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
