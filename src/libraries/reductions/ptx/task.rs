//! From the number of a task to what it treats.

use super::super::parts::Regs;
use super::super::space::GROUP;
use super::geometry::Argument;
use super::text::Text;
use crate::libraries::kernel::{Class, Index, Reg, ptx};

/// The task that is treated.
pub(super) struct Task {
    /// Its number.
    pub(super) number: Reg,
    /// The first element of the group, 64 bits, and how many there are.
    pub(super) first: Reg,
    pub(super) len: Reg,
    /// The addresses of each operand's first element of the result; of a position its value.
    pub(super) addresses: Regs,
    /// The coordinates of the result.
    pub(super) coordinates: Regs,
}

impl Text<'_> {
    /// From a task's number to the group and the addresses of its result.
    pub(super) fn task(&mut self, number: Reg, bases: &[Reg]) -> Task {
        let Index { class, u, .. } = self.index;
        let first;
        let len = self.writer.reg(Class::Word);
        let mut result = number;
        if self.geometry.is_last {
            first = self.writer.reg(Class::Long);
            ptx!(self.writer, "mov.b64 {first}, 0");
            let length = self.argument(Argument::Length, Class::Word);
            ptx!(self.writer, "mov.b32 {len}, {length}");
        } else {
            let by_result = self.geometry.is_by_result();
            let count = self.argument(if by_result { Argument::Results } else { Argument::Groups }, class);
            let [quotient, rest] = self.writer.regs(class);
            ptx!(self.writer, "div.{u} {quotient}, {number}, {count}");
            ptx!(self.writer, "rem.{u} {rest}, {number}, {count}");
            let group = if by_result { quotient } else { rest };
            result = if by_result { rest } else { quotient };
            let length = self.argument(Argument::Length, Class::Long);
            first = self.index.times(&mut self.writer, group, GROUP);
            let left = self.writer.reg(Class::Long);
            ptx!(self.writer, "sub.u64 {left}, {length}, {first}");
            ptx!(self.writer, "min.u64 {left}, {left}, {GROUP}");
            ptx!(self.writer, "cvt.u32.u64 {len}, {left}");
        }
        let (index, words) = (self.index, &mut self.words);
        let coordinates = index.coordinates(&mut self.writer, result, self.geometry.kept, &mut |writer, axis| {
            words.read(writer, Argument::Kept(axis), class)
        });
        let addresses = (0..self.walks)
            .zip(bases)
            .map(|(k, base)| self.offset(*base, &coordinates, &|axis| Argument::KeptStride(k, axis)))
            .collect();
        Task { number, first, len, addresses, coordinates }
    }

    /// A base and the way to these coordinates.
    pub(super) fn offset(&mut self, base: Reg, coordinates: &[Reg], stride: &dyn Fn(usize) -> Argument) -> Reg {
        let (index, words) = (self.index, &mut self.words);
        index.address(&mut self.writer, base, coordinates, &mut |writer, axis| {
            words.read(writer, stride(axis), index.class)
        })
    }
}
