//! What a warp does with its chunks in shared memory.

use super::kernel::{Key, ROWS};
use crate::libraries::expressions::low::Lane;
use crate::libraries::expressions::ptx::body::{bits, memory};
use crate::libraries::expressions::ptx::writer::{Class, Reg, Writer, ptx};
use crate::libraries::reductions::folding::Program;
use crate::libraries::reductions::scans::kernel::word;
use crate::libraries::reductions::scans::levels::CHUNK;

/// Elements of a lane that are under way at once: in global memory, and in shared memory.
const LOADS: usize = 8;
const JOINS: usize = 4;

/// A type of what lies in shared memory.
pub(super) fn shared(class: Class) -> &'static str {
    match class {
        Class::Single => "f32",
        Class::Double => "f64",
        Class::Long => "b64",
        _ => "b32",
    }
}

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
        let size = if matches!(class, Class::Long | Class::Double) { 8 } else { 4 };
        let totals = size * ROWS * (CHUNK + 1);
        let targets = totals + size * ROWS;
        let sources = targets + 8 * ROWS;
        let counts = sources + 8 * ROWS;
        Room { size, totals, targets, sources, counts, bytes: counts + 4 * ROWS }
    }
}

/// The instructions of an element, and types.
pub(super) struct Programs {
    pub(super) element: Program,
    pub(super) join: Program,
    pub(super) finish: Program,
    pub(super) lane: Lane,
    pub(super) loaded: Lane,
    pub(super) written: Lane,
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
        let [row, at_place, at_count, own] = [(); 4].map(|()| writer.reg(Class::Word));
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
    pub(super) fn load(&self, writer: &mut Writer, room: &Room, thread: &Thread, programs: &Programs) {
        let step = word(writer, 6);
        let class = Class::for_lane(programs.lane);
        Self::each_row(writer, room, thread, (room.sources, step), &mut |writer, own, rows| {
            let values: Vec<Reg> = rows.iter().map(|_| writer.reg(Class::for_lane(programs.loaded))).collect();
            for ((at, there), value) in rows.iter().zip(&values) {
                ptx!(writer, "mov.{} {value}, 0", bits(programs.loaded));
                ptx!(writer, "@{there} ld.global.{} {value}, [{at}+0]", memory(programs.loaded));
            }
            for (k, ((_, there), value)) in rows.iter().zip(values).enumerate() {
                let value = if self.is_leaf { programs.element.run(writer, &[value]).unwrap_or(value) } else { value };
                let kept = writer.reg(class);
                ptx!(writer, "selp.{} {kept}, {value}, {}, {there}", bits(programs.lane), thread.identity);
                let to = k * room.size * (CHUNK + 1);
                ptx!(writer, "st.shared.{} [{own}+{to}], {kept}", shared(class));
            }
        });
    }

    /// From shared to global memory.
    pub(super) fn store(&self, writer: &mut Writer, room: &Room, thread: &Thread, programs: &Programs) {
        let step = word(writer, 5);
        let class = Class::for_lane(programs.lane);
        Self::each_row(writer, room, thread, (room.targets, step), &mut |writer, own, rows| {
            let values: Vec<Reg> = rows.iter().map(|_| writer.reg(class)).collect();
            for (k, value) in values.iter().enumerate() {
                let from = k * room.size * (CHUNK + 1);
                ptx!(writer, "ld.shared.{} {value}, [{own}+{from}]", shared(class));
            }
            for ((at, there), value) in rows.iter().zip(values) {
                let result = match self.is_leaf {
                    true => {
                        let result = writer.canonical(programs.lane, value);
                        programs.finish.run(writer, &[result]).unwrap_or(result)
                    }
                    false => value,
                };
                ptx!(writer, "@{there} st.global.{} [{at}+0], {result}", memory(programs.written));
            }
        });
    }

    /// Joins `count` values that lie one after the other in shared memory, from a value on.
    pub(super) fn fold(
        &self,
        writer: &mut Writer,
        programs: &Programs,
        from: Reg,
        (at, size): (Reg, usize),
        count: usize,
    ) -> Reg {
        let class = Class::for_lane(programs.lane);
        let own = writer.reg(class);
        let (place, end, more) = (writer.reg(Class::Word), writer.reg(Class::Word), writer.reg(Class::Predicate));
        ptx!(writer, "mov.{} {own}, {from}", bits(programs.lane));
        ptx!(writer, "mov.b32 {place}, {at}");
        ptx!(writer, "add.u32 {end}, {at}, {}", size * count);
        let again = writer.fresh_label();
        writer.label(&again);
        let values: Vec<Reg> = (0..JOINS).map(|_| writer.reg(class)).collect();
        for (k, value) in values.iter().enumerate() {
            ptx!(writer, "ld.shared.{} {value}, [{place}+{}]", shared(class), k * size);
        }
        for value in values {
            let joined = programs.join.run(writer, &[own, value]).unwrap_or(value);
            ptx!(writer, "mov.{} {own}, {joined}", bits(programs.lane));
        }
        ptx!(writer, "add.u32 {place}, {place}, {}", JOINS * size);
        ptx!(writer, "setp.lt.u32 {more}, {place}, {end}");
        ptx!(writer, "@{more} bra {again}");
        own
    }

