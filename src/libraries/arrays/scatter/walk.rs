//! The kernel where few slices get many elements each: a warp for each element of the target. It finds the run of its slice in the
//! sorted numbers, and its lanes load some elements of it at once, into shared memory; there they are joined one after the other, in
//! their order. So the bits are those of the other kernel, and a run costs an addition for each element, not a way to memory.

use super::kernel::{Key, WORDS};
use crate::core::error::Result;
use crate::libraries::kernel::{Class, Grid, Index, Parameter, Reg, Writer, ptx};
use crate::libraries::reductions::ReductionKind;
use crate::libraries::reductions::folding::Folding;

/// Warps of a block.
const WARPS: u32 = 4;
/// Elements of a lane that are loaded at once.
const LOADS: usize = 4;
/// Those that are joined before it is asked whether there are more.
const JOINS: usize = 4;

/// Blocks and threads for so many elements of the target.
pub(super) fn blocks(all: usize) -> (u32, u32) {
    (all.div_ceil(WARPS as usize).min(1 << 20) as u32, 32 * WARPS)
}

/// Registers of a thread.
struct Work {
    lane: Reg,
    /// The warp's shared memory.
    base: Reg,
    keys: Reg,
    places: Reg,
    updates: Reg,
    width: Reg,
    count: Reg,
    column: Reg,
}

/// The number of the first of the sorted numbers that is not below `wanted`.
fn search(writer: &mut Writer, work: &Work, wanted: Reg) -> Reg {
    let [low, high, middle, key] = writer.regs(Class::Long);
    let [below, more] = writer.regs(Class::Predicate);
    ptx!(writer, "mov.b64 {low}, 0");
    ptx!(writer, "mov.b64 {high}, {}", work.count);
    let again = writer.fresh_label();
    writer.label(&again);
    // There is at least one number; all lanes take as many steps or one more.
    ptx!(writer, "add.u64 {middle}, {low}, {high}");
    ptx!(writer, "shr.u64 {middle}, {middle}, 1");
    ptx!(writer, "mad.lo.u64 {key}, {middle}, 8, {}", work.keys);
    ptx!(writer, "ld.global.u64 {key}, [{key}+0]");
    ptx!(writer, "setp.lt.u64 {below}, {key}, {wanted}");
    ptx!(writer, "@!{below} mov.b64 {high}, {middle}");
    ptx!(writer, "@{below} add.u64 {low}, {middle}, 1");
    ptx!(writer, "setp.lt.u64 {more}, {low}, {high}");
    ptx!(writer, "@{more} bra {again}");
    ptx!(writer, "bar.warp.sync 0xffffffff");
    low
}

impl Key {
    pub(super) fn walk(&self, kind: ReductionKind) -> Result<String> {
        let writer = &mut Writer::default();
        let folding = Folding::new(writer, kind, self.dtype, (true, true))?;
        let [all, target, result, keys, places, updates, width, slots, count] = writer.words(0);
        let [block, thread, lane, warp, grid, base] = writer.regs(Class::Word);
        ptx!(writer, "mov.u32 {block}, %ctaid.x");
        ptx!(writer, "mov.u32 {thread}, %tid.x");
        ptx!(writer, "mov.u32 {grid}, %nctaid.x");
        ptx!(writer, "and.b32 {lane}, {thread}, 31");
        ptx!(writer, "shr.u32 {warp}, {thread}, 5");
        ptx!(writer, "mov.u32 {base}, tile");
        ptx!(writer, "mad.lo.u32 {base}, {warp}, {}, {base}", 8 * 32 * LOADS);
        let grid = Grid::of(writer, Index::WIDE, [block, grid], warp, &WARPS);
        let ([slot, column], skip) = (writer.regs(Class::Long), writer.reg(Class::Predicate));
        grid.begin(writer, all);
        let (work, task) = (Work { lane, base, keys, places, updates, width, count, column }, grid.task);
        grid.each(writer);
        ptx!(writer, "div.u64 {slot}, {task}, {width}");
        ptx!(writer, "mul.lo.u64 {column}, {slot}, {width}");
        ptx!(writer, "sub.u64 {column}, {task}, {column}");
        Self::refuse(writer, &work, task, (slots, result));
        let (begin, end) = Self::run(writer, &work, slot);
        ptx!(writer, "setp.ge.u64 {skip}, {begin}, {end}");
        ptx!(writer, "@{skip} bra NEXT");
        let to = writer.reg(Class::Long);
        ptx!(writer, "mad.lo.u64 {to}, {task}, {}, {target}", self.dtype.size());
        let loaded = folding.load(writer, to);
        let own = folding.copy(writer, loaded);
        self.join_run(writer, &folding, &work, own, (begin, end));
        ptx!(writer, "setp.ne.u32 {skip}, {lane}, 0");
        ptx!(writer, "@{skip} bra NEXT");
        folding.store(writer, to, own);
        writer.label("NEXT");
        ptx!(writer, "bar.warp.sync 0xffffffff");
        grid.end(writer, all);
        writer.share(format_args!("tile"), 8, 8 * 32 * LOADS * WARPS as usize);
        writer.module(&Parameter { words: WORDS, written: 2, read: 3 })
    }

