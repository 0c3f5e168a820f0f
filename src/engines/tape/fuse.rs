//! How two recorded operations become one: see `device/program/fuse.rs`, which decides which.

use super::Step;
use crate::core::sync::Arc;
use smallvec::SmallVec;

/// What the two operations have to do with each other. The operands' addresses do not tell it: those of a step that came from a
/// file have no meaning, and those of a step that was replayed are of memory that several temporaries may share in turn.
#[derive(Default)]
pub(crate) struct Link {
    /// For each operand that the second operation reads: which output of the first it is, if it is one.
    pub(crate) outputs: SmallVec<[Option<usize>; 8]>,
    /// For each operand that the first operation reads, and for each that the second one reads: the number of its memory. Equal
    /// numbers are the same bytes of the same memory.
    pub(crate) memory: [SmallVec<[usize; 8]>; 2],
}

/// The two as one step. It writes what the second one writes.
pub(crate) struct Fused {
    pub(crate) step: Arc<Step>,
    /// For each operand that it reads: whether the first operation read it (or else the second), and its number there.
    pub(crate) origins: SmallVec<[(bool, usize); 8]>,
}

/// Makes one step of an operation and of a later one, which alone reads what the earlier one writes. `None`: they stay two.
type Join = fn(&Step, &Step, &Link) -> Option<Fused>;

/// Whether an operation can take in an earlier one, and how: [`Op::FUSE`](crate::op::Op::FUSE).
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Fuse(pub(crate) Option<Join>);

impl Fuse {
    pub(crate) const NONE: Fuse = Fuse(None);
}
