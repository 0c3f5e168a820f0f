//! Chains and groups are joined.

use super::kernel::{Argument, Program, TEAM};
use super::text::{Place, Regs, Text};
use crate::libraries::expressions::low::Lane;
use crate::libraries::expressions::ptx::body::{bits, memory};
use crate::libraries::expressions::ptx::writer::{Class, Reg, ptx};

impl Text<'_> {
    /// The accumulators of a chain become the new ones, if there is an element.
    pub(super) fn keep(&mut self, chain: &[Reg], new: &[Reg], there: Option<Reg>) {
        let lanes: Vec<Lane> = self.slots.iter().map(|slot| slot.lane).collect();
        for ((own, new), lane) in chain.iter().zip(new).zip(lanes) {
            match there {
                Some(there) => ptx!(self.writer, "selp.{} {own}, {new}, {own}, {there}", bits(lane)),
                None => ptx!(self.writer, "mov.{} {own}, {new}", bits(lane)),
            }
        }
    }

    pub(super) fn step(&mut self, chain: &[Reg], element: &[Reg]) -> Regs {
        let (slots, accumulators) = (self.slots.clone(), self.recipe.accumulators.len());
        let program = if self.finds_largest { Program::Larger } else { Program::Step };
        self.run(program, &|k, part| match k.checked_sub(accumulators) {
            None => Self::slot(&slots, chain, k, part),
            Some(_) => element.get(part).copied(),
        })
    }

    pub(super) fn join(&mut self, own: &[Reg], other: &[Reg]) -> Regs {
        let (slots, accumulators) = (self.slots.clone(), self.recipe.accumulators.len());
        let program = if self.finds_largest { Program::Larger } else { Program::Join };
        self.run(program, &|k, part| match k.checked_sub(accumulators) {
            None => Self::slot(&slots, own, k, part),
            Some(k) => Self::slot(&slots, other, k, part),
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

    /// Joins the first half with the second one, until one is left.
    pub(super) fn halves(&mut self, mut all: Vec<Regs>) -> Regs {
        while all.len() > 1 {
            let other = all.split_off(all.len().div_ceil(2));
            all = all.iter().zip(&other).map(|(own, other)| self.join(own, other)).collect();
        }
        all.pop().unwrap_or_default()
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
        let shuffle = format!("shfl.sync.{way}.b32");
        let clamp = "0x101f, 0xffffffff";
        let class = own.class();
        let result = self.writer.reg(class);
        if !matches!(class, Class::Long | Class::Double) {
            ptx!(self.writer, "{shuffle} {result}, {own}, {distance}, {clamp}");
            return result;
        }
        let [bits, high, low, upper] = [(); 4].map(|()| self.writer.reg(Class::Long));
        let [low_word, high_word, low_other, high_other] = [(); 4].map(|()| self.writer.reg(Class::Word));
        ptx!(self.writer, "mov.b64 {bits}, {own}");
        ptx!(self.writer, "cvt.u32.u64 {low_word}, {bits}");
        ptx!(self.writer, "shr.u64 {high}, {bits}, 32");
        ptx!(self.writer, "cvt.u32.u64 {high_word}, {high}");
        ptx!(self.writer, "{shuffle} {low_other}, {low_word}, {distance}, {clamp}");
        ptx!(self.writer, "{shuffle} {high_other}, {high_word}, {distance}, {clamp}");
        ptx!(self.writer, "cvt.u64.u32 {low}, {low_other}");
        ptx!(self.writer, "cvt.u64.u32 {upper}, {high_other}");
        ptx!(self.writer, "shl.b64 {upper}, {upper}, 32");
        ptx!(self.writer, "or.b64 {upper}, {upper}, {low}");
        ptx!(self.writer, "mov.b64 {result}, {upper}");
        result
    }
}
