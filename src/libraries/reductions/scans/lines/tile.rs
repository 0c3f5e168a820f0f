//! What a warp does with its chunks in shared memory.

use super::kernel::{Key, ROWS};
use crate::libraries::expressions::ptx::body::bits;
use crate::libraries::kernel::{Class, Reg, Writer, ptx};
use crate::libraries::reductions::folding::Folding;
use crate::libraries::reductions::scans::levels::CHUNK;

/// Elements of a lane that are under way at once: in global memory, and in shared memory.
const LOADS: usize = 8;
const JOINS: usize = 4;

/// Where a warp's shared memory has what.
pub(super) struct Room {
    /// Of a value.
    pub(super) size: usize,
    pub(super) totals: usize,
    pub(super) targets: usize,
    pub(super) sources: usize,
    pub(super) counts: usize,
    pub(super) bytes: usize,
}

impl Room {
    pub(super) fn new(class: Class) -> Self {
        let size = class.size();
        let totals = size * ROWS * (CHUNK + 1);
        let targets = totals + size * ROWS;
        let sources = targets + 8 * ROWS;
        let counts = sources + 8 * ROWS;
        Room { size, totals, targets, sources, counts, bytes: counts + 4 * ROWS }
    }
}

/// Registers of a thread.
pub(super) struct Thread {
    pub(super) lane: Reg,
    /// The shared memory of the warp.
    pub(super) base: Reg,
    pub(super) identity: Reg,
}

/// What becomes of some rows: where the lane's value of the first one is in shared memory; of each, where its element is in global
/// memory, and whether it is there.
type Visit<'v> = &'v mut dyn FnMut(&mut Writer, Reg, &[(Reg, Reg)]);

impl Key {
    /// Goes through the warp's chunks, some at once.
    fn each_row(writer: &mut Writer, room: &Room, thread: &Thread, (places, step): (usize, Reg), visit: Visit<'_>) {
        let [row, at_place, at_count, own] = writer.regs(Class::Word);
        let (wide, far, more) = (writer.reg(Class::Long), writer.reg(Class::Long), writer.reg(Class::Predicate));
        ptx!(writer, "cvt.u64.u32 {wide}, {}", thread.lane);
        ptx!(writer, "mul.lo.s64 {far}, {wide}, {step}");
        ptx!(writer, "mov.b32 {row}, 0");
        ptx!(writer, "mov.b32 {at_place}, {}", thread.base);
        ptx!(writer, "mov.b32 {at_count}, {}", thread.base);
        // The lane's element in the first row.
        ptx!(writer, "mad.lo.u32 {own}, {}, {}, {}", thread.lane, room.size, thread.base);
        let again = writer.fresh_label();
        writer.label(&again);
        let mut all = Vec::new();
        for k in 0..LOADS {
            let (at, count, there) = (writer.reg(Class::Long), writer.reg(Class::Word), writer.reg(Class::Predicate));
            ptx!(writer, "ld.shared.b64 {at}, [{at_place}+{}]", places + 8 * k);
            ptx!(writer, "ld.shared.u32 {count}, [{at_count}+{}]", room.counts + 4 * k);
            ptx!(writer, "setp.lt.u32 {there}, {}, {count}", thread.lane);
            ptx!(writer, "add.s64 {at}, {at}, {far}");
            all.push((at, there));
        }
        visit(writer, own, &all);
        ptx!(writer, "add.u32 {row}, {row}, {LOADS}");
        ptx!(writer, "add.u32 {at_place}, {at_place}, {}", 8 * LOADS);
        ptx!(writer, "add.u32 {at_count}, {at_count}, {}", 4 * LOADS);
        ptx!(writer, "add.u32 {own}, {own}, {}", room.size * (CHUNK + 1) * LOADS);
        ptx!(writer, "setp.lt.u32 {more}, {row}, {ROWS}");
        ptx!(writer, "@{more} bra {again}");
    }

