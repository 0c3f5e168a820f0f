//! The places of extreme elements.
//!
//! A chain meets its elements in their order, and keeps one that is ahead of all before it, with its place: a number of 32 bits. Where the
//! elements have 32 bits or less, the lanes of a warp then join one word: a key that sorts as the elements do, above the complement of
//! the place. The largest word is that of the first of the largest elements.

use super::elements::Chain;
use super::task::Task;
use super::text::Text;
use crate::libraries::expressions::ptx::body::{arithmetic, bits};
use crate::libraries::kernel::{Class, Reg, ptx};
use crate::libraries::reductions::parts::Regs;

impl Text<'_> {
    /// Whether a chain looks for the first of the largest elements, or of the smallest ones. It goes through them in their order: one
    /// that is ahead of all before it takes, and its place is a number of 32 bits until the chain [ends](Self::ended).
    pub(super) fn looks_for_places(&self) -> bool {
        self.geometry.is_leaf && self.recipe.is_positional
    }

    /// The first NaN is ahead of all numbers.
    pub(super) fn take_place(&mut self, chain: &Chain, there: Reg, element: &[Reg], number: Reg) {
        let (Some(x), [own, place]) = (element.first(), &chain.own[..]) else { return };
        let Some(lane) = self.slots.first().map(|slot| slot.lane) else { return };
        let (takes, t) = (self.writer.reg(Class::Predicate), arithmetic(lane));
        let ahead = if self.recipe.is_largest { "gt" } else { "lt" };
        if lane.is_float() {
            let is_number = self.writer.reg(Class::Predicate);
            ptx!(self.writer, "setp.num.and.{t} {is_number}, {own}, {own}, {there}");
            ptx!(self.writer, "setp.{ahead}u.and.{t} {takes}, {x}, {own}, {is_number}");
        } else {
            ptx!(self.writer, "setp.{ahead}.and.{t} {takes}, {x}, {own}, {there}");
        }
        ptx!(self.writer, "selp.{} {own}, {x}, {own}, {takes}", bits(lane));
        ptx!(self.writer, "selp.b32 {place}, {number}, {place}, {takes}");
    }

    /// The accumulators of a chain that is through. Where no element was ahead of what a chain begins with, all are equal to that, and the
    /// first one is the answer.
    pub(super) fn ended(&mut self, task: &Task, chain: Chain) -> Regs {
        let (Some(first), [own, place]) = (chain.first, &chain.own[..]) else { return chain.own };
        let [wide, number] = self.writer.regs(Class::Long);
        let there = self.writer.reg(Class::Predicate);
        ptx!(self.writer, "cvt.u64.u32 {wide}, {place}");
        ptx!(self.writer, "add.u64 {number}, {wide}, {}", task.first);
        ptx!(self.writer, "setp.lt.u32 {there}, {first}, {}", task.len);
        let nowhere = self.identity(1);
        ptx!(self.writer, "selp.b64 {number}, {number}, {nowhere}, {there}");
        vec![*own, number]
    }

    /// Whether element and place fit into one word.
    pub(super) fn packs_places(&self) -> bool {
        self.looks_for_places() && self.slots.first().is_some_and(|slot| slot.lane.size() <= 4)
    }

    /// The accumulators of a group, from the chains of the lanes of a warp.
    pub(super) fn joined_places(&mut self, task: &Task, chains: &[Chain]) -> Regs {
        let mut own = None;
        for chain in chains {
            let word = self.packed(task, chain);
            own = Some(match own {
                Some(own) => self.larger(own, word),
                None => word,
            });
        }
        let Some(mut own) = own else { return Vec::new() };
        for distance in [16, 8, 4, 2, 1] {
            let other = self.writer.shuffle(own, "down", distance, "31, 0xffffffff");
            own = self.larger(own, other);
        }
        self.unpacked(task, own)
    }

    fn larger(&mut self, a: Reg, b: Reg) -> Reg {
        let larger = self.writer.reg(Class::Long);
        ptx!(self.writer, "max.u64 {larger}, {a}, {b}");
        larger
    }

    /// The word of a chain that is through; 0 of one without elements.
    fn packed(&mut self, task: &Task, chain: &Chain) -> Reg {
        let packed = self.writer.reg(Class::Long);
        let (Some(first), [own, place], Some(slot)) = (chain.first, &chain.own[..], self.slots.first()) else {
            return packed;
        };
        let (lane, is_largest) = (slot.lane, self.recipe.is_largest);
        let [key, sign] = self.writer.regs(Class::Word);
        if lane.is_float() {
            let (number, is_nan) = (self.writer.reg(Class::Single), self.writer.reg(Class::Predicate));
            // Zeros are equal.
            ptx!(self.writer, "add.rn.f32 {number}, {own}, 0f00000000");
            ptx!(self.writer, "mov.b32 {key}, {number}");
            ptx!(self.writer, "shr.s32 {sign}, {key}, 31");
            ptx!(self.writer, "or.b32 {sign}, {sign}, 0x80000000");
            ptx!(self.writer, "xor.b32 {key}, {key}, {sign}");
            if !is_largest {
                ptx!(self.writer, "not.b32 {key}, {key}");
            }
            ptx!(self.writer, "setp.nan.f32 {is_nan}, {own}, {own}");
            ptx!(self.writer, "selp.b32 {key}, 0xffffffff, {key}, {is_nan}");
        } else {
            ptx!(self.writer, "xor.b32 {key}, {own}, {:#x}", if lane.is_signed() { 1u32 << 31 } else { 0 });
            if !is_largest {
                ptx!(self.writer, "not.b32 {key}, {key}");
            }
        }
        let (low, there) = (self.writer.reg(Class::Word), self.writer.reg(Class::Predicate));
        let [high, wide] = self.writer.regs(Class::Long);
        ptx!(self.writer, "not.b32 {low}, {place}");
        ptx!(self.writer, "cvt.u64.u32 {high}, {key}");
        ptx!(self.writer, "shl.b64 {high}, {high}, 32");
        ptx!(self.writer, "cvt.u64.u32 {wide}, {low}");
        ptx!(self.writer, "or.b64 {packed}, {high}, {wide}");
        ptx!(self.writer, "setp.lt.u32 {there}, {first}, {}", task.len);
        ptx!(self.writer, "selp.b64 {packed}, {packed}, 0, {there}");
        packed
    }

    /// The accumulators of a word.
    fn unpacked(&mut self, task: &Task, packed: Reg) -> Regs {
        let Some(lane) = self.slots.first().map(|slot| slot.lane) else { return Vec::new() };
        let (value, is_there) = (self.writer.reg(Class::for_lane(lane)), self.writer.reg(Class::Predicate));
        let [key, sign] = self.writer.regs(Class::Word);
        let [high, place, number] = self.writer.regs(Class::Long);
        ptx!(self.writer, "shr.u64 {high}, {packed}, 32");
        ptx!(self.writer, "cvt.u32.u64 {key}, {high}");
        if !self.recipe.is_largest {
            ptx!(self.writer, "not.b32 {key}, {key}");
        }
        if lane.is_float() {
            ptx!(self.writer, "shr.s32 {sign}, {key}, 31");
            ptx!(self.writer, "not.b32 {sign}, {sign}");
            ptx!(self.writer, "or.b32 {sign}, {sign}, 0x80000000");
            ptx!(self.writer, "xor.b32 {key}, {key}, {sign}");
        } else {
            ptx!(self.writer, "xor.b32 {key}, {key}, {:#x}", if lane.is_signed() { 1u32 << 31 } else { 0 });
        }
        ptx!(self.writer, "not.b64 {place}, {packed}");
        ptx!(self.writer, "and.b64 {place}, {place}, 0xffffffff");
        ptx!(self.writer, "add.u64 {number}, {place}, {}", task.first);
        ptx!(self.writer, "setp.ne.u64 {is_there}, {packed}, 0");
        ptx!(self.writer, "mov.b32 {value}, {key}");
        let [nothing, nowhere] = [0, 1].map(|k| self.identity(k));
        ptx!(self.writer, "selp.{} {value}, {value}, {nothing}, {is_there}", bits(lane));
        ptx!(self.writer, "selp.b64 {number}, {number}, {nowhere}, {is_there}");
        vec![value, number]
    }
}
