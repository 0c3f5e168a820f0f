//! The numbers of digits of long lines.

use super::keys::digit;
use super::{DIGITS, long};
use crate::core::error::Result;
use crate::libraries::arrays::sort::order::Order;
use crate::libraries::kernel::{Class, Index, Offsets, Parameter, Reg, Writer, ptx, unsigned};

/// The words before those of the axes: the length of a line; where counts are written; the elements; the blocks of a line, the
/// elements of a block; the step along the line; the digit's first bit.
pub(in crate::libraries::arrays::sort) const WORDS: usize = 7;

/// Elements that a thread has under way.
const AT_ONCE: usize = 8;

/// The line of a block, and where its part of the line begins and ends.
pub(super) fn part(writer: &mut Writer, len: Reg, blocks: Reg, per: Reg) -> (Reg, Reg, [Reg; 2]) {
    let block = writer.reg(Class::Word);
    let [wide, line, part, begin, end] = writer.regs(Class::Long);
    ptx!(writer, "mov.u32 {block}, %ctaid.x");
    ptx!(writer, "cvt.u64.u32 {wide}, {block}");
    ptx!(writer, "div.u64 {line}, {wide}, {blocks}");
    ptx!(writer, "rem.u64 {part}, {wide}, {blocks}");
    ptx!(writer, "mul.lo.u64 {begin}, {part}, {per}");
    ptx!(writer, "add.u64 {end}, {begin}, {per}");
    ptx!(writer, "min.u64 {end}, {end}, {len}");
    (line, part, [begin, end])
}

/// The address of a thread's entry in the table of counts: by line, digit, block.
pub(super) fn entry(writer: &mut Writer, table: Reg, line: Reg, thread: Reg, blocks: Reg, part: Reg) -> Reg {
    let [at, wide] = writer.regs(Class::Long);
    ptx!(writer, "cvt.u64.u32 {wide}, {thread}");
    ptx!(writer, "mad.lo.u64 {at}, {line}, {DIGITS}, {wide}");
    ptx!(writer, "mad.lo.u64 {at}, {at}, {blocks}, {part}");
    ptx!(writer, "mad.lo.u64 {at}, {at}, 4, {table}");
    at
}

/// Counts the digits of each block's part.
pub(super) fn count(order: Order, axes: usize) -> Result<String> {
    let writer = &mut Writer::default();
    let threads = long(order.size).threads();
    let [len, table, from, blocks, per, step, shift] = writer.words(0);
    let [thread, own, short] = writer.regs(Class::Word);
    ptx!(writer, "mov.u32 {thread}, %tid.x");
    ptx!(writer, "cvt.u32.u64 {short}, {shift}");
    ptx!(writer, "mov.u32 {own}, tile");
    ptx!(writer, "mad.lo.u32 {own}, {thread}, 4, {own}");
    let [zero, base] = writer.regs(Class::Word);
    ptx!(writer, "mov.b32 {zero}, 0");
    ptx!(writer, "st.shared.u32 [{own}], {zero}");
    ptx!(writer, "mov.u32 {base}, tile");
    ptx!(writer, "bar.sync 0");
    let (line, part, [begin, end]) = part(writer, len, blocks, per);
    let offset = Offsets::new(writer, Index::WIDE, line, axes, (WORDS, 1)).of(writer, 0);
    let [wide, at, far] = writer.regs(Class::Long);
    ptx!(writer, "add.s64 {from}, {from}, {offset}");
    ptx!(writer, "cvt.u64.u32 {wide}, {thread}");
    ptx!(writer, "add.u64 {begin}, {begin}, {wide}");
    ptx!(writer, "mad.lo.s64 {at}, {begin}, {step}, {from}");
    ptx!(writer, "mul.lo.s64 {far}, {step}, {threads}");
    let again = writer.reg(Class::Predicate);
    ptx!(writer, "setp.ge.u64 {again}, {begin}, {end}");
    ptx!(writer, "@{again} bra DONE");
    writer.label("NEXT");
    let mut loaded = Vec::new();
    for _ in 0..AT_ONCE {
        let (there, value) = (writer.reg(Class::Predicate), writer.reg(Class::for_size(order.size)));
        ptx!(writer, "setp.lt.u64 {there}, {begin}, {end}");
        ptx!(writer, "@{there} ld.global.{} {value}, [{at}]", unsigned(order.size));
        ptx!(writer, "add.s64 {at}, {at}, {far}");
        ptx!(writer, "add.u64 {begin}, {begin}, {threads}");
        loaded.push((there, value));
    }
    for (there, value) in loaded {
        let digit = digit(writer, order, value, short);
        ptx!(writer, "mad.lo.u32 {digit}, {digit}, 4, {base}");
        ptx!(writer, "@{there} red.shared.add.u32 [{digit}], 1");
    }
    ptx!(writer, "setp.lt.u64 {again}, {begin}, {end}");
    ptx!(writer, "@{again} bra NEXT");
    writer.label("DONE");
    ptx!(writer, "bar.sync 0");
    ptx!(writer, "ld.shared.u32 {zero}, [{own}]");
    let entry = entry(writer, table, line, thread, blocks, part);
    ptx!(writer, "st.global.u32 [{entry}], {zero}");
    ptx!(writer, "ret");
    writer.share(format_args!("tile"), 16, 4 * DIGITS);
    writer.module(&Parameter { words: WORDS + 2 * axes, written: 1, read: 1 })
}

