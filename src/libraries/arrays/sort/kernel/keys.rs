//! Keys and their digits as instructions: the map of `order.rs`.

use crate::libraries::arrays::sort::order::{Numbers, Order};
use crate::libraries::kernel::{Class, Reg, Writer, ptx};

/// The key of an element.
pub(in crate::libraries::arrays) fn key(writer: &mut Writer, order: Order, raw: Reg) -> Reg {
    let (class, bits) = (Class::for_size(order.size), if order.size > 4 { 64 } else { 32 });
    let key = writer.reg(class);
    let most = order.most();
    let turn = if order.descending { most } else { 0 };
    match order.numbers {
        Numbers::Unsigned => ptx!(writer, "xor.b{bits} {key}, {raw}, {turn:#x}"),
        Numbers::Signed => ptx!(writer, "xor.b{bits} {key}, {raw}, {:#x}", order.sign() ^ turn),
        Numbers::Truth => {
            let there = writer.reg(Class::Predicate);
            let (yes, no) = if order.descending { (0, 1) } else { (1, 0) };
            ptx!(writer, "setp.ne.u{bits} {there}, {raw}, 0");
            ptx!(writer, "selp.b{bits} {key}, {yes}, {no}, {there}");
        }
        Numbers::Float(infinity) => {
            let [size, other, sign] = writer.regs(class);
            let [zero, negative, nan] = writer.regs(Class::Predicate);
            ptx!(writer, "and.b{bits} {size}, {raw}, {:#x}", order.sign() - 1);
            ptx!(writer, "and.b{bits} {sign}, {raw}, {:#x}", order.sign());
            ptx!(writer, "setp.ne.u{bits} {negative}, {sign}, 0");
            ptx!(writer, "xor.b{bits} {key}, {raw}, {:#x}", order.sign() ^ turn);
            ptx!(writer, "xor.b{bits} {other}, {raw}, {:#x}", turn ^ most);
            ptx!(writer, "selp.b{bits} {key}, {other}, {key}, {negative}");
            ptx!(writer, "setp.eq.u{bits} {zero}, {size}, 0");
            ptx!(writer, "selp.b{bits} {key}, {:#x}, {key}, {zero}", order.sign() ^ turn);
            ptx!(writer, "setp.gt.u{bits} {nan}, {size}, {infinity:#x}");
            ptx!(writer, "selp.b{bits} {key}, {most:#x}, {key}, {nan}");
        }
    }
    key
}

/// Eight bits of the key, from bit `shift` on.
pub(super) fn digit(writer: &mut Writer, order: Order, raw: Reg, shift: Reg) -> Reg {
    let key = key(writer, order, raw);
    let digit = writer.reg(Class::Word);
    if order.size > 4 {
        ptx!(writer, "shr.u64 {key}, {key}, {shift}");
        ptx!(writer, "cvt.u32.u64 {digit}, {key}");
    } else {
        ptx!(writer, "shr.u32 {digit}, {key}, {shift}");
    }
    ptx!(writer, "and.b32 {digit}, {digit}, 255");
    digit
}