    /// From global to shared memory; where no element is, what changes nothing.
    pub(super) fn load(&self, writer: &mut Writer, room: &Room, thread: &Thread, folding: &Folding) {
        let step = writer.word(6, Class::Long);
        Self::each_row(writer, room, thread, (room.sources, step), &mut |writer, own, rows| {
            let load = |(at, there): &(Reg, Reg)| folding.load_if(writer, *there, *at, true);
            let values: Vec<Reg> = rows.iter().map(load).collect();
            for (k, ((_, there), value)) in rows.iter().zip(values).enumerate() {
                let (value, kept) = (folding.element(writer, value), writer.reg(folding.class()));
                ptx!(writer, "selp.{} {kept}, {value}, {}, {there}", bits(folding.lane), thread.identity);
                let to = k * room.size * (CHUNK + 1);
                ptx!(writer, "st.shared.{} [{own}+{to}], {kept}", folding.class().bits());
            }
        });
    }

    /// From shared to global memory.
    pub(super) fn store(&self, writer: &mut Writer, room: &Room, thread: &Thread, folding: &Folding) {
        let step = writer.word(5, Class::Long);
        Self::each_row(writer, room, thread, (room.targets, step), &mut |writer, own, rows| {
            let values = shared(writer, folding, (own, room.size * (CHUNK + 1)), rows.len());
            for ((at, there), value) in rows.iter().zip(values) {
                folding.store_if(writer, *there, *at, value);
            }
        });
    }

    /// Joins `count` values that lie one after the other in shared memory, from a value on.
    pub(super) fn fold(
        &self,
        writer: &mut Writer,
        folding: &Folding,
        from: Reg,
        (at, size): (Reg, usize),
        count: usize,
    ) -> Reg {
        let own = folding.copy(writer, from);
        let (place, end, more) = (writer.reg(Class::Word), writer.reg(Class::Word), writer.reg(Class::Predicate));
        ptx!(writer, "mov.b32 {place}, {at}");
        ptx!(writer, "add.u32 {end}, {at}, {}", size * count);
        let again = writer.fresh_label();
        writer.label(&again);
        for value in shared(writer, folding, (place, size), JOINS) {
            folding.join(writer, own, value);
        }
        ptx!(writer, "add.u32 {place}, {place}, {}", JOINS * size);
        ptx!(writer, "setp.lt.u32 {more}, {place}, {end}");
        ptx!(writer, "@{more} bra {again}");
        own
    }

    /// The total of the warp's group, in all lanes.
    pub(super) fn group(&self, writer: &mut Writer, folding: &Folding, room: &Room, thread: &Thread) -> Reg {
        let totals = writer.reg(Class::Word);
        ptx!(writer, "add.u32 {totals}, {}, {}", thread.base, room.totals);
        self.fold(writer, folding, thread.identity, (totals, room.size), ROWS)
    }

    /// Joins the totals of the groups of the warps before.
    pub(super) fn before_warp(
        &self,
        writer: &mut Writer,
        folding: &Folding,
        room: &Room,
        thread: &Thread,
        (warp, own): (Reg, Reg),
    ) {
        let all = self.group(writer, folding, room, thread);
        let (class, [base, to]) = (folding.class(), writer.regs(Class::Word));
        let groups = self.warps * room.bytes;
        ptx!(writer, "mov.u32 {base}, tile");
        ptx!(writer, "mad.lo.u32 {to}, {warp}, 8, {base}");
        let is_first = writer.reg(Class::Predicate);
        ptx!(writer, "setp.eq.u32 {is_first}, {}, 0", thread.lane);
        ptx!(writer, "@{is_first} st.shared.{} [{to}+{groups}], {all}", class.bits());
        ptx!(writer, "bar.sync 0");
        for k in 0..self.warps - 1 {
            let (value, is_before) = (writer.reg(class), writer.reg(Class::Predicate));
            ptx!(writer, "ld.shared.{} {value}, [{base}+{}]", class.bits(), groups + 8 * k);
            ptx!(writer, "setp.gt.u32 {is_before}, {warp}, {k}");
            folding.join_if(writer, is_before, own, value);
        }
    }