    /// The total of the warp's group, in all lanes.
    pub(super) fn group(&self, writer: &mut Writer, programs: &Programs, room: &Room, thread: &Thread) -> Reg {
        let totals = writer.reg(Class::Word);
        ptx!(writer, "add.u32 {totals}, {}, {}", thread.base, room.totals);
        self.fold(writer, programs, thread.identity, (totals, room.size), ROWS)
    }

    /// Joins the totals of the groups of the warps before.
    pub(super) fn before_warp(
        &self,
        writer: &mut Writer,
        programs: &Programs,
        room: &Room,
        thread: &Thread,
        (warp, own): (Reg, Reg),
    ) {
        let all = self.group(writer, programs, room, thread);
        let (class, base, to) = (Class::for_lane(programs.lane), writer.reg(Class::Word), writer.reg(Class::Word));
        let groups = self.warps * room.bytes;
        ptx!(writer, "mov.u32 {base}, tile");
        ptx!(writer, "mad.lo.u32 {to}, {warp}, 8, {base}");
        let is_first = writer.reg(Class::Predicate);
        ptx!(writer, "setp.eq.u32 {is_first}, {}, 0", thread.lane);
        ptx!(writer, "@{is_first} st.shared.{} [{to}+{groups}], {all}", shared(class));
        ptx!(writer, "bar.sync 0");
        for k in 0..self.warps - 1 {
            let (value, is_before) = (writer.reg(class), writer.reg(Class::Predicate));
            ptx!(writer, "ld.shared.{} {value}, [{base}+{}]", shared(class), groups + 8 * k);
            ptx!(writer, "setp.gt.u32 {is_before}, {warp}, {k}");
            let joined = programs.join.run(writer, &[own, value]).unwrap_or(value);
            ptx!(writer, "selp.{} {own}, {joined}, {own}, {is_before}", bits(programs.lane));
        }
    }

    /// Joins the totals of the chunks of the line before the lane's.
    pub(super) fn before_chunk(
        &self,
        writer: &mut Writer,
        programs: &Programs,
        room: &Room,
        thread: &Thread,
        own: Reg,
    ) {
        let (class, rows) = (Class::for_lane(programs.lane), word(writer, 8));
        let [per_line, at, rest, place, done] = [(); 5].map(|()| writer.reg(Class::Word));
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
            ptx!(writer, "mov.{} {value}, {}", bits(programs.lane), thread.identity);
            ptx!(writer, "@{is_before} ld.shared.{} {value}, [{place}+{}]", shared(class), room.totals + k * room.size);
            all.push((is_before, value));
        }
        for (is_before, value) in all {
            let joined = programs.join.run(writer, &[own, value]).unwrap_or(value);
            ptx!(writer, "selp.{} {own}, {joined}, {own}, {is_before}", bits(programs.lane));
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
        programs: &Programs,
        room: &Room,
        row: Reg,
        own: Reg,
        exclusive: bool,
    ) {
        let class = Class::for_lane(programs.lane);
        let (place, end, more) = (writer.reg(Class::Word), writer.reg(Class::Word), writer.reg(Class::Predicate));
        ptx!(writer, "mov.b32 {place}, {row}");
        ptx!(writer, "add.u32 {end}, {row}, {}", room.size * CHUNK);
        let again = writer.fresh_label();
        writer.label(&again);
        let values: Vec<Reg> = (0..JOINS).map(|_| writer.reg(class)).collect();
        for (k, value) in values.iter().enumerate() {
            ptx!(writer, "ld.shared.{} {value}, [{place}+{}]", shared(class), k * room.size);
        }
        for (k, value) in values.into_iter().enumerate() {
            let joined = programs.join.run(writer, &[own, value]).unwrap_or(value);
            let result = if exclusive { own } else { joined };
            ptx!(writer, "st.shared.{} [{place}+{}], {result}", shared(class), k * room.size);
            ptx!(writer, "mov.{} {own}, {joined}", bits(programs.lane));
        }
        ptx!(writer, "add.u32 {place}, {place}, {}", JOINS * room.size);
        ptx!(writer, "setp.lt.u32 {more}, {place}, {end}");
        ptx!(writer, "@{more} bra {again}");
    }
}
