//! Chains and groups are joined.

use super::super::parts::{Regs, find, halves};
use super::kernel::{Argument, Program, TEAM};
use super::text::{Place, Text};
use crate::libraries::expressions::low::Lane;
use crate::libraries::expressions::ptx::body::memory;
use crate::libraries::kernel::{Class, Reg, ptx};

impl Text<'_> {
    pub(super) fn step(&mut self, chain: &[Reg], element: &[Reg]) -> Regs {
        let (slots, accumulators) = (self.slots.clone(), self.recipe.accumulators.len());
        let program = if self.finds_largest { Program::Larger } else { Program::Step };
        self.run(program, &|k, part| match k.checked_sub(accumulators) {
            None => find(&slots, chain, k, part),
            Some(_) => element.get(part).copied(),
        })
    }

    pub(super) fn join(&mut self, own: &[Reg], other: &[Reg]) -> Regs {
        let (slots, accumulators) = (self.slots.clone(), self.recipe.accumulators.len());
        let program = if self.finds_largest { Program::Larger } else { Program::Join };
        self.run(program, &|k, part| match k.checked_sub(accumulators) {
            None => find(&slots, own, k, part),
            Some(k) => find(&slots, other, k, part),
        })
    }

    /// Joins accumulators of threads that are `distance` apart.
    pub(super) fn meet(&mut self, own: &[Reg], distance: usize) -> Regs {
        let other: Regs = own.iter().map(|register| self.shuffled(*register, "down", distance)).collect();
        self.join(own, &other)
    }

    pub(super) fn join_chains(&mut self, mut chains: Vec<Regs>) -> Regs {
        let mut distance = TEAM / 2;
        while distance > 0 {
            chains = chains.iter().map(|chain| self.meet(chain, distance)).collect();
            distance /= 2;
        }
        self.halves(chains)
    }

    pub(super) fn halves(&mut self, all: Vec<Regs>) -> Regs {
        halves(all, &mut |own, other| self.join(own, other))
    }

    /// The groups of a row are joined by each of its teams.
    pub(super) fn join_groups(&mut self, place: &Place, own: Regs) -> Regs {
        if self.key.places == 1 {
            return own;
        }
        let row = self.word("mul.lo.u32", place.among, self.key.places);
        let at = self.word("add.u32", row, place.group);
        let first = self.writer.reg(Class::Predicate);
        ptx!(self.writer, "setp.eq.u32 {first}, {}, 0", place.own);
        ptx!(self.writer, "and.pred {first}, {first}, {}", place.valid);
        let lanes: Vec<Lane> = self.slots.iter().map(|slot| slot.lane).collect();
        for (k, (lane, register)) in lanes.iter().zip(&own).enumerate() {
            let address = self.shared(k, at, lane.size());
            ptx!(self.writer, "@{first} st.shared.{} [{address}+0], {register}", memory(*lane));
        }
        ptx!(self.writer, "bar.sync 0");
        let groups = self.argument(Argument::Groups, Class::Word);
        let mut all = Vec::new();
        for nth in 0..self.key.places / TEAM {
            let group = self.word("add.u32", place.own, nth * TEAM);
            let at = self.word("add.u32", row, group);
            let there = self.writer.reg(Class::Predicate);
            ptx!(self.writer, "setp.lt.u32 {there}, {group}, {groups}");
            ptx!(self.writer, "and.pred {there}, {there}, {}", place.valid);
            let registers = self.identity();
            for (k, (lane, register)) in lanes.iter().zip(&registers).enumerate() {
                let address = self.shared(k, at, lane.size());
                ptx!(self.writer, "@{there} ld.shared.{} {register}, [{address}+0]", memory(*lane));
            }
            all.push(registers);
        }
        let mut own = self.halves(all);
        let mut distance = TEAM / 2;
        while distance > 0 {
            own = self.meet(&own, distance);
            distance /= 2;
        }
        own
    }

    /// The address of a place for a group.
    pub(super) fn shared(&mut self, k: usize, at: Reg, size: usize) -> Reg {
        let (base, address) = (self.writer.reg(Class::Word), self.writer.reg(Class::Word));
        let name = if self.finds_largest { "largest" } else { "groups" };
        ptx!(self.writer, "mov.u32 {base}, {name}_{k}");
        ptx!(self.writer, "mad.lo.u32 {address}, {at}, {size}, {base}");
        address
    }

    /// What the first thread of the team has.
    pub(super) fn first_of_team(&mut self, own: Reg) -> Reg {
        self.shuffled(own, "idx", 0)
    }

    /// The value of another thread of the team.
    pub(super) fn shuffled(&mut self, own: Reg, way: &str, distance: usize) -> Reg {
        // Sixteen lanes at a time.
        self.writer.shuffle(own, way, distance, "0x101f, 0xffffffff")
    }
}