    /// Joins the totals of the chunks of the line before the lane's.
    pub(super) fn before_chunk(&self, writer: &mut Writer, folding: &Folding, room: &Room, thread: &Thread, own: Reg) {
        let (class, rows) = (folding.class(), writer.word(8, Class::Long));
        let [per_line, at, rest, place, done] = writer.regs(Class::Word);
        ptx!(writer, "cvt.u32.u64 {per_line}, {rows}");
        ptx!(writer, "rem.u32 {rest}, {}, {per_line}", thread.lane);
        ptx!(writer, "sub.u32 {at}, {}, {rest}", thread.lane);
        ptx!(writer, "mad.lo.u32 {place}, {at}, {}, {}", room.size, thread.base);
        ptx!(writer, "mov.b32 {done}, 0");
        let (again, more) = (writer.fresh_label(), writer.reg(Class::Predicate));
        writer.label(&again);
        let mut all = Vec::new();
        for k in 0..JOINS {
            let (number, is_before, value) = (writer.reg(Class::Word), writer.reg(Class::Predicate), writer.reg(class));
            ptx!(writer, "add.u32 {number}, {done}, {k}");
            ptx!(writer, "setp.lt.u32 {is_before}, {number}, {rest}");
            ptx!(writer, "mov.{} {value}, {}", bits(folding.lane), thread.identity);
            ptx!(writer, "@{is_before} ld.shared.{} {value}, [{place}+{}]", class.bits(), room.totals + k * room.size);
            all.push((is_before, value));
        }
        for (is_before, value) in all {
            folding.join_if(writer, is_before, own, value);
        }
        ptx!(writer, "add.u32 {done}, {done}, {JOINS}");
        ptx!(writer, "add.u32 {place}, {place}, {}", JOINS * room.size);
        ptx!(writer, "setp.lt.u32 {more}, {done}, {per_line}");
        ptx!(writer, "@{more} bra {again}");
    }

    /// Puts results in the places of the lane's elements.
    pub(super) fn scan(
        &self,
        writer: &mut Writer,
        folding: &Folding,
        room: &Room,
        row: Reg,
        own: Reg,
        exclusive: bool,
    ) {
        let (place, end, more) = (writer.reg(Class::Word), writer.reg(Class::Word), writer.reg(Class::Predicate));
        ptx!(writer, "mov.b32 {place}, {row}");
        ptx!(writer, "add.u32 {end}, {row}, {}", room.size * CHUNK);
        let again = writer.fresh_label();
        writer.label(&again);
        let values = shared(writer, folding, (place, room.size), JOINS);
        for (k, value) in values.into_iter().enumerate() {
            let joined = folding.joined(writer, own, value);
            let result = if exclusive { own } else { joined };
            ptx!(writer, "st.shared.{} [{place}+{}], {result}", folding.class().bits(), k * room.size);
            ptx!(writer, "mov.{} {own}, {joined}", bits(folding.lane));
        }
        ptx!(writer, "add.u32 {place}, {place}, {}", JOINS * room.size);
        ptx!(writer, "setp.lt.u32 {more}, {place}, {end}");
        ptx!(writer, "@{more} bra {again}");
    }
}

/// Loads values that lie at equal distances in shared memory.
fn shared(writer: &mut Writer, folding: &Folding, (at, distance): (Reg, usize), count: usize) -> Vec<Reg> {
    let class = folding.class();
    let one = |k: usize| {
        let value = writer.reg(class);
        ptx!(writer, "ld.shared.{} {value}, [{at}+{}]", class.bits(), k * distance);
        value
    };
    (0..count).map(one).collect()
}
