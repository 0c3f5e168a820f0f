//! From a number to coordinates, and from these to addresses.

use super::{Class, Reg, Writer, ptx};
use crate::device::tensor::Layout;

/// The type of numbers and of distances.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Index {
    /// Whether it has 64 bits, not 32.
    pub(crate) is_wide: bool,
    pub(crate) class: Class,
    /// Its names in arithmetic without and with a sign, and where it is bits.
    pub(crate) u: &'static str,
    pub(crate) s: &'static str,
    pub(crate) b: &'static str,
}

impl Index {
    pub(crate) const WIDE: Index = Index::new(true);

    pub(crate) const fn new(is_wide: bool) -> Self {
        match is_wide {
            true => Index { is_wide, class: Class::Long, u: "u64", s: "s64", b: "b64" },
            false => Index { is_wide, class: Class::Word, u: "u32", s: "s32", b: "b32" },
        }
    }

    /// A signed number, 64 bits.
    pub(crate) fn long(self, writer: &mut Writer, number: Reg) -> Reg {
        if self.is_wide {
            return number;
        }
        let long = writer.reg(Class::Long);
        ptx!(writer, "cvt.s64.s32 {long}, {number}");
        long
    }

    /// An unsigned number times a constant, 64 bits.
    pub(crate) fn times(self, writer: &mut Writer, number: Reg, size: usize) -> Reg {
        let product = writer.reg(Class::Long);
        match self.is_wide {
            true => ptx!(writer, "mul.lo.u64 {product}, {number}, {size}"),
            false => ptx!(writer, "mul.wide.u32 {product}, {number}, {size}"),
        }
        product
    }

    /// The address of an element of this size, by its number.
    pub(crate) fn element(self, writer: &mut Writer, base: Reg, number: Reg, size: usize) -> Reg {
        let (offset, address) = (self.times(writer, number, size), writer.reg(Class::Long));
        ptx!(writer, "add.s64 {address}, {base}, {offset}");
        address
    }

    /// The coordinates of a number. The last one changes fastest; the first one takes what the others leave, whatever its extent is.
    pub(crate) fn coordinates(
        self,
        writer: &mut Writer,
        number: Reg,
        axes: usize,
        extent: &mut dyn FnMut(&mut Writer, usize) -> Reg,
    ) -> Vec<Reg> {
        let (mut coordinates, mut rest) = (Vec::with_capacity(axes), number);
        for axis in (1..axes).rev() {
            let extent = extent(writer, axis);
            let [coordinate, quotient] = writer.regs(self.class);
            ptx!(writer, "rem.{} {coordinate}, {rest}, {extent}", self.u);
            ptx!(writer, "div.{} {quotient}, {rest}, {extent}", self.u);
            coordinates.push(coordinate);
            rest = quotient;
        }
        if axes > 0 {
            coordinates.push(rest);
        }
        coordinates.reverse();
        coordinates
    }

    /// A base, and from there the way to coordinates.
    pub(crate) fn address(
        self,
        writer: &mut Writer,
        base: Reg,
        coordinates: &[Reg],
        stride: &mut dyn FnMut(&mut Writer, usize) -> Reg,
    ) -> Reg {
        let (address, mut sum) = (writer.reg(Class::Long), None);
        for (axis, coordinate) in coordinates.iter().enumerate() {
            let (stride, next) = (stride(writer, axis), writer.reg(self.class));
            match sum {
                None => ptx!(writer, "mul.lo.{} {next}, {coordinate}, {stride}", self.s),
                Some(sum) => ptx!(writer, "mad.lo.{} {next}, {coordinate}, {stride}, {sum}", self.s),
            }
            sum = Some(next);
        }
        match sum.map(|sum| self.long(writer, sum)) {
            Some(sum) => ptx!(writer, "add.s64 {address}, {base}, {sum}"),
            None => ptx!(writer, "mov.b64 {address}, {base}"),
        }
        address
    }
}

/// Where a task is in each operand, by its coordinates. The extents and strides are words of the parameter: for each axis its extent, then
/// the strides of the operands in bytes.
pub(crate) struct Offsets {
    index: Index,
    /// The word of the first axis, and the number of operands.
    first: usize,
    operands: usize,
    /// The axes, in the order in which their distances are added, and the coordinates.
    pub(crate) coordinates: Vec<(usize, Reg)>,
}

impl Offsets {
    /// Of the task of this number; the words begin at `first`.
    pub(crate) fn new(
        writer: &mut Writer,
        index: Index,
        number: Reg,
        axes: usize,
        (first, operands): (usize, usize),
    ) -> Self {
        let mut extent = |writer: &mut Writer, axis| writer.word(first + (1 + operands) * axis, index.class);
        let coordinates = index.coordinates(writer, number, axes, &mut extent);
        Offsets { index, first, operands, coordinates: coordinates.into_iter().enumerate().rev().collect() }
    }

    /// How far the task's element of an operand is from the first one, 64 bits.
    pub(crate) fn of(&self, writer: &mut Writer, operand: usize) -> Reg {
        let sum = writer.reg(self.index.class);
        ptx!(writer, "mov.{} {sum}, 0", self.index.b);
        for (axis, coordinate) in &self.coordinates {
            let stride = writer.word(self.first + (1 + self.operands) * axis + 1 + operand, self.index.class);
            ptx!(writer, "mad.lo.{} {sum}, {coordinate}, {stride}, {sum}", self.index.s);
        }
        self.index.long(writer, sum)
    }

    /// [`of`](Self::of) for each of the first operands.
    pub(crate) fn all<const N: usize>(&self, writer: &mut Writer) -> [Reg; N] {
        std::array::from_fn(|operand| self.of(writer, operand))
    }
}

/// Appends the words of [`Offsets`]: the layouts of the operands, and the sizes of their elements.
pub(crate) fn push_axes(words: &mut Vec<u64>, operands: &[(&Layout, usize)]) {
    for axis in 0..operands.first().map_or(0, |(layout, _)| layout.rank()) {
        let of = |all: &[isize]| all.get(axis).copied().unwrap_or(0);
        words.push(operands.first().and_then(|(layout, _)| layout.shape().get(axis)).copied().unwrap_or(1) as u64);
        words.extend(operands.iter().map(|(layout, size)| of(layout.strides()).wrapping_mul(*size as isize) as u64));
    }
}
