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
use crate::libraries::expressions::ptx::writer::{Class, Reg, Writer, ptx};

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
    pub(super) fn text(&self) -> String {
        match *self {
            Key::Block { .. } => block::text(self),
            Key::Count { order, axes } => count::count(order, axes),
            Key::Spine => count::spine(),
            Key::Scatter { .. } => scatter::text(self),
        }
    }
}

/// A module of one kernel. `about` says which words of the arguments are addresses.
pub(in crate::libraries::arrays) fn module(words: usize, about: &str, shared: &str, writer: Writer) -> String {
    let body = writer.finish();
    format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry expression(.param .align 8 .b8 args[{}])\n{{\n\
         // {about}\n{shared}{body}}}\n",
        8 * words
    )
}

/// Reads a word of the arguments.
pub(in crate::libraries::arrays) fn word(writer: &mut Writer, at: usize) -> Reg {
    let register = writer.reg(Class::Long);
    ptx!(writer, "ld.param.u64 {register}, [args+{}]", 8 * at);
    register
}

/// Where a line is in each of `ports` operands, in bytes. Each axis has, from word `first` on, its extent and its strides.
pub(in crate::libraries::arrays) fn offsets(
    writer: &mut Writer,
    line: Reg,
    axes: usize,
    first: usize,
    ports: usize,
) -> Vec<Reg> {
    let mut coordinates = Vec::new();
    let mut rest = line;
    for axis in (1..axes).rev() {
        let extent = word(writer, first + (1 + ports) * axis);
        let [coordinate, quotient] = [(); 2].map(|()| writer.reg(Class::Long));
        ptx!(writer, "rem.u64 {coordinate}, {rest}, {extent}");
        ptx!(writer, "div.u64 {quotient}, {rest}, {extent}");
        coordinates.push((axis, coordinate));
        rest = quotient;
    }
    if axes > 0 {
        coordinates.push((0, rest));
    }
    let sum_of = |port: usize| {
        let sum = writer.reg(Class::Long);
        ptx!(writer, "mov.b64 {sum}, 0");
        for (axis, coordinate) in &coordinates {
            let stride = word(writer, first + (1 + ports) * axis + 1 + port);
            ptx!(writer, "mad.lo.s64 {sum}, {coordinate}, {stride}, {sum}");
        }
        sum
    };
    (0..ports).map(sum_of).collect()
}
