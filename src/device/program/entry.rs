//! What a recording is made of: pieces of memory, and operations on them.

use crate::core::element::DType;
use crate::core::sync::Arc;
use crate::core::trace::OpInfo;
use crate::engines::op::Facts;
use crate::engines::tape::Step;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// The alignment of every piece, in a recording and in its arena, in bytes.
pub(super) const ALIGN: u64 = 256;
/// Where the addresses of a recording begin: no real memory lies there. Its length is limited to as much, so no sum of its
/// sizes overflows.
pub(super) const FIRST: u64 = 1 << 62;

/// What holds an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(super) enum Source {
    Piece(usize),
    Captured(usize),
}

/// An operand of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Use {
    pub(super) source: Source,
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) writes: bool,
    /// The previous contents do not matter.
    pub(super) overwrites: bool,
}

impl Use {
    pub(super) fn of_piece(piece: usize, offset: u64, bytes: usize, (writes, overwrites): (bool, bool)) -> Self {
        Use { source: Source::Piece(piece), offset, bytes: bytes as u64, writes, overwrites }
    }

    pub(super) fn of_captured(index: usize, bytes: usize) -> Self {
        Use { source: Source::Captured(index), offset: 0, bytes: bytes as u64, writes: false, overwrites: false }
    }

    pub(super) fn end(&self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }

    pub(super) fn meets(&self, other: &Use) -> bool {
        self.offset < other.end() && other.offset < self.end()
    }

    pub(super) fn covers(&self, other: &Use) -> bool {
        self.offset <= other.offset && other.end() <= self.end()
    }
}

/// Memory that a recording has named.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub(super) base: u64,
    pub(super) bytes: u64,
    pub(super) part: Part,
}

/// What a piece is in each replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Part {
    Temporary,
    Input(usize),
    Operand(usize),
}

/// A buffer that each replay is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operand {
    pub(super) dtype: DType,
    pub(super) len: usize,
    /// Its previous contents are not needed: the program overwrites all of it.
    pub(super) fresh: bool,
}

/// One recorded op.
pub(super) struct Entry {
    pub(super) step: Arc<Step>,
    pub(super) info: OpInfo,
    pub(super) facts: &'static Facts,
    pub(super) uses: SmallVec<[Use; 4]>,
    /// The index of its answer.
    pub(super) answer: Option<usize>,
}
