//! Lines that fit the shared memory of a block.

use super::Key;
use crate::core::error::Result;
use crate::libraries::kernel::{Class, Index, Offsets, Parameter, Reg, Writer, ptx, unsigned};

/// The words before those of the axes: rows; where elements and numbers are written; where elements and numbers are read; the
/// length of a line, its tiles, how many are kept of each; the steps along the three.
pub(in crate::libraries::arrays::sort) const WORDS: usize = 11;
/// What each axis has strides of: elements read, elements written, numbers written, numbers read.
pub(in crate::libraries::arrays::sort) const PORTS: usize = 4;

pub(super) fn text(key: &Key) -> Result<String> {
    let Key::Block { order, tile, numbering, values, index, axes } = *key else { return Ok(String::new()) };
    let writer = &mut Writer::default();
    let [rows, to, to_index, from, from_index, len, tiles, keep, step, to_step, index_step] = writer.words(0);
    let thread = tile.thread(writer);
    let (block, grid) = (writer.reg(Class::Word), writer.reg(Class::Word));
    let [row, line, part, begin, end] = writer.regs(Class::Long);
    let [count, kept] = writer.regs(Class::Word);
    let [beyond, again] = writer.regs(Class::Predicate);
    ptx!(writer, "mov.u32 {block}, %ctaid.x");
    ptx!(writer, "cvt.u64.u32 {row}, {block}");
    ptx!(writer, "setp.ge.u64 {beyond}, {row}, {rows}");
    ptx!(writer, "@{beyond} bra EXIT");
    writer.label("LINE");
    ptx!(writer, "div.u64 {line}, {row}, {tiles}");
    ptx!(writer, "rem.u64 {part}, {row}, {tiles}");
    ptx!(writer, "mul.lo.u64 {begin}, {part}, {}", tile.len());
    ptx!(writer, "sub.u64 {end}, {len}, {begin}");
    ptx!(writer, "min.u64 {end}, {end}, {}", tile.len());
    ptx!(writer, "cvt.u32.u64 {count}, {end}");
    ptx!(writer, "min.u64 {end}, {end}, {keep}");
    ptx!(writer, "cvt.u32.u64 {kept}, {end}");
    let offsets: [Reg; PORTS] = Offsets::new(writer, Index::WIDE, line, axes, (WORDS, PORTS)).all(writer);
    let bases = [from, to, to_index, from_index];
    let [from, to, to_index, from_index] = writer.regs(Class::Long);
    for ((place, base), offset) in [from, to, to_index, from_index].into_iter().zip(bases).zip(offsets) {
        ptx!(writer, "add.s64 {place}, {base}, {offset}");
    }
    ptx!(writer, "mad.lo.s64 {from}, {begin}, {step}, {from}");
    let elements = tile.load(writer, thread, (from, order.size), step, count);
    let numbers = tile.numbers(writer, thread, numbering, (from_index, begin), count);
    let shift = writer.reg(Class::Word);
    ptx!(writer, "mov.b32 {shift}, 0");
    writer.label("PASS");
    let digits = tile.digits(writer, thread, (order, shift), &elements, count);
    tile.clear(writer, thread);
    let ranked = tile.rank(writer, thread, &digits);
    tile.begins(writer, thread);
    let positions = tile.positions(writer, &ranked);
    tile.exchange(writer, thread, (&elements, order.size), &positions, (thread.first, 32));
    tile.wait(writer);
    if !numbers.is_empty() {
        tile.exchange(writer, thread, (&numbers, 4), &positions, (thread.first, 32));
        tile.wait(writer);
    }
    if order.passes > 1 {
        ptx!(writer, "add.u32 {shift}, {shift}, 8");
        ptx!(writer, "setp.lt.u32 {again}, {shift}, {}", 8 * order.passes);
        ptx!(writer, "@{again} bra PASS");
    }
    ptx!(writer, "mul.lo.u64 {part}, {part}, {keep}");
    if values {
        ptx!(writer, "mad.lo.s64 {to}, {part}, {to_step}, {to}");
        store(writer, (thread.first, kept), (to, to_step), unsigned(order.size), &elements);
    }
    if index > 0 {
        ptx!(writer, "mad.lo.s64 {to_index}, {part}, {index_step}, {to_index}");
        let numbers: Vec<Reg> = match index {
            4 => numbers,
            _ => numbers.iter().map(|number| wide(writer, *number)).collect(),
        };
        store(writer, (thread.first, kept), (to_index, index_step), unsigned(index), &numbers);
    }
    ptx!(writer, "mov.u32 {grid}, %nctaid.x");
    ptx!(writer, "cvt.u64.u32 {end}, {grid}");
    ptx!(writer, "add.u64 {row}, {row}, {end}");
    ptx!(writer, "setp.lt.u64 {again}, {row}, {rows}");
    ptx!(writer, "@{again} bra LINE");
    writer.label("EXIT");
    ptx!(writer, "ret");
    tile.share(writer);
    writer.module(&Parameter { words: WORDS + (1 + PORTS) * axes, written: 2, read: 2 })
}

/// A number in 64 bits.
pub(super) fn wide(writer: &mut Writer, number: Reg) -> Reg {
    let wide = writer.reg(Class::Long);
    ptx!(writer, "cvt.u64.u32 {wide}, {number}");
    wide
}

/// Writes the elements of a thread whose places are below `kept`.
fn store(writer: &mut Writer, (first, kept): (Reg, Reg), (to, step): (Reg, Reg), memory: &str, values: &[Reg]) {
    let [at, far] = writer.regs(Class::Long);
    let (there, place) = (writer.reg(Class::Predicate), writer.reg(Class::Word));
    ptx!(writer, "cvt.u64.u32 {at}, {first}");
    ptx!(writer, "mad.lo.s64 {at}, {at}, {step}, {to}");
    ptx!(writer, "shl.b64 {far}, {step}, 5");
    for (k, value) in values.iter().enumerate() {
        ptx!(writer, "add.u32 {place}, {first}, {}", 32 * k);
        ptx!(writer, "setp.lt.u32 {there}, {place}, {kept}");
        ptx!(writer, "@{there} st.global.{memory} [{at}], {value}");
        ptx!(writer, "add.s64 {at}, {at}, {far}");
    }
}