    /// The first task says which place is the first one out of range.
    fn refuse(writer: &mut Writer, work: &Work, task: Reg, (slots, result): (Reg, Reg)) {
        let (skip, label) = (writer.reg(Class::Predicate), writer.fresh_label());
        ptx!(writer, "setp.ne.u64 {skip}, {task}, 0");
        ptx!(writer, "@{skip} bra {label}");
        let first = search(writer, work, slots);
        let (place, is_first) = (writer.reg(Class::Long), writer.reg(Class::Predicate));
        ptx!(writer, "setp.lt.u64 {skip}, {first}, {}", work.count);
        ptx!(writer, "setp.eq.and.u32 {is_first}, {}, 0, {skip}", work.lane);
        ptx!(writer, "mad.lo.u64 {place}, {first}, 8, {}", work.places);
        ptx!(writer, "@{is_first} ld.global.u64 {place}, [{place}+0]");
        ptx!(writer, "not.b64 {place}, {place}");
        ptx!(writer, "@{is_first} red.global.max.u64 [{result}+0], {place}");
        writer.label(&label);
    }

    /// Where the run of a slice begins and ends: even lanes search the one, odd lanes the other.
    fn run(writer: &mut Writer, work: &Work, slot: Reg) -> (Reg, Reg) {
        let (odd, place, wanted) = (writer.reg(Class::Word), writer.reg(Class::Word), writer.reg(Class::Long));
        ptx!(writer, "and.b32 {odd}, {}, 1", work.lane);
        ptx!(writer, "cvt.u64.u32 {wanted}, {odd}");
        ptx!(writer, "add.u64 {wanted}, {wanted}, {slot}");
        let found = search(writer, work, wanted);
        ptx!(writer, "mad.lo.u32 {place}, {}, 8, {}", work.lane, work.base);
        ptx!(writer, "st.shared.b64 [{place}+0], {found}");
        ptx!(writer, "bar.warp.sync 0xffffffff");
        let (begin, end) = (writer.reg(Class::Long), writer.reg(Class::Long));
        ptx!(writer, "ld.shared.b64 {begin}, [{}+0]", work.base);
        ptx!(writer, "ld.shared.b64 {end}, [{}+8]", work.base);
        ptx!(writer, "bar.warp.sync 0xffffffff");
        (begin, end)
    }

    fn join_run(&self, writer: &mut Writer, folding: &Folding, work: &Work, own: Reg, (begin, end): (Reg, Reg)) {
        let [first, last, wide, number] = writer.regs(Class::Long);
        let more = writer.reg(Class::Predicate);
        ptx!(writer, "mov.b64 {first}, {begin}");
        ptx!(writer, "sub.u64 {last}, {end}, 1");
        ptx!(writer, "cvt.u64.u32 {wide}, {}", work.lane);
        let again = writer.fresh_label();
        writer.label(&again);
        let places: Vec<Reg> = (0..LOADS).map(|_| writer.reg(Class::Long)).collect();
        for (k, place) in places.iter().enumerate() {
            // Behind the end the last one is loaded again.
            ptx!(writer, "add.u64 {number}, {first}, {wide}");
            ptx!(writer, "add.u64 {number}, {number}, {}", 32 * k);
            ptx!(writer, "min.u64 {number}, {number}, {last}");
            ptx!(writer, "mad.lo.u64 {place}, {number}, 8, {}", work.places);
            ptx!(writer, "ld.global.u64 {place}, [{place}+0]");
        }
        for place in &places {
            ptx!(writer, "mad.lo.u64 {place}, {place}, {}, {}", work.width, work.column);
            ptx!(writer, "mad.lo.u64 {place}, {place}, {}, {}", self.dtype.size(), work.updates);
        }
        let values: Vec<Reg> = places.into_iter().map(|place| folding.load(writer, place)).collect();
        let (kind, size) = (own.class().bits(), own.class().size());
        let [to, from, left, count] = writer.regs(Class::Word);
        ptx!(writer, "mad.lo.u32 {to}, {}, {size}, {}", work.lane, work.base);
        for (k, value) in values.into_iter().enumerate() {
            ptx!(writer, "st.shared.{kind} [{to}+{}], {value}", 32 * size * k);
        }
        ptx!(writer, "bar.warp.sync 0xffffffff");
        ptx!(writer, "sub.u64 {number}, {end}, {first}");
        ptx!(writer, "min.u64 {number}, {number}, {}", 32 * LOADS);
        ptx!(writer, "cvt.u32.u64 {left}, {number}");
        ptx!(writer, "mov.b32 {count}, 0");
        ptx!(writer, "mov.b32 {from}, {}", work.base);
        let next = writer.fresh_label();
        writer.label(&next);
        let values: Vec<Reg> = (0..JOINS).map(|_| writer.reg(own.class())).collect();
        for (k, value) in values.iter().enumerate() {
            ptx!(writer, "ld.shared.{kind} {value}, [{from}+{}]", size * k);
        }
        let done = writer.fresh_label();
        for (k, value) in values.into_iter().enumerate() {
            let is_behind = writer.reg(Class::Predicate);
            ptx!(writer, "add.u32 {to}, {count}, {k}");
            ptx!(writer, "setp.ge.u32 {is_behind}, {to}, {left}");
            ptx!(writer, "@{is_behind} bra {done}");
            folding.join(writer, own, value);
        }
        ptx!(writer, "add.u32 {from}, {from}, {}", size * JOINS);
        ptx!(writer, "add.u32 {count}, {count}, {JOINS}");
        ptx!(writer, "setp.lt.u32 {more}, {count}, {left}");
        ptx!(writer, "@{more} bra {next}");
        writer.label(&done);
        ptx!(writer, "bar.warp.sync 0xffffffff");
        ptx!(writer, "add.u64 {first}, {first}, {}", 32 * LOADS);
        ptx!(writer, "setp.lt.u64 {more}, {first}, {end}");
        ptx!(writer, "@{more} bra {again}");
    }
}
