//! The kernel: a thread for each element of the slices. Those of the same slice follow each other in the sorted numbers: the thread
//! of the first one goes through them in their order, and if the last one alone counts, its thread writes.

use super::front::Combine;
use super::op::Put;
use super::walk;
use crate::core::element::DType;
use crate::core::error::Result;
use crate::engines::cuda::PlanBuilder;
use crate::engines::op::{Built, PlanKey};
use crate::libraries::kernel::{BLOCK, Class, Grid, Index, Loaded, Parameter, Reg, Writer, load, ptx, unsigned};
use crate::libraries::reductions::folding::Folding;

const MOST_BLOCKS: usize = 1 << 20;
/// The words: elements of slices, or of the target where the kernel walks; target, result; numbers, places, elements; the width of a slice, the slices, the numbers.
pub(super) const WORDS: usize = 9;

/// Blocks and threads.
fn blocks(all: usize) -> (u32, u32) {
    (all.div_ceil(BLOCK as usize).min(MOST_BLOCKS) as u32, BLOCK)
}

/// What the kernel depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// What is joined; of what is replaced, an unsigned type of the size.
    pub(super) dtype: DType,
    combine: Combine,
    /// Whether a warp goes through the run of each slice.
    walks: bool,
}

/// Elements for each slice from which on a warp goes through them.
const MANY: usize = 64;

impl Key {
    pub(super) fn new(put: &Put) -> Self {
        let dtype = if put.combine == Combine::Replace { DType::of_size(put.dtype.size()) } else { put.dtype };
        let walks = put.combine != Combine::Replace && put.slots > 0 && put.slots.saturating_mul(MANY) <= put.count;
        Key { dtype, combine: put.combine, walks }
    }

    /// The tasks of a launch, its blocks and its threads.
    pub(super) fn launch(&self, put: &Put) -> (usize, (u32, u32)) {
        if self.walks {
            let all = put.slots.saturating_mul(put.width);
            return (all, walk::blocks(all));
        }
        let all = put.count.saturating_mul(put.width);
        (all, blocks(all))
    }
}

impl PlanKey for Key {
    type Plan = Loaded;

    fn build(&self, builder: &mut PlanBuilder<'_>) -> Result<Built<Loaded>> {
        load(self.text()?, (), builder)
    }
}

/// The registers of a thread's work.
struct Work {
    keys: Reg,
    places: Reg,
    updates: Reg,
    width: Reg,
    count: Reg,
    /// The number in the sorted list, and the element of the slice.
    number: Reg,
    column: Reg,
    key: Reg,
    /// Where the target's element is.
    to: Reg,
}

impl Key {
    pub(super) fn text(&self) -> Result<String> {
        if let (true, Some(kind)) = (self.walks, self.combine.kind()) {
            return self.walk(kind);
        }
        let writer = &mut Writer::default();
        let folding =
            self.combine.kind().map(|kind| Folding::new(writer, kind, self.dtype, (true, true))).transpose()?;
        let [all, target, result, keys, places, updates, width, slots, count] = writer.words(0);
        let (grid, inside) = (Grid::new(writer, Index::WIDE), writer.reg(Class::Predicate));
        let [number, column, key, to, at] = writer.regs(Class::Long);
        grid.begin(writer, all);
        grid.each(writer);
        let task = grid.task;
        ptx!(writer, "div.u64 {number}, {task}, {width}");
        ptx!(writer, "rem.u64 {column}, {task}, {width}");
        ptx!(writer, "mad.lo.u64 {at}, {number}, 8, {keys}");
        ptx!(writer, "ld.global.u64 {key}, [{at}+0]");
        ptx!(writer, "setp.lt.u64 {inside}, {key}, {slots}");
        ptx!(writer, "@{inside} bra INSIDE");
        ptx!(writer, "mad.lo.u64 {at}, {number}, 8, {places}");
        ptx!(writer, "ld.global.u64 {at}, [{at}+0]");
        ptx!(writer, "not.b64 {at}, {at}");
        ptx!(writer, "red.global.max.u64 [{result}+0], {at}");
        ptx!(writer, "bra NEXT");
        writer.label("INSIDE");
        let size = self.dtype.size();
        ptx!(writer, "mad.lo.u64 {to}, {key}, {width}, {column}");
        ptx!(writer, "mad.lo.u64 {to}, {to}, {size}, {target}");
        let work = Work { keys, places, updates, width, count, number, column, key, to };
        match &folding {
            Some(folding) => self.join(writer, folding, &work),
            None => self.replace(writer, &work),
        }
        writer.label("NEXT");
        grid.end(writer, all);
        writer.module(&Parameter { words: WORDS, written: 2, read: 3 })
    }

