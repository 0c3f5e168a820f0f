//! Moves the elements of long lines to their places by one digit.

use super::block::wide;
use super::count::{entry, part};
use super::keys::digit;
use super::{Key, long};
use crate::core::error::Result;
use crate::libraries::kernel::{Class, Index, Offsets, Parameter, Reg, Writer, ptx, unsigned};

/// The words before those of the axes: the length of a line; where elements and numbers are written; elements, numbers, table
/// and totals that are read; blocks, elements of a block, the digit's first bit, how many places are kept; the steps along
/// elements read, elements written, numbers written.
pub(in crate::libraries::arrays::sort) const WORDS: usize = 14;
/// What each axis has strides of: elements read, elements written, numbers written, numbers read.
pub(in crate::libraries::arrays::sort) const PORTS: usize = 4;

pub(super) fn text(key: &Key) -> Result<String> {
    let Key::Scatter { order, numbering, values, index, axes } = *key else { return Ok(String::new()) };
    let writer = &mut Writer::default();
    let tile = long(order.size);
    let [len, to, to_index, from, from_index, table, totals] = writer.words(0);
    let [blocks, per, shift, keep, step, to_step, index_step] = writer.words(7);
    let thread = tile.thread(writer);
    let (line, part, [begin, end]) = part(writer, len, blocks, per);
    let places: [Reg; PORTS] = Offsets::new(writer, Index::WIDE, line, axes, (WORDS, PORTS)).all(writer);
    for (base, offset) in [from, to, to_index, from_index].into_iter().zip(places) {
        ptx!(writer, "add.s64 {base}, {base}, {offset}");
    }
    let [short, kept, count, total, base, below] = writer.regs(Class::Word);
    ptx!(writer, "cvt.u32.u64 {short}, {shift}");
    ptx!(writer, "cvt.u32.u64 {kept}, {keep}");
    // Where the block's elements of the digit of the thread's number go.
    let [at, long] = writer.regs(Class::Long);
    ptx!(writer, "cvt.u64.u32 {long}, {}", thread.number);
    ptx!(writer, "mad.lo.u64 {at}, {line}, {}, {long}", super::DIGITS);
    ptx!(writer, "mad.lo.u64 {at}, {at}, 4, {totals}");
    ptx!(writer, "ld.global.u32 {total}, [{at}]");
    let before = tile.sum_below(writer, thread, total);
    let own = entry(writer, table, line, thread.number, blocks, part);
    ptx!(writer, "ld.global.u32 {base}, [{own}]");
    ptx!(writer, "add.u32 {base}, {base}, {before}");
    let [beyond, again] = writer.regs(Class::Predicate);
    ptx!(writer, "setp.ge.u64 {beyond}, {begin}, {end}");
    ptx!(writer, "@{beyond} bra EXIT");
    writer.label("TILE");
    ptx!(writer, "bar.sync 0");
    ptx!(writer, "sub.u64 {long}, {end}, {begin}");
    ptx!(writer, "min.u64 {long}, {long}, {}", tile.len());
    ptx!(writer, "cvt.u32.u64 {count}, {long}");
    ptx!(writer, "mad.lo.s64 {at}, {begin}, {step}, {from}");
    let elements = tile.load(writer, thread, (at, order.size), step, count);
    let numbers = tile.numbers(writer, thread, numbering, (from_index, begin), count);
    let digits = tile.digits(writer, thread, (order, short), &elements, count);
    tile.clear(writer, thread);
    let ranked = tile.rank(writer, thread, &digits);
    let (first, found) = tile.begins(writer, thread);
    let positions = tile.positions(writer, &ranked);
    // From a place in the sorted tile to one in the line, by digit.
    let place = writer.reg(Class::Word);
    ptx!(writer, "sub.u32 {below}, {base}, {first}");
    ptx!(writer, "mad.lo.u32 {place}, {}, 4, {}", thread.number, thread.shared);
    ptx!(writer, "st.shared.u32 [{place}+{}], {below}", tile.places());
    ptx!(writer, "add.u32 {base}, {base}, {found}");
    tile.exchange(writer, thread, (&elements, order.size), &positions, (thread.number, tile.threads()));
    let mut places = Vec::new();
    for (k, element) in elements.iter().enumerate() {
        let digit = digit(writer, order, *element, short);
        let (own, there, inside) =
            (writer.reg(Class::Word), writer.reg(Class::Predicate), writer.reg(Class::Predicate));
        ptx!(writer, "mad.lo.u32 {digit}, {digit}, 4, {}", thread.shared);
        ptx!(writer, "ld.shared.u32 {digit}, [{digit}+{}]", tile.places());
        ptx!(writer, "add.u32 {own}, {}, {}", thread.number, tile.threads() * k);
        ptx!(writer, "setp.lt.u32 {inside}, {own}, {count}");
        ptx!(writer, "add.u32 {own}, {own}, {digit}");
        ptx!(writer, "setp.lt.and.u32 {there}, {own}, {kept}, {inside}");
        places.push((own, there));
    }
    let write = |writer: &mut Writer, to: Reg, step: Reg, t: &str, values: &[Reg]| {
        for (value, (place, there)) in values.iter().zip(&places) {
            let at = wide(writer, *place);
            ptx!(writer, "mad.lo.s64 {at}, {at}, {step}, {to}");
            ptx!(writer, "@{there} st.global.{t} [{at}], {value}");
        }
    };
    if values {
        write(writer, to, to_step, unsigned(order.size), &elements);
    }
    if index > 0 {
        ptx!(writer, "bar.sync 0");
        tile.exchange(writer, thread, (&numbers, 4), &positions, (thread.number, tile.threads()));
        let numbers: Vec<Reg> = match index {
            4 => numbers,
            _ => numbers.iter().map(|number| wide(writer, *number)).collect(),
        };
        write(writer, to_index, index_step, unsigned(index), &numbers);
    }
    ptx!(writer, "add.u64 {begin}, {begin}, {}", tile.len());
    ptx!(writer, "setp.lt.u64 {again}, {begin}, {end}");
    ptx!(writer, "@{again} bra TILE");
    writer.label("EXIT");
    ptx!(writer, "ret");
    tile.share(writer);
    writer.module(&Parameter { words: WORDS + (1 + PORTS) * axes, written: 2, read: 4 })
}
