//! Which bytes of a recording's memory have been written.

use super::plan::{Source, Use};
use super::tape::{Part, Written};

/// The parts of a piece that were written, as disjoint ranges of bytes.
type Parts = Vec<(u64, u64)>;

/// What was written of each piece of memory.
pub(super) struct Covered(Vec<Piece>);

struct Piece {
    bytes: u64,
    /// An input: replays may only read it.
    is_input: bool,
    /// `None`: all of it holds data before anything runs.
    written: Option<Parts>,
}

impl Covered {
    /// The state before anything runs: inputs and operands of a replay hold data, except those that the program
    /// overwrites completely.
    pub(super) fn of(written: &Written) -> Self {
        let pieces = written.pieces.iter().map(|piece| {
            let holds = match piece.part {
                Part::Temporary => false,
                Part::Input(_) => true,
                Part::Operand(index) => written.operands.get(index).is_some_and(|operand| !operand.fresh),
            };
            let is_input = matches!(piece.part, Part::Input(_));
            Piece { bytes: piece.bytes, is_input, written: if holds { None } else { Some(Vec::new()) } }
        });
        Covered(pieces.collect())
    }

    /// Whether the operand lies inside the piece, is not written if the piece is an input, and holds data wherever it
    /// is read.
    pub(super) fn admits(&self, piece: usize, one: &Use) -> bool {
        let Some(Piece { bytes, is_input, written }) = self.0.get(piece) else { return false };
        let inside = one.offset.checked_add(one.bytes).is_some_and(|end| end <= *bytes);
        let holds = |written: &Parts| written.iter().any(|&(from, to)| from <= one.offset && one.end() <= to);
        let good = one.overwrites || one.bytes == 0 || written.as_ref().is_none_or(holds);
        inside && good && !(one.writes && *is_input)
    }

    /// Notes that the operand was written.
    pub(super) fn note(&mut self, one: &Use) {
        let Source::Piece(piece) = one.source else { return };
        let Some(Piece { written: Some(written), .. }) = self.0.get_mut(piece) else { return };
        if !one.writes || one.bytes == 0 {
            return;
        }
        let (mut from, mut to) = (one.offset, one.end());
        written.retain(|&(start, end)| {
            let apart = end < from || to < start;
            if !apart {
                (from, to) = (from.min(start), to.max(end));
            }
            apart
        });
        written.push((from, to));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn use_of(from: u64, to: u64, how: (bool, bool)) -> Use {
        Use::of_piece(0, from, (to - from) as usize, how)
    }

    #[test]
    fn what_was_written_in_parts_may_be_read_where_they_meet() {
        let (reads, writes) = ((false, false), (true, true));
        let mut covered = Covered(vec![Piece { bytes: 16, is_input: false, written: Some(Vec::new()) }]);
        assert!(!covered.admits(0, &use_of(0, 1, reads)) && covered.admits(0, &use_of(0, 16, writes)));
        assert!(covered.admits(0, &use_of(3, 3, reads)), "nothing of it");
        for (from, to) in [(0, 4), (8, 12), (4, 8)] {
            covered.note(&use_of(from, to, writes));
        }
        assert!(covered.admits(0, &use_of(2, 12, reads)) && !covered.admits(0, &use_of(2, 13, reads)));
        assert!(covered.admits(0, &use_of(0, 12, (true, false))), "changed in place");
        assert!(!covered.admits(0, &use_of(8, 16, (true, false))), "changed where nothing is");
        assert!(!covered.admits(0, &use_of(8, 17, writes)) && !covered.admits(1, &use_of(0, 1, writes)), "outside");
        let beyond = Use::of_piece(0, u64::MAX, 2, writes);
        assert!(!covered.admits(0, &beyond));
        let input = Covered(vec![Piece { bytes: 8, is_input: true, written: None }]);
        assert!(input.admits(0, &use_of(0, 8, reads)) && !input.admits(0, &use_of(0, 8, writes)), "given to be read");
    }
}
