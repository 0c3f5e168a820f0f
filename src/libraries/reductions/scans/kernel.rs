//! The kernels as PTX for `sm_70` and later, PTX 7.0: a thread has a chunk.
//!
//! One makes totals of chunks, of elements or of totals; one makes results, from what is before each chunk. A thread loads some
//! elements at once, and takes them one after the other.

use super::levels::CHUNK;
use crate::core::element::DType;
use crate::core::error::Result;
use crate::libraries::expressions::ptx::body::{bits, memory};
use crate::libraries::kernel::{Class, Grid, Index, Offsets, Parameter, Reg, Writer, ptx};
use crate::libraries::reductions::folding::{Folding, accumulator, begin};
use crate::libraries::reductions::kind::ReductionKind;

/// What a kernel makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Pass {
    /// The total of each chunk.
    Totals,
    /// The scan of each chunk.
    Results {
        exclusive: bool,
        /// Whether what is before a chunk is in memory; else there is one chunk.
        has_before: bool,
    },
}

/// What a kernel depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) kind: ReductionKind,
    /// Of the elements, or of the parts of complex ones.
    pub(super) dtype: DType,
    pub(super) pass: Pass,
    /// Whether elements are read, and not totals.
    pub(super) is_leaf: bool,
    /// Whether the first result of all is that of no element.
    pub(super) from_nothing: bool,
    /// The nested loops over chunks.
    pub(super) axes: usize,
}

/// Elements that are under way at once.
const AT_ONCE: usize = 4;
/// The layouts of a level: target, what is read, totals, first elements.
pub(super) const LAYOUTS: usize = 4;

/// The size of what totals are.
pub(super) fn total_size(kind: ReductionKind, dtype: DType) -> Result<usize> {
    Ok(accumulator(kind, dtype)?.size())
}

impl Key {
    /// The number of the word behind the addresses.
    pub(super) fn words(&self) -> usize {
        if matches!(self.pass, Pass::Results { has_before: true, .. }) { 4 } else { 3 }
    }

    /// The module. The arguments: tasks; the address of the target, of what is read, and of what is before each chunk if that is
    /// there; the length of the axis, the distances of neighbours in the target and in what is read, the first element of the first
    /// chunk; then for each axis of the loops the extent and the strides of the layouts. All in bytes but for first elements.
    pub(super) fn text(&self) -> Result<String> {
        let writer = &mut Writer::default();
        let is_empty = self.pass != Pass::Totals && self.from_nothing;
        let begin = begin(writer, self.kind, self.dtype, is_empty)?;
        let has_results = self.is_leaf && self.pass != Pass::Totals;
        let folding = Folding::new(writer, self.kind, self.dtype, (self.is_leaf, has_results))?;
        self.body(writer, &folding, begin);
        let words = self.words() + 4 + (1 + LAYOUTS) * self.axes;
        writer.module(&Parameter { words, written: 1, read: self.words() - 2 })
    }

    fn body(&self, writer: &mut Writer, folding: &Folding, begin: Reg) {
        let [tasks, target, source] = writer.words(0);
        let before = (self.words() == 4).then(|| writer.word(3, Class::Long));
        let [len, target_step, source_step, first] = writer.words(self.words());
        let grid = Grid::new(writer, Index::WIDE);
        grid.begin(writer, tasks);
        grid.each(writer);
        let loops = Offsets::new(writer, Index::WIDE, grid.task, self.axes, (self.words() + 4, LAYOUTS));
        let [to, from, total, begins] = loops.all(writer);
        let [to_at, from_at] = writer.regs(Class::Long);
        let to = if self.pass == Pass::Totals { total } else { to };
        ptx!(writer, "add.s64 {to_at}, {target}, {to}");
        ptx!(writer, "add.s64 {from_at}, {source}, {from}");
        ptx!(writer, "add.s64 {begins}, {begins}, {first}");
        let (left, count) = (writer.reg(Class::Long), writer.reg(Class::Word));
        ptx!(writer, "sub.u64 {left}, {len}, {begins}");
        ptx!(writer, "min.u64 {left}, {left}, {CHUNK}");
        ptx!(writer, "cvt.u32.u64 {count}, {left}");
        let own = match before {
            Some(before) => {
                let (own, at) = (writer.reg(folding.class()), writer.reg(Class::Long));
                ptx!(writer, "add.s64 {at}, {before}, {total}");
                ptx!(writer, "ld.global.{} {own}, [{at}+0]", memory(folding.lane));
                own
            }
            None => folding.copy(writer, begin),
        };
        self.chunk(writer, folding, (own, count), [(to_at, target_step), (from_at, source_step)]);
        if self.pass == Pass::Totals {
            ptx!(writer, "st.global.{} [{to_at}+0], {own}", memory(folding.lane));
        }
        grid.end(writer, tasks);
    }

    /// Takes the elements of a chunk.
    fn chunk(
        &self,
        writer: &mut Writer,
        folding: &Folding,
        (own, count): (Reg, Reg),
        [(to, to_step), (from, from_step)]: [(Reg, Reg); 2],
    ) {
        let done = writer.reg(Class::Word);
        ptx!(writer, "mov.b32 {done}, 0");
        let next = writer.fresh_label();
        writer.label(&next);
        let mut values = Vec::new();
        for k in 0..AT_ONCE {
            let (there, number) = (writer.reg(Class::Predicate), writer.reg(Class::Word));
            ptx!(writer, "add.u32 {number}, {done}, {k}");
            ptx!(writer, "setp.lt.u32 {there}, {number}, {count}");
            values.push((there, folding.load_if(writer, there, from, false)));
            ptx!(writer, "add.s64 {from}, {from}, {from_step}");
        }
        for (there, value) in values {
            let value = folding.element(writer, value);
            let joined = folding.joined(writer, own, value);
            if let Pass::Results { exclusive, .. } = self.pass {
                folding.store_if(writer, there, to, if exclusive { own } else { joined });
                ptx!(writer, "add.s64 {to}, {to}, {to_step}");
            }
            ptx!(writer, "selp.{} {own}, {joined}, {own}, {there}", bits(folding.lane));
        }
        let more = writer.reg(Class::Predicate);
        ptx!(writer, "add.u32 {done}, {done}, {AT_ONCE}");
        ptx!(writer, "setp.lt.u32 {more}, {done}, {count}");
        ptx!(writer, "@{more} bra {next}");
    }
}
