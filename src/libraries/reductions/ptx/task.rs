//! From the number of a task to what it treats.

use super::super::space::GROUP;
use super::geometry::Argument;
use super::text::{Regs, Text};
use crate::libraries::expressions::ptx::writer::{Class, Reg, ptx};

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
        let (class, u, _) = self.index();
        let first = self.writer.reg(Class::Long);
        let len = self.writer.reg(Class::Word);
        let mut result = number;
        if self.geometry.is_last {
            ptx!(self.writer, "mov.b64 {first}, 0");
            let length = self.argument(Argument::Length, Class::Word);
            ptx!(self.writer, "mov.b32 {len}, {length}");
        } else {
            let by_result = self.geometry.is_by_result();
            let count = self.argument(if by_result { Argument::Results } else { Argument::Groups }, class);
            let [quotient, rest] = [(); 2].map(|()| self.writer.reg(class));
            ptx!(self.writer, "div.{u} {quotient}, {number}, {count}");
            ptx!(self.writer, "rem.{u} {rest}, {number}, {count}");
            let group = if by_result { quotient } else { rest };
            result = if by_result { rest } else { quotient };
            let length = self.argument(Argument::Length, Class::Long);
            if self.geometry.is_wide {
                ptx!(self.writer, "mul.lo.u64 {first}, {group}, {GROUP}");
            } else {
                ptx!(self.writer, "mul.wide.u32 {first}, {group}, {GROUP}");
            }
            let left = self.writer.reg(Class::Long);
            ptx!(self.writer, "sub.u64 {left}, {length}, {first}");
            ptx!(self.writer, "min.u64 {left}, {left}, {GROUP}");
            ptx!(self.writer, "cvt.u32.u64 {len}, {left}");
        }
        let mut coordinates = Vec::new();
        let mut rest = result;
        for axis in (1..self.geometry.kept).rev() {
            let extent = self.argument(Argument::Kept(axis), class);
            let [coordinate, quotient] = [(); 2].map(|()| self.writer.reg(class));
            ptx!(self.writer, "rem.{u} {coordinate}, {rest}, {extent}");
            ptx!(self.writer, "div.{u} {quotient}, {rest}, {extent}");
            coordinates.push(coordinate);
            rest = quotient;
        }
        if self.geometry.kept > 0 {
            coordinates.push(rest);
        }
        coordinates.reverse();
        let addresses = (0..self.walks)
            .zip(bases)
            .map(|(k, base)| self.offset(*base, &coordinates, &|axis| Argument::KeptStride(k, axis)))
            .collect();
        Task { number, first, len, addresses, coordinates }
    }

    /// A base and the way to these coordinates.
    pub(super) fn offset(&mut self, base: Reg, coordinates: &[Reg], stride: &dyn Fn(usize) -> Argument) -> Reg {
        let (class, _, s) = self.index();
        let address = self.writer.reg(Class::Long);
        let mut sum: Option<Reg> = None;
        for (axis, coordinate) in coordinates.iter().enumerate() {
            let stride = self.argument(stride(axis), class);
            let next = self.writer.reg(class);
            match sum {
                None => ptx!(self.writer, "mul.lo.{s} {next}, {coordinate}, {stride}"),
                Some(sum) => ptx!(self.writer, "mad.lo.{s} {next}, {coordinate}, {stride}, {sum}"),
            }
            sum = Some(next);
        }
        match sum {
            Some(sum) if !self.geometry.is_wide => {
                let wide = self.writer.reg(Class::Long);
                ptx!(self.writer, "cvt.s64.s32 {wide}, {sum}");
                ptx!(self.writer, "add.s64 {address}, {base}, {wide}");
            }
            Some(sum) => ptx!(self.writer, "add.s64 {address}, {base}, {sum}"),
            None => ptx!(self.writer, "mov.b64 {address}, {base}"),
        }
        address
    }
}
