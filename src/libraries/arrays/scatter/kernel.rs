//! The kernel: a thread for each element of the slices. Those of the same slice follow each other in the sorted numbers: the thread
//! of the first one goes through them in their order, and if the last one alone counts, its thread writes.

use super::front::Combine;
use super::op::Put;
use super::walk;
use crate::core::element::DType;
use crate::core::error::Result;
use crate::engines::cuda::PlanBuilder;
use crate::engines::op::{Built, PlanKey};
use crate::libraries::arrays::loaded::{Loaded, load};
use crate::libraries::arrays::sort::kernel::{module, word};
use crate::libraries::expressions::ptx::writer::{Class, Reg, Writer, ptx};
use crate::libraries::reductions::folding::Folding;

const THREADS: u32 = 256;
const MOST_BLOCKS: usize = 1 << 20;
/// The words: elements of slices, or of the target where the kernel walks; target, result; numbers, places, elements; the width of a slice, the slices, the numbers.
pub(super) const WORDS: usize = 9;

/// Blocks and threads.
fn blocks(all: usize) -> (u32, u32) {
    (all.div_ceil(THREADS as usize).min(MOST_BLOCKS) as u32, THREADS)
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
        load(self.text()?, builder)
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
        let folding = self.combine.kind().map(|kind| Folding::new(writer, kind, self.dtype)).transpose()?;
        let (folding, helpers) = folding.map_or((None, String::new()), |(folding, helpers)| (Some(folding), helpers));
        let [all, target, result, keys, places, updates] = [0, 1, 2, 3, 4, 5].map(|at| word(writer, at));
        let [width, slots, count] = [6, 7, 8].map(|at| word(writer, at));
        let [block, threads, thread, grid] = [(); 4].map(|()| writer.reg(Class::Word));
        ptx!(writer, "mov.u32 {block}, %ctaid.x");
        ptx!(writer, "mov.u32 {threads}, %ntid.x");
        ptx!(writer, "mov.u32 {thread}, %tid.x");
        ptx!(writer, "mov.u32 {grid}, %nctaid.x");
        let [task, stride, number, column, key, to, at] = [(); 7].map(|()| writer.reg(Class::Long));
        ptx!(writer, "cvt.u64.u32 {at}, {thread}");
        ptx!(writer, "mul.wide.u32 {task}, {block}, {threads}");
        ptx!(writer, "add.u64 {task}, {task}, {at}");
        ptx!(writer, "mul.wide.u32 {stride}, {grid}, {threads}");
        let [beyond, again] = [(); 2].map(|()| writer.reg(Class::Predicate));
        ptx!(writer, "setp.ge.u64 {beyond}, {task}, {all}");
        ptx!(writer, "@{beyond} bra EXIT");
        writer.label("ELEMENT");
        ptx!(writer, "div.u64 {number}, {task}, {width}");
        ptx!(writer, "rem.u64 {column}, {task}, {width}");
        ptx!(writer, "mad.lo.u64 {at}, {number}, 8, {keys}");
        ptx!(writer, "ld.global.u64 {key}, [{at}+0]");
        ptx!(writer, "setp.lt.u64 {beyond}, {key}, {slots}");
        ptx!(writer, "@{beyond} bra INSIDE");
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
        ptx!(writer, "add.u64 {task}, {task}, {stride}");
        ptx!(writer, "setp.lt.u64 {again}, {task}, {all}");
        ptx!(writer, "@{again} bra ELEMENT");
        writer.label("EXIT");
        ptx!(writer, "ret");
        let text = module(WORDS, "written 1 to 3, read 3 to 6", "", std::mem::take(writer));
        Ok(text.replacen(".visible", &format!("{helpers}.visible"), 1))
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
        let (t, class, count) = match self.dtype.size() {
            1 => ("u8", Class::Word, 1),
            2 => ("u16", Class::Word, 1),
            4 => ("u32", Class::Word, 1),
            8 => ("u64", Class::Long, 1),
            _ => ("u64", Class::Long, 2),
        };
        for k in 0..count {
            let value = writer.reg(class);
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
