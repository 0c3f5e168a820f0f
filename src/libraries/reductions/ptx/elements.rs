//! The elements of chains: where they are, their loads, and the step that takes each into its chain.

use super::super::space::CHAINS;
use super::Program;
use super::geometry::Argument;
use super::task::Task;
use super::text::{Regs, Text};
use crate::libraries::expressions::low::Lane;
use crate::libraries::expressions::ptx::body::{bits, memory};
use crate::libraries::expressions::ptx::writer::{Class, Reg, ptx};

/// A chain on its way through the elements of a group.
pub(super) struct Chain {
    /// Its accumulators, which change.
    pub(super) own: Regs,
    /// The number of the next element in the group, which changes.
    local: Reg,
    /// The address of each operand's next element, which changes; none if more than one axis is reduced.
    addresses: Regs,
}

/// An element that is loaded.
pub(super) struct Loaded {
    /// Whether it is there.
    there: Reg,
    /// A register for each load.
    values: Regs,
    /// For each position its value.
    positions: Regs,
    /// Its number among those of the result.
    number: Option<Reg>,
}

/// What cannot change from one chain to the next.
pub(super) struct Steps {
    /// The distance between neighbours of a chain, for each operand.
    chain: Regs,
    /// Extents of the reduced axes, if there are several.
    extents: Regs,
}

