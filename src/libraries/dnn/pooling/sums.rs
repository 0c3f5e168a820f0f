//! What becomes of the elements that are taken, and what is written.

use super::kernel::{Argument, Sums, Taken, Text};
use super::op::{Divide, Pass};
use crate::core::element::DType;
use crate::libraries::expressions::low::{Instr, Lane, LowOp};
use crate::libraries::expressions::ptx::body::{arithmetic, bits, memory};
use crate::libraries::kernel::{Class, Reg, ptx};

impl Text<'_> {
    pub(super) fn sums(&mut self) -> Sums {
        let pass = self.key.pass;
        let place = self.writer.reg(Class::Long);
        if matches!(pass, Pass::Max | Pass::MaxPlace) {
            ptx!(self.writer, "mov.b64 {place}, -1");
            let lowest = match self.key.dtype {
                DType::F32 => 0xff80_0000,
                DType::F64 => 0xfff0_0000_0000_0000,
                DType::F16 => 0xfc00,
                DType::Bf16 => 0xff80,
                DType::I8 => 0x80,
                _ => 0,
            };
            let value = self.writer.constant(self.memory, lowest);
            let wide = self.wide(value);
            let own = self.writer.reg(Class::for_lane(self.lane));
            ptx!(self.writer, "mov.{} {own}, {wide}", bits(self.lane));
            return Sums { value, wide: if self.is_narrow() { own } else { value }, place };
        }
        let value = self.writer.constant(self.lane, 0);
        Sums { value, wide: value, place }
    }

    /// The number of the element of the target in the axes of the windows, where that counts.
    pub(super) fn place(&mut self, own: &[Reg]) -> Option<Reg> {
        if self.key.pass != Pass::MaxBack {
            return None;
        }
        let mut number: Option<Reg> = None;
        for (d, coordinate) in own.iter().enumerate() {
            number = Some(self.numbered(number, d, *coordinate, Argument::Input(d)));
        }
        number.map(|number| self.long(number))
    }

    /// Takes an element of the source.
    pub(super) fn take(&mut self, taken: &Taken, sums: &Sums, place: Option<Reg>) {
        let [Some(address), second] = [0, 1].map(|k| taken.addresses.get(k).copied()) else { return };
        let x = self.writer.reg(Class::for_lane(self.memory));
        ptx!(self.writer, "ld.global.{} {x}, [{address}+0]", memory(self.memory));
        let wide = self.wide(x);
        let t = arithmetic(self.lane);
        match (self.key.pass, second, place) {
            (Pass::Max | Pass::MaxPlace, ..) => self.largest(x, wide, taken, sums),
            (Pass::MaxBack, Some(second), Some(place)) => {
                let (number, same) = (self.writer.reg(Class::Long), self.writer.reg(Class::Predicate));
                ptx!(self.writer, "ld.global.s64 {number}, [{second}+0]");
                ptx!(self.writer, "setp.eq.s64 {same}, {number}, {place}");
                ptx!(self.writer, "@{same} add.rn.{t} {}, {}, {wide}", sums.value, sums.value);
                // A place that is in no plane, nor the -1 of a window without elements.
                let (from_one, wrong) = (self.writer.reg(Class::Long), self.writer.reg(Class::Predicate));
                ptx!(self.writer, "add.s64 {from_one}, {number}, 1");
                let mut plane: Option<Reg> = None;
                for d in 0..self.key.axes {
                    let extent = self.number(Argument::Input(d));
                    plane = Some(self.times(plane, extent));
                }
                if let Some(plane) = plane {
                    let nan = self
                        .writer
                        .constant(self.lane, if self.lane == Lane::F64 { 0x7ff8 << 48 } else { 0x7fc0_0000 });
                    ptx!(self.writer, "setp.gt.u64 {wrong}, {from_one}, {plane}");
                    ptx!(self.writer, "selp.{} {}, {nan}, {}, {wrong}", select(self.lane), sums.value, sums.value);
                }
            }
            _ => {
                let share = match taken.places {
                    Some(places) => self.quotient(wide, places),
                    None => wide,
                };
                ptx!(self.writer, "add.rn.{t} {}, {}, {share}", sums.value, sums.value);
            }
        }
    }

    pub(super) fn largest(&mut self, x: Reg, wide: Reg, taken: &Taken, sums: &Sums) {
        let t = arithmetic(self.lane);
        let ahead = self.writer.reg(Class::Predicate);
        ptx!(self.writer, "setp.gt.{t} {ahead}, {wide}, {}", sums.wide);
        if self.lane.is_float() {
            let [is_nan, known] = self.writer.regs(Class::Predicate);
            ptx!(self.writer, "setp.nan.{t} {is_nan}, {wide}, {wide}");
            ptx!(self.writer, "setp.num.{t} {known}, {}, {}", sums.wide, sums.wide);
            ptx!(self.writer, "and.pred {is_nan}, {is_nan}, {known}");
            ptx!(self.writer, "or.pred {ahead}, {ahead}, {is_nan}");
        }
        if let Some(number) = taken.number {
            let (first, number) = (self.writer.reg(Class::Predicate), self.long(number));
            ptx!(self.writer, "setp.lt.s64 {first}, {}, 0", sums.place);
            ptx!(self.writer, "or.pred {ahead}, {ahead}, {first}");
            ptx!(self.writer, "selp.b64 {}, {number}, {}, {ahead}", sums.place, sums.place);
        }
        ptx!(self.writer, "selp.{} {}, {x}, {}, {ahead}", select(self.memory), sums.value, sums.value);
        if self.is_narrow() {
            ptx!(self.writer, "selp.f32 {}, {wide}, {}, {ahead}", sums.wide, sums.wide);
        }
    }

    /// A number over a count of 64 bits.
    pub(super) fn quotient(&mut self, x: Reg, places: Reg) -> Reg {
        let t = arithmetic(self.lane);
        let [count, result] = self.writer.regs(Class::for_lane(self.lane));
        ptx!(self.writer, "cvt.rn.{t}.s64 {count}, {places}");
        ptx!(self.writer, "div.rn.{t} {result}, {x}, {count}");
        result
    }

    /// Divides a sum by the places of its window, if there are some.
    pub(super) fn divide(&mut self, own: &[Reg], sums: &Sums) {
        if self.key.pass.is_back() || self.key.pass.divide() == Divide::Never {
            return;
        }
        let mut all: Option<Reg> = None;
        for (d, o) in own.iter().enumerate() {
            let [.., places] = self.elements(d, *o);
            all = Some(self.times(all, places));
        }
        let Some(all) = all else { return };
        let mean = self.quotient(sums.value, all);
        let some = self.writer.reg(Class::Predicate);
        ptx!(self.writer, "setp.gt.s64 {some}, {all}, 0");
        ptx!(self.writer, "selp.{} {}, {mean}, {}, {some}", select(self.lane), sums.value, sums.value);
    }

    pub(super) fn store(&mut self, index: Reg, targets: &[Reg], sums: &Sums) {
        let mut value = sums.value;
        if !matches!(self.key.pass, Pass::Max | Pass::MaxPlace) {
            let narrow = match self.key.dtype {
                DType::F16 => Some(LowOp::NarrowF16),
                DType::Bf16 => Some(LowOp::NarrowBf16),
                _ => None,
            };
            value = match narrow {
                Some(op) => {
                    let instr = Instr { op, lane: Lane::U16, from: Lane::F32, args: [0; 3], arity: 1 };
                    self.writer.operation(&instr, [value; 3])
                }
                None => self.writer.canonical(self.lane, value),
            };
        }
        let index = match self.key.is_wide {
            true => index,
            false => {
                let long = self.writer.reg(Class::Long);
                ptx!(self.writer, "cvt.u64.u32 {long}, {index}");
                long
            }
        };
        let places = (self.key.pass == Pass::MaxPlace).then_some(("s64", 8, sums.place));
        let own = (memory(self.memory), self.memory.size(), value);
        for ((t, size, value), target) in std::iter::once(own).chain(places).zip(targets) {
            let address = self.writer.reg(Class::Long);
            ptx!(self.writer, "mad.lo.u64 {address}, {index}, {size}, {target}");
            ptx!(self.writer, "st.global.{t} [{address}+0], {value}");
        }
    }
}

/// The type of a selection.
fn select(lane: Lane) -> &'static str {
    match lane {
        Lane::F32 => "f32",
        Lane::F64 => "f64",
        other => bits(other),
    }
}
