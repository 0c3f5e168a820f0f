//! The kernel as PTX for `sm_70` and later, PTX 7.0: see the folder's text.

use super::tile::{Room, Thread};
use crate::core::element::DType;
use crate::core::error::Result;
use crate::libraries::expressions::ptx::body::memory;
use crate::libraries::kernel::{Class, Index, Offsets, Parameter, Reg, Writer, ptx};
use crate::libraries::reductions::folding::{Folding, begin};
use crate::libraries::reductions::kind::ReductionKind;
use crate::libraries::reductions::scans::levels::CHUNK;

/// What is before a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Before {
    /// Nothing: there is one.
    Nothing,
    /// Groups of other warps of the block.
    Block,
    /// It is in memory.
    Memory,
}

/// What a kernel makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Pass {
    /// The total of each group.
    Totals,
    Results {
        exclusive: bool,
        before: Before,
    },
}

/// What a kernel depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::libraries::reductions::scans) struct Key {
    pub(super) kind: ReductionKind,
    /// Of the elements, or of the parts of complex ones.
    pub(super) dtype: DType,
    pub(super) pass: Pass,
    /// Whether elements are read, and not totals.
    pub(super) is_leaf: bool,
    /// Whether the first result of all is that of no element.
    pub(super) from_nothing: bool,
    /// The nested loops over lines.
    pub(super) axes: usize,
    /// Of a block.
    pub(super) warps: usize,
}

/// The elements of a group.
pub(super) const GROUP: usize = CHUNK * ROWS;
/// The chunks of a warp.
pub(super) const ROWS: usize = 32;
/// The layouts over lines: target, what is read.
pub(super) const LAYOUTS: usize = 2;
/// The words before the loops: lines; the addresses of the target, of what is read, and of totals or of what is before the groups; the
/// length of a line, the distances of neighbours in the target and in what is read; the groups of a line, the chunks of a line that
/// a warp has, its lines.
const WORDS: usize = 10;

impl Key {
    /// The threads of a block.
    pub(in crate::libraries::reductions::scans) fn threads(&self) -> u32 {
        32 * self.warps as u32
    }

    fn before(&self) -> Option<Before> {
        match self.pass {
            Pass::Totals => None,
            Pass::Results { before, .. } => Some(before),
        }
    }

    /// The module.
    pub(in crate::libraries::reductions::scans) fn text(&self) -> Result<String> {
        let writer = &mut Writer::default();
        let identity = begin(writer, self.kind, self.dtype, false)?;
        let first = if self.from_nothing { begin(writer, self.kind, self.dtype, true)? } else { identity };
        let has_results = self.is_leaf && self.pass != Pass::Totals;
        let folding = Folding::new(writer, self.kind, self.dtype, (self.is_leaf, has_results))?;
        let room = Room::new(folding.class());
        self.body(writer, &folding, &room, (identity, first));
        writer.share(format_args!("tile"), 16, self.warps * (room.bytes + 8));
        let read = if self.before() == Some(Before::Memory) { 2 } else { 1 };
        writer.module(&Parameter { words: WORDS + (1 + LAYOUTS) * self.axes, written: 1, read })
    }

    fn body(&self, writer: &mut Writer, folding: &Folding, room: &Room, (identity, begin): (Reg, Reg)) {
        let [number, lane, warp, block, base, row] = writer.regs(Class::Word);
        ptx!(writer, "mov.u32 {number}, %tid.x");
        ptx!(writer, "mov.u32 {block}, %ctaid.x");
        ptx!(writer, "and.b32 {lane}, {number}, 31");
        ptx!(writer, "shr.u32 {warp}, {number}, 5");
        ptx!(writer, "mov.u32 {base}, tile");
        ptx!(writer, "mad.lo.u32 {base}, {warp}, {}, {base}", room.bytes);
        ptx!(writer, "mad.lo.u32 {row}, {lane}, {}, {base}", room.size * (CHUNK + 1));
        let (task, wide) = (writer.reg(Class::Long), writer.reg(Class::Long));
        ptx!(writer, "mul.wide.u32 {task}, {block}, {}", self.warps);
        ptx!(writer, "cvt.u64.u32 {wide}, {warp}");
        ptx!(writer, "add.u64 {task}, {task}, {wide}");
        let thread = Thread { lane, base, identity };
        let is_task = self.place(writer, room, &thread, task);
        ptx!(writer, "bar.warp.sync 0xffffffff");
        self.load(writer, room, &thread, folding);
        ptx!(writer, "bar.warp.sync 0xffffffff");
        let total = self.fold(writer, folding, identity, (row, room.size), CHUNK);
        let own = writer.reg(Class::Word);
        ptx!(writer, "mad.lo.u32 {own}, {lane}, {}, {base}", room.size);
        ptx!(writer, "st.shared.{} [{own}+{}], {total}", folding.class().bits(), room.totals);
        ptx!(writer, "bar.warp.sync 0xffffffff");
        let Pass::Results { exclusive, before } = self.pass else {
            let all = self.group(writer, folding, room, &thread);
            let (is_first, to) = (writer.reg(Class::Predicate), writer.word(1, Class::Long));
            ptx!(writer, "setp.eq.and.u32 {is_first}, {lane}, 0, {is_task}");
            ptx!(writer, "mad.lo.u64 {to}, {task}, {}, {to}", folding.lane.size());
            ptx!(writer, "@{is_first} st.global.{} [{to}+0], {all}", memory(folding.lane));
            ptx!(writer, "ret");
            return;
        };
        let from = folding.copy(writer, begin);
        match before {
            Before::Nothing => {}
            Before::Memory => {
                let at = writer.word(3, Class::Long);
                ptx!(writer, "mad.lo.u64 {at}, {task}, {}, {at}", folding.lane.size());
                ptx!(writer, "@{is_task} ld.global.{} {from}, [{at}+0]", memory(folding.lane));
            }
            Before::Block => self.before_warp(writer, folding, room, &thread, (warp, from)),
        }
        self.before_chunk(writer, folding, room, &thread, from);
        self.scan(writer, folding, room, row, from, exclusive);
        ptx!(writer, "bar.warp.sync 0xffffffff");
        self.store(writer, room, &thread, folding);
        ptx!(writer, "ret");
    }