impl Text<'_> {
    /// Distances and extents.
    pub(super) fn steps(&mut self) -> Steps {
        let (class, ..) = self.index();
        let near = self.geometry.reduced <= 1;
        let chain = (0..if near { self.walks } else { 0 })
            .map(|k| self.argument(Argument::ChainStride(k), Class::Long))
            .collect();
        let axes = if near { 0 } else { self.geometry.reduced };
        let extents = (0..axes).map(|axis| self.argument(Argument::Reduced(axis), class)).collect();
        Steps { chain, extents }
    }

    /// A chain whose first element is number `local` of the group.
    pub(super) fn chain(&mut self, task: &Task, local: Reg) -> Chain {
        let own: Regs = (0..self.slots.len()).map(|k| self.identity(k)).collect();
        let mut addresses = Vec::new();
        if self.geometry.reduced <= 1 {
            let [wide, at] = [(); 2].map(|()| self.writer.reg(Class::Long));
            ptx!(self.writer, "cvt.u64.u32 {wide}, {local}");
            ptx!(self.writer, "add.u64 {at}, {wide}, {}", task.first);
            for (k, base) in task.addresses.iter().enumerate() {
                let stride = self.argument(Argument::ReducedStride(k, 0), Class::Long);
                let [offset, address] = [(); 2].map(|()| self.writer.reg(Class::Long));
                ptx!(self.writer, "mul.lo.s64 {offset}, {at}, {stride}");
                ptx!(self.writer, "add.s64 {address}, {base}, {offset}");
                addresses.push(address);
            }
        }
        Chain { own, local, addresses }
    }

    /// A part of the accumulators that a chain begins with, in a register that may change.
    fn identity(&mut self, k: usize) -> Reg {
        let Some(slot) = self.slots.get(k).copied() else { return self.writer.reg(Class::Word) };
        self.argument(Argument::Identity(slot.operand, slot.part), Class::for_lane(slot.lane))
    }

    /// Loads the next element of a chain, if it is there, and moves on.
    pub(super) fn load(&mut self, task: &Task, chain: &Chain, steps: &Steps) -> Loaded {
        let there = self.writer.reg(Class::Predicate);
        ptx!(self.writer, "setp.lt.u32 {there}, {}, {}", chain.local, task.len);
        let far;
        let addresses = if self.geometry.reduced <= 1 {
            &chain.addresses
        } else {
            far = self.far(task, chain.local, steps);
            &far
        };
        let number = (self.geometry.is_leaf && self.recipe.is_positional).then(|| {
            let [wide, number] = [(); 2].map(|()| self.writer.reg(Class::Long));
            ptx!(self.writer, "cvt.u64.u32 {wide}, {}", chain.local);
            ptx!(self.writer, "add.u64 {number}, {wide}, {}", task.first);
            number
        });
        let mut values = Vec::new();
        for load in self.loads.clone() {
            let register = self.writer.reg(Class::for_lane(load.lane));
            values.push(register);
            if let Some(address) = addresses.get(load.operand) {
                let (t, offset) = (memory(load.lane), load.part * load.lane.size());
                ptx!(self.writer, "@{there} ld.global.{t} {register}, [{address}+{offset}]");
            }
        }
        // A value of its own: the address moves on.
        let positions = addresses.iter().skip(self.in_memory).copied().collect::<Regs>().into_iter().map(|position| {
            let own = self.writer.reg(Class::Long);
            ptx!(self.writer, "mov.b64 {own}, {position}");
            own
        });
        let positions = positions.collect();
        for (address, step) in chain.addresses.iter().zip(&steps.chain) {
            ptx!(self.writer, "add.s64 {address}, {address}, {step}");
        }
        ptx!(self.writer, "add.u32 {}, {}, {CHAINS}", chain.local, chain.local);
        Loaded { there, values, positions, number }
    }

    /// The addresses of an element, where several axes are reduced.
    fn far(&mut self, task: &Task, local: Reg, steps: &Steps) -> Regs {
        let (class, u, _) = self.index();
        let mut rest = self.writer.reg(class);
        if self.geometry.is_wide {
            let wide = self.writer.reg(Class::Long);
            ptx!(self.writer, "cvt.u64.u32 {wide}, {local}");
            ptx!(self.writer, "add.u64 {rest}, {wide}, {}", task.first);
        } else {
            let first = self.writer.reg(Class::Word);
            ptx!(self.writer, "cvt.u32.u64 {first}, {}", task.first);
            ptx!(self.writer, "add.u32 {rest}, {local}, {first}");
        }
        let mut coordinates = Vec::new();
        for extent in steps.extents.iter().skip(1).rev() {
            let [coordinate, quotient] = [(); 2].map(|()| self.writer.reg(class));
            ptx!(self.writer, "rem.{u} {coordinate}, {rest}, {extent}");
            ptx!(self.writer, "div.{u} {quotient}, {rest}, {extent}");
            coordinates.push(coordinate);
            rest = quotient;
        }
        coordinates.push(rest);
        coordinates.reverse();
        let bases = task.addresses.clone();
        let of = |(k, base): (usize, Reg)| self.offset(base, &coordinates, &|axis| Argument::ReducedStride(k, axis));
        bases.into_iter().enumerate().map(of).collect()
    }

    /// Takes a loaded element into its chain, if it is there.
    pub(super) fn take(&mut self, chain: &Chain, loaded: &Loaded) {
        let new = if self.geometry.is_leaf { self.step(chain, loaded) } else { self.join(&chain.own, &loaded.values) };
        let lanes: Vec<Lane> = self.slots.iter().map(|slot| slot.lane).collect();
        for ((own, new), lane) in chain.own.iter().zip(new).zip(lanes) {
            ptx!(self.writer, "selp.{} {own}, {new}, {own}, {}", bits(lane), loaded.there);
        }
    }

    fn step(&mut self, chain: &Chain, loaded: &Loaded) -> Regs {
        let loads = self.loads.clone();
        let input = |k: usize, part: usize| {
            let at = loads.iter().position(|load| (load.operand, load.part) == (k, part))?;
            loaded.values.get(at).copied()
        };
        let axes = self.element.positions().to_vec();
        let position = |axis: u8| {
            let at = axes.iter().position(|own| *own == axis)?;
            loaded.positions.get(at).copied()
        };
        let element = self.run(Program::Element, &input, &position);
        let (slots, accumulators) = (self.slots.clone(), self.recipe.accumulators.len());
        let input = |k: usize, part: usize| match k.checked_sub(accumulators) {
            None => {
                let at = slots.iter().position(|slot| (slot.operand, slot.part) == (k, part))?;
                chain.own.get(at).copied()
            }
            Some(0) => element.get(part).copied(),
            Some(_) => loaded.number,
        };
        self.run(Program::Step, &input, &|_| None)
    }

    /// The value of another lane of the warp, `distance` lanes up.
    pub(super) fn shuffled(&mut self, own: &[Reg], distance: usize) -> Regs {
        let lanes: Vec<Lane> = self.slots.iter().map(|slot| slot.lane).collect();
        own.iter().zip(lanes).map(|(own, lane)| self.shuffle(*own, lane, distance)).collect()
    }

    fn shuffle(&mut self, own: Reg, lane: Lane, distance: usize) -> Reg {
        let result = self.writer.reg(Class::for_lane(lane));
        if lane.size() < 8 {
            ptx!(self.writer, "shfl.sync.down.b32 {result}, {own}, {distance}, 31, 0xffffffff");
            return result;
        }
        let [bits, high, low, upper] = [(); 4].map(|()| self.writer.reg(Class::Long));
        let words = [(); 4].map(|()| self.writer.reg(Class::Word));
        let [low_word, high_word, low_other, high_other] = words;
        ptx!(self.writer, "mov.b64 {bits}, {own}");
        ptx!(self.writer, "cvt.u32.u64 {low_word}, {bits}");
        ptx!(self.writer, "shr.u64 {high}, {bits}, 32");
        ptx!(self.writer, "cvt.u32.u64 {high_word}, {high}");
        ptx!(self.writer, "shfl.sync.down.b32 {low_other}, {low_word}, {distance}, 31, 0xffffffff");
        ptx!(self.writer, "shfl.sync.down.b32 {high_other}, {high_word}, {distance}, 31, 0xffffffff");
        ptx!(self.writer, "cvt.u64.u32 {low}, {low_other}");
        ptx!(self.writer, "cvt.u64.u32 {upper}, {high_other}");
        ptx!(self.writer, "shl.b64 {upper}, {upper}, 32");
        ptx!(self.writer, "or.b64 {upper}, {upper}, {low}");
        ptx!(self.writer, "mov.b64 {result}, {upper}");
        result
    }

    /// Copies accumulators.
    pub(super) fn copy(&mut self, to: &[Reg], from: &[Reg]) {
        let lanes: Vec<Lane> = self.slots.iter().map(|slot| slot.lane).collect();
        for ((to, from), lane) in to.iter().zip(from).zip(lanes) {
            ptx!(self.writer, "mov.{} {to}, {from}", bits(lane));
        }
    }
}
