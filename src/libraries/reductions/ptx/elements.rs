//! The elements of chains: where they are, their loads, and the step that takes each into its chain.

use super::super::parts::{Regs, find, keep};
use super::super::space::CHAINS;
use super::Program;
use super::geometry::Argument;
use super::task::Task;
use super::text::Text;
use crate::libraries::expressions::ptx::body::memory;
use crate::libraries::kernel::{Class, Reg, Writer, ptx};

/// A chain on its way through the elements of a group.
pub(super) struct Chain {
    /// Its accumulators, which change.
    pub(super) own: Regs,
    /// The number of the next element in the group, which changes.
    local: Reg,
    /// The number of its first element in the group, if a place is looked for.
    pub(super) first: Option<Reg>,
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
    /// Its number in the group, if a place is looked for.
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
        let class = self.index.class;
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
        let mut own: Regs = (0..self.slots.len()).map(|k| self.identity(k)).collect();
        let first = self.looks_for_places().then(|| {
            let [place, first] = self.writer.regs(Class::Word);
            ptx!(self.writer, "mov.b32 {place}, {local}");
            ptx!(self.writer, "mov.b32 {first}, {local}");
            own.truncate(1);
            own.push(place);
            first
        });
        let mut addresses = Vec::new();
        if self.geometry.reduced <= 1 {
            let [wide, at] = self.writer.regs(Class::Long);
            ptx!(self.writer, "cvt.u64.u32 {wide}, {local}");
            ptx!(self.writer, "add.u64 {at}, {wide}, {}", task.first);
            for (k, base) in task.addresses.iter().enumerate() {
                let stride = self.argument(Argument::ReducedStride(k, 0), Class::Long);
                let [offset, address] = self.writer.regs(Class::Long);
                ptx!(self.writer, "mul.lo.s64 {offset}, {at}, {stride}");
                ptx!(self.writer, "add.s64 {address}, {base}, {offset}");
                addresses.push(address);
            }
        }
        Chain { own, local, first, addresses }
    }

    /// A part of the accumulators that a chain begins with, in a register that may change.
    pub(super) fn identity(&mut self, k: usize) -> Reg {
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
        let number = chain.first.map(|_| {
            let number = self.writer.reg(Class::Word);
            ptx!(self.writer, "mov.b32 {number}, {}", chain.local);
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
        let rest = self.writer.reg(self.index.class);
        if self.geometry.is_wide {
            let wide = self.writer.reg(Class::Long);
            ptx!(self.writer, "cvt.u64.u32 {wide}, {local}");
            ptx!(self.writer, "add.u64 {rest}, {wide}, {}", task.first);
        } else {
            let first = self.writer.reg(Class::Word);
            ptx!(self.writer, "cvt.u32.u64 {first}, {}", task.first);
            ptx!(self.writer, "add.u32 {rest}, {local}, {first}");
        }
        let mut extent = |_: &mut Writer, axis| steps.extents.get(axis).copied().unwrap_or(rest);
        let coordinates = self.index.coordinates(&mut self.writer, rest, steps.extents.len(), &mut extent);
        let bases = task.addresses.clone();
        let of = |(k, base): (usize, Reg)| self.offset(base, &coordinates, &|axis| Argument::ReducedStride(k, axis));
        bases.into_iter().enumerate().map(of).collect()
    }

    /// Takes a loaded element into its chain, if it is there.
    pub(super) fn take(&mut self, chain: &Chain, loaded: &Loaded) {
        if let Some(number) = loaded.number {
            let element = self.element(loaded);
            return self.take_place(chain, loaded.there, &element, number);
        }
        let new = if self.geometry.is_leaf { self.step(chain, loaded) } else { self.join(&chain.own, &loaded.values) };
        keep(&mut self.writer, &self.slots, &chain.own, &new, Some(loaded.there));
    }

    fn element(&mut self, loaded: &Loaded) -> Regs {
        let loads = self.loads.clone();
        let input = |k: usize, part: usize| find(&loads, &loaded.values, k, part);
        let axes = self.element.positions().to_vec();
        let position = |axis: u8| {
            let at = axes.iter().position(|own| *own == axis)?;
            loaded.positions.get(at).copied()
        };
        self.run(Program::Element, &input, &position)
    }

    fn step(&mut self, chain: &Chain, loaded: &Loaded) -> Regs {
        let element = self.element(loaded);
        let (slots, accumulators) = (self.slots.clone(), self.recipe.accumulators.len());
        let input = |k: usize, part: usize| match k.checked_sub(accumulators) {
            None => find(&slots, &chain.own, k, part),
            Some(_) => element.get(part).copied(),
        };
        self.run(Program::Step, &input, &|_| None)
    }

    /// The value of another lane of the warp, `distance` lanes up.
    pub(super) fn shuffled(&mut self, own: &[Reg], distance: usize) -> Regs {
        own.iter().map(|own| self.writer.shuffle(*own, "down", distance, "31, 0xffffffff")).collect()
    }
}