    /// Writes where the lane's chunk is and how many elements it has, and says whether the warp has a group.
    fn place(&self, writer: &mut Writer, room: &Room, thread: &Thread, task: Reg) -> Reg {
        let [lines, target, source, len, groups] = [0, 1, 2, 4, 7].map(|at| writer.word(at, Class::Long));
        let [to_step, from_step, long_rows, each] = [5, 6, 8, 9].map(|at| writer.word(at, Class::Long));
        let [line, group, chunk, first, left] = writer.regs(Class::Long);
        match self.before() {
            Some(Before::Nothing) => {
                ptx!(writer, "mul.lo.u64 {line}, {task}, {each}");
                ptx!(writer, "mov.b64 {group}, 0");
            }
            _ => {
                ptx!(writer, "div.u64 {line}, {task}, {groups}");
                ptx!(writer, "mul.lo.u64 {group}, {line}, {groups}");
                ptx!(writer, "sub.u64 {group}, {task}, {group}");
            }
        }
        let is_task = writer.reg(Class::Predicate);
        ptx!(writer, "setp.lt.u64 {is_task}, {line}, {lines}");
        let [per_line, lines_here, own, at, count] = writer.regs(Class::Word);
        ptx!(writer, "cvt.u32.u64 {per_line}, {long_rows}");
        ptx!(writer, "cvt.u32.u64 {lines_here}, {each}");
        ptx!(writer, "div.u32 {own}, {}, {per_line}", thread.lane);
        ptx!(writer, "mul.lo.u32 {at}, {own}, {per_line}");
        ptx!(writer, "sub.u32 {at}, {}, {at}", thread.lane);
        let (wide, is_there) = (writer.reg(Class::Long), writer.reg(Class::Predicate));
        ptx!(writer, "cvt.u64.u32 {wide}, {own}");
        ptx!(writer, "add.u64 {line}, {line}, {wide}");
        ptx!(writer, "cvt.u64.u32 {wide}, {at}");
        ptx!(writer, "mad.lo.u64 {chunk}, {group}, {ROWS}, {wide}");
        ptx!(writer, "mul.lo.u64 {first}, {chunk}, {CHUNK}");
        ptx!(writer, "setp.lt.u32 {is_there}, {own}, {lines_here}");
        ptx!(writer, "setp.lt.and.u64 {is_there}, {line}, {lines}, {is_there}");
        ptx!(writer, "setp.lt.and.u64 {is_there}, {first}, {len}, {is_there}");
        ptx!(writer, "sub.u64 {left}, {len}, {first}");
        ptx!(writer, "min.u64 {left}, {left}, {CHUNK}");
        ptx!(writer, "selp.b64 {left}, {left}, 0, {is_there}");
        ptx!(writer, "cvt.u32.u64 {count}, {left}");
        let loops = Offsets::new(writer, Index::WIDE, line, self.axes, (WORDS, LAYOUTS));
        let offsets: [Reg; LAYOUTS] = loops.all(writer);
        let place = writer.reg(Class::Word);
        ptx!(writer, "mad.lo.u32 {place}, {}, 8, {}", thread.lane, thread.base);
        for (offset, base, step, to) in
            [(offsets[0], target, to_step, room.targets), (offsets[1], source, from_step, room.sources)]
        {
            ptx!(writer, "mad.lo.s64 {offset}, {first}, {step}, {offset}");
            ptx!(writer, "add.s64 {offset}, {offset}, {base}");
            ptx!(writer, "st.shared.b64 [{place}+{to}], {offset}");
        }
        ptx!(writer, "mad.lo.u32 {place}, {}, 4, {}", thread.lane, thread.base);
        ptx!(writer, "st.shared.u32 [{place}+{}], {count}", room.counts);
        is_task
    }
}
