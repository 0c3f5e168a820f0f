//! Which bytes of a recording's memory have been written.

use super::entry::{Source, Use};
use std::collections::BTreeMap;

/// What was written of each piece of memory.
#[derive(Default)]
pub(super) struct Covered(Vec<Piece>);

struct Piece {
    bytes: u64,
    written: Parts,
}

/// The parts of a piece that were written: disjoint ranges of bytes that do not touch, each by its beginning.
#[derive(Default)]
struct Parts(BTreeMap<u64, u64>);

impl Parts {
    /// The last part that begins at or before `at`.
    fn before(&self, at: u64) -> Option<(u64, u64)> {
        self.0.range(..=at).next_back().map(|(&from, &to)| (from, to))
    }

    fn add(&mut self, mut from: u64, mut to: u64) {
        while let Some((start, end)) = self.before(to).filter(|&(_, end)| end >= from) {
            (from, to) = (from.min(start), to.max(end));
            self.0.remove(&start);
        }
        self.0.insert(from, to);
    }

    fn remove(&mut self, from: u64, to: u64) {
        let Some(last) = to.checked_sub(1) else { return };
        while let Some((start, end)) = self.before(last).filter(|&(_, end)| end > from) {
            self.0.remove(&start);
            if to < end {
                self.0.insert(to, end);
            }
            if start < from {
                self.0.insert(start, from);
            }
        }
    }
}

impl Covered {
    /// Memory that holds data before anything runs, all of it.
    pub(super) fn whole(pieces: impl Iterator<Item = u64>) -> Self {
        let mut all = Covered::default();
        pieces.for_each(|bytes| all.add(bytes, true));
        all
    }

    /// Adds a piece.
    pub(super) fn add(&mut self, bytes: u64, is_written: bool) {
        let mut written = Parts::default();
        if is_written && bytes > 0 {
            written.add(0, bytes);
        }
        self.0.push(Piece { bytes, written });
    }

    /// Whether this part of the piece was written.
    pub(super) fn holds(&self, piece: usize, from: u64, to: u64) -> bool {
        let written = self.0.get(piece).map(|piece| &piece.written);
        from >= to || written.and_then(|written| written.before(from)).is_some_and(|(_, end)| to <= end)
    }

    /// Notes that the operand was written.
    pub(super) fn note(&mut self, one: &Use) {
        if let Some((written, from, to)) = self.part(one) {
            written.add(from, to);
        }
    }

    /// Notes that the operand holds nothing that may be read.
    pub(super) fn forget(&mut self, one: &Use) {
        if let Some((written, from, to)) = self.part(one) {
            written.remove(from, to);
        }
    }

    fn part(&mut self, one: &Use) -> Option<(&mut Parts, u64, u64)> {
        let Source::Piece(piece) = one.source else { return None };
        let piece = self.0.get_mut(piece)?;
        let (from, to) = (one.offset, one.end().min(piece.bytes));
        (from < to).then_some((&mut piece.written, from, to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn use_of(from: u64, to: u64) -> Use {
        Use::of_piece(0, from, (to - from) as usize, (true, true))
    }

    #[test]
    fn what_was_written_in_parts_may_be_read_where_they_meet() {
        let mut covered = Covered::default();
        covered.add(16, false);
        assert!(!covered.holds(0, 0, 1) && covered.holds(0, 3, 3), "nothing of it");
        for (from, to) in [(0, 4), (8, 12), (4, 8)] {
            covered.note(&use_of(from, to));
        }
        assert!(covered.holds(0, 2, 12) && covered.holds(0, 0, 12));
        assert!(!covered.holds(0, 2, 13) && !covered.holds(0, 8, 16) && !covered.holds(1, 0, 1));
        assert!(Covered::whole([16].into_iter()).holds(0, 0, 16));
    }

    /// Against a model with a flag for each byte.
    #[test]
    fn parts_are_what_their_bytes_say() {
        let mut state = 7u64;
        let mut next = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..300 {
            let (mut covered, mut model) = (Covered::default(), [false; 24]);
            covered.add(24, false);
            for _ in 0..30 {
                let (a, b) = (next(25), next(25));
                let (from, to) = (a.min(b), a.max(b));
                let writes = next(3) > 0;
                match writes {
                    true => covered.note(&use_of(from, to)),
                    false => covered.forget(&use_of(from, to)),
                }
                model[from as usize..to as usize].fill(writes);
                let (a, b) = (next(25), next(25));
                let (from, to) = (a.min(b), a.max(b));
                assert_eq!(covered.holds(0, from, to), model[from as usize..to as usize].iter().all(|one| *one));
            }
        }
    }
}