/// The words of the sum: rows; the table, the totals; blocks.
pub(in crate::libraries::arrays::sort) const SPINE_WORDS: usize = 4;
/// Warps of a block of the sum.
pub(in crate::libraries::arrays::sort) const SPINE_WARPS: usize = 8;

/// Makes of each row of the table, a line's counts of a digit, the sums of those before, and the total: a warp for each row.
pub(super) fn spine() -> Result<String> {
    let writer = &mut Writer::default();
    let [rows, table, totals, blocks] = writer.words(0);
    let [thread, block, lane, before, value, sum, other] = writer.regs(Class::Word);
    let [row, wide, at, place] = writer.regs(Class::Long);
    let [beyond, there, fits, again] = writer.regs(Class::Predicate);
    ptx!(writer, "mov.u32 {thread}, %tid.x");
    ptx!(writer, "mov.u32 {block}, %ctaid.x");
    ptx!(writer, "and.b32 {lane}, {thread}, 31");
    ptx!(writer, "shr.u32 {thread}, {thread}, 5");
    ptx!(writer, "cvt.u64.u32 {wide}, {thread}");
    ptx!(writer, "mul.wide.u32 {row}, {block}, {SPINE_WARPS}");
    ptx!(writer, "add.u64 {row}, {row}, {wide}");
    ptx!(writer, "setp.ge.u64 {beyond}, {row}, {rows}");
    ptx!(writer, "@{beyond} bra EXIT");
    ptx!(writer, "cvt.u64.u32 {place}, {lane}");
    ptx!(writer, "mad.lo.u64 {at}, {row}, {blocks}, {place}");
    ptx!(writer, "mad.lo.u64 {at}, {at}, 4, {table}");
    ptx!(writer, "mov.b32 {before}, 0");
    // The lanes of a warp go on together: as long as the first one has an entry.
    ptx!(writer, "mov.b64 {wide}, 0");
    writer.label("NEXT");
    ptx!(writer, "setp.lt.u64 {there}, {place}, {blocks}");
    ptx!(writer, "mov.b32 {value}, 0");
    ptx!(writer, "@{there} ld.global.u32 {value}, [{at}]");
    ptx!(writer, "mov.b32 {sum}, {value}");
    for step in [1, 2, 4, 8, 16] {
        ptx!(writer, "shfl.sync.up.b32 {other}, {sum}, {step}, 0, 0xffffffff");
        ptx!(writer, "setp.ge.u32 {fits}, {lane}, {step}");
        ptx!(writer, "@{fits} add.u32 {sum}, {sum}, {other}");
    }
    ptx!(writer, "sub.u32 {value}, {sum}, {value}");
    ptx!(writer, "add.u32 {value}, {value}, {before}");
    ptx!(writer, "@{there} st.global.u32 [{at}], {value}");
    ptx!(writer, "shfl.sync.idx.b32 {other}, {sum}, 31, 31, 0xffffffff");
    ptx!(writer, "add.u32 {before}, {before}, {other}");
    ptx!(writer, "add.s64 {at}, {at}, 128");
    ptx!(writer, "add.u64 {place}, {place}, 32");
    ptx!(writer, "add.u64 {wide}, {wide}, 32");
    ptx!(writer, "setp.lt.u64 {again}, {wide}, {blocks}");
    ptx!(writer, "@{again} bra NEXT");
    ptx!(writer, "mad.lo.u64 {at}, {row}, 4, {totals}");
    ptx!(writer, "setp.eq.u32 {there}, {lane}, 0");
    ptx!(writer, "@{there} st.global.u32 [{at}], {before}");
    writer.label("EXIT");
    ptx!(writer, "ret");
    writer.module(&Parameter { words: SPINE_WORDS, written: 2, read: 0 })
}
