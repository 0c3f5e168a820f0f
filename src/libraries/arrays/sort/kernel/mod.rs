//! The kernels as PTX for `sm_70` and later, PTX 7.0.
//!
//! [`Key::Block`] sorts a line of at most 4096 elements, or that many of a longer one, in shared memory. Longer lines are sorted
//! digit by digit, lowest first, by three kernels: [`Key::Count`] counts the digits of each block's part of a line,
//! [`Key::Spine`] sums these numbers over blocks, and [`Key::Scatter`] moves the elements to their places.

mod block;
mod count;
pub(in crate::libraries::arrays) mod keys;
mod scatter;
mod tile;

pub(super) use count::SPINE_WARPS;
pub(super) use tile::{DIGITS, Tile};

use super::order::Order;
use crate::core::error::Result;

/// Where numbers of elements come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Numbering {
    /// There are none.
    Nothing,
    /// An element's place in its line.
    Places,
    /// Memory, 4 bytes each.
    Loaded,
}

/// A kernel, and what it depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// Sorts tiles.
    Block {
        order: Order,
        tile: Tile,
        numbering: Numbering,
        /// Whether elements are written.
        values: bool,
        /// The bytes of a number that is written; 0 if none is.
        index: usize,
        axes: usize,
    },
    /// Counts digits.
    Count { order: Order, axes: usize },
    /// Sums them over the blocks of a line.
    Spine,
    /// Moves elements.
    Scatter { order: Order, numbering: Numbering, values: bool, index: usize, axes: usize },
}

/// The tile of the kernels for long lines.
pub(super) const fn long(size: usize) -> Tile {
    Tile { warps: 8, items: 16, size }
}

impl Key {
    pub(super) fn text(&self) -> Result<String> {
        match *self {
            Key::Block { .. } => block::text(self),
            Key::Count { order, axes } => count::count(order, axes),
            Key::Spine => count::spine(),
            Key::Scatter { .. } => scatter::text(self),
        }
    }
}
