//! The living allocations that a report names: those with a label, and large ones without.
//!
//! A small allocation without a label is not listed, so it costs one comparison. A dispatch on existing buffers never
//! comes here.

use crate::core::error::LivingBuffer;
use crate::core::process;
use crate::core::sync::{AtomicU64, Mutex, Ordering};
use std::collections::BTreeMap;

/// The least size in bytes of an allocation that is listed although it has no label.
const LARGE: u64 = 1 << 20;

/// The most allocations that an error names.
const MOST_NAMED: usize = 8;

/// Bytes and number of allocations.
pub(crate) type Share = (u64, u64);

/// The allocations that are listed.
#[derive(Debug)]
pub(crate) struct Ledger {
    rows: Mutex<Rows>,
    /// How often the bytes of a label have changed.
    version: AtomicU64,
    fork_generation: u32,
}

#[derive(Debug, Default)]
struct Rows {
    rows: Vec<Row>,
    holes: Vec<u32>,
}

/// An allocation. A hole has no bytes; no listed allocation is empty.
#[derive(Clone, Copy, Debug)]
struct Row {
    bytes: u64,
    label: Option<&'static str>,
}

impl Rows {
    fn living(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.bytes > 0)
    }

    /// A free row, and its number from 1.
    fn free(&mut self) -> Option<(u32, &mut Row)> {
        let place = match self.holes.pop() {
            Some(place) => place,
            None => {
                let place = u32::try_from(self.rows.len()).ok()?.checked_add(1)?;
                self.rows.push(Row { bytes: 0, label: None });
                place
            }
        };
        Some((place, self.rows.get_mut(place as usize - 1)?))
    }
}

impl Ledger {
    pub(super) fn new() -> Self {
        let rows = Mutex::default();
        Ledger { rows, version: AtomicU64::new(0), fork_generation: process::fork_generation() }
    }

    /// In a forked child the lock may be held for ever, by a thread that does not exist there.
    fn is_forked(&self) -> bool {
        process::forked_since(self.fork_generation)
    }

    /// Lists an allocation that was listed as number `before`, 0 for one that was not. Returns its number: 0 if it is not
    /// listed.
    pub(super) fn enter(&self, before: u32, bytes: u64, label: Option<&'static str>) -> u32 {
        let is_listed = bytes > 0 && (label.is_some() || bytes >= LARGE);
        if (before == 0 && !is_listed) || self.is_forked() {
            return before;
        }
        let mut rows = self.rows.lock();
        let old = self.vacate(&mut rows, before);
        let place = match is_listed.then(|| rows.free()).flatten() {
            Some((place, row)) => {
                *row = Row { bytes, label };
                place
            }
            None => 0,
        };
        self.changed(old.or(label.filter(|_| place > 0)));
        place
    }

    /// The allocation is gone.
    pub(super) fn leave(&self, place: u32) {
        if place == 0 || self.is_forked() {
            return;
        }
        let label = self.vacate(&mut self.rows.lock(), place);
        self.changed(label);
    }

    /// Makes a row a hole, and returns its label.
    fn vacate(&self, rows: &mut Rows, place: u32) -> Option<&'static str> {
        let row = rows.rows.get_mut((place as usize).checked_sub(1)?)?;
        let label = row.label;
        *row = Row { bytes: 0, label: None };
        rows.holes.push(place);
        label
    }

    fn changed(&self, label: Option<&'static str>) {
        if label.is_some() {
            self.version.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A number that differs if the bytes of a label may have changed; 0 if there was no label yet.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    /// The largest allocations, at most `most`, the largest first. Takes memory for these only.
    pub(crate) fn largest(&self, most: usize) -> Vec<LivingBuffer> {
        if self.is_forked() {
            return Vec::new();
        }
        let mut found: Vec<Row> = Vec::new();
        for row in self.rows.lock().living() {
            if found.len() == most && found.last().is_none_or(|least| least.bytes >= row.bytes) {
                continue;
            }
            let place = found.partition_point(|larger| larger.bytes >= row.bytes);
            found.truncate(most.saturating_sub(1));
            found.insert(place.min(found.len()), *row);
        }
        found.into_iter().map(|row| LivingBuffer { bytes: row.bytes, label: row.label.map(Into::into) }).collect()
    }

    /// Those that an error names.
    pub(super) fn named(&self) -> Box<[LivingBuffer]> {
        self.largest(MOST_NAMED).into()
    }

    /// What each label holds.
    pub(crate) fn by_label(&self) -> BTreeMap<&'static str, Share> {
        let mut shares = BTreeMap::<_, Share>::new();
        if self.is_forked() {
            return shares;
        }
        for row in self.rows.lock().living() {
            if let Some(label) = row.label {
                let share = shares.entry(label).or_default();
                *share = (share.0.saturating_add(row.bytes), share.1 + 1);
            }
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(ledger: &Ledger, most: usize) -> Vec<u64> {
        ledger.largest(most).iter().map(|one| one.bytes).collect()
    }

    #[test]
    fn labelled_and_large_ones_are_listed_and_rows_are_used_again() {
        let ledger = Ledger::new();
        assert_eq!(ledger.enter(0, 0, Some("nothing")), 0);
        assert_eq!(ledger.enter(0, LARGE - 1, None), 0);
        assert_eq!((ledger.version(), sizes(&ledger, 9)), (0, vec![]));
        let large = ledger.enter(0, LARGE, None);
        assert_eq!(ledger.version(), 0, "it has no label");
        let small = ledger.enter(0, 1, Some("x"));
        assert_eq!((sizes(&ledger, 9), ledger.by_label()), (vec![LARGE, 1], BTreeMap::from([("x", (1, 1))])));
        assert_eq!(ledger.version(), 1);
        // The same memory, under another name, and then under none: it is small.
        let other = ledger.enter(small, 1, Some("y"));
        assert_eq!((other, ledger.by_label()), (small, BTreeMap::from([("y", (1, 1))])));
        assert_eq!((ledger.enter(other, 1, None), ledger.version()), (0, 3));
        ledger.leave(large);
        ledger.leave(0);
        assert_eq!((sizes(&ledger, 9), ledger.by_label()), (vec![], BTreeMap::new()));
        let again = [ledger.enter(0, 5, Some("a")), ledger.enter(0, 6, Some("a"))];
        assert!(again.contains(&large) && again.contains(&small), "{again:?}");
        assert_eq!(ledger.by_label(), BTreeMap::from([("a", (11, 2))]));
    }

    #[test]
    fn the_largest_are_those_of_a_sort() {
        let ledger = Ledger::new();
        let all: Vec<u64> = (1..200u64).map(|n| n * 7919 % 211).collect();
        all.iter().for_each(|bytes| assert!(ledger.enter(0, *bytes, Some("x")) > 0 || *bytes == 0));
        let mut sorted: Vec<u64> = all.into_iter().filter(|bytes| *bytes > 0).collect();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        for most in [0, 1, 2, 8, 198, 500] {
            assert_eq!(sizes(&ledger, most), sorted[..most.min(sorted.len())], "{most}");
        }
        assert_eq!(ledger.named().len(), MOST_NAMED);
    }
}