    /// Goes on to `NEXT` if the neighbour of the number at `at` has the same key; `at` is inside.
    fn unless_alike(writer: &mut Writer, work: &Work, at: Reg) {
        let (other, alike) = (writer.reg(Class::Long), writer.reg(Class::Predicate));
        ptx!(writer, "mad.lo.u64 {other}, {at}, 8, {}", work.keys);
        ptx!(writer, "ld.global.u64 {other}, [{other}+0]");
        ptx!(writer, "setp.eq.u64 {alike}, {other}, {}", work.key);
        ptx!(writer, "@{alike} bra NEXT");
    }

    /// The address of the element of a sorted number.
    fn update(&self, writer: &mut Writer, work: &Work, number: Reg) -> Reg {
        let at = writer.reg(Class::Long);
        ptx!(writer, "mad.lo.u64 {at}, {number}, 8, {}", work.places);
        ptx!(writer, "ld.global.u64 {at}, [{at}+0]");
        ptx!(writer, "mad.lo.u64 {at}, {at}, {}, {}", work.width, work.column);
        ptx!(writer, "mad.lo.u64 {at}, {at}, {}, {}", self.dtype.size(), work.updates);
        at
    }

    fn replace(&self, writer: &mut Writer, work: &Work) {
        let (next, last) = (writer.reg(Class::Long), writer.reg(Class::Predicate));
        ptx!(writer, "add.u64 {next}, {}, 1", work.number);
        ptx!(writer, "setp.ge.u64 {last}, {next}, {}", work.count);
        ptx!(writer, "@{last} bra WRITE");
        Self::unless_alike(writer, work, next);
        writer.label("WRITE");
        let from = self.update(writer, work, work.number);
        let size = self.dtype.size();
        for k in 0..size.div_ceil(8) {
            let (t, value) = (unsigned(size), writer.reg(Class::for_size(size)));
            ptx!(writer, "ld.global.{t} {value}, [{from}+{}]", 8 * k);
            ptx!(writer, "st.global.{t} [{}+{}], {value}", work.to, 8 * k);
        }
    }

    fn join(&self, writer: &mut Writer, folding: &Folding, work: &Work) {
        let (before, first) = (writer.reg(Class::Long), writer.reg(Class::Predicate));
        ptx!(writer, "setp.eq.u64 {first}, {}, 0", work.number);
        ptx!(writer, "@{first} bra FIRST");
        ptx!(writer, "sub.u64 {before}, {}, 1", work.number);
        Self::unless_alike(writer, work, before);
        writer.label("FIRST");
        let loaded = folding.load(writer, work.to);
        let own = folding.copy(writer, loaded);
        let (at, other) = (writer.reg(Class::Long), writer.reg(Class::Long));
        ptx!(writer, "mov.b64 {at}, {}", work.number);
        writer.label("JOIN");
        let from = self.update(writer, work, at);
        let value = folding.load(writer, from);
        folding.join(writer, own, value);
        let more = writer.reg(Class::Predicate);
        ptx!(writer, "add.u64 {at}, {at}, 1");
        ptx!(writer, "setp.ge.u64 {more}, {at}, {}", work.count);
        ptx!(writer, "@{more} bra STORE");
        ptx!(writer, "mad.lo.u64 {other}, {at}, 8, {}", work.keys);
        ptx!(writer, "ld.global.u64 {other}, [{other}+0]");
        ptx!(writer, "setp.eq.u64 {more}, {other}, {}", work.key);
        ptx!(writer, "@{more} bra JOIN");
        writer.label("STORE");
        folding.store(writer, work.to, own);
    }
}
