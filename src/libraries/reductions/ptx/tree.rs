//! Two of the ways through a group.

use super::super::parts::{Regs, halves, keep, registers};
use super::super::space::CHAINS;
use super::Program;
use super::elements::Chain;
use super::task::Task;
use super::text::Text;
use crate::libraries::kernel::{Class, Reg, ptx};

/// Lanes of a warp.
const WARP: usize = 32;

impl Text<'_> {
    /// Operations of one element.
    pub(super) fn work(&self) -> usize {
        let programs = [Program::Element, Program::Step];
        programs.map(|program| self.programs.get(program).instrs().len()).iter().sum::<usize>() + self.loads.len()
    }

    /// A warp has the group: lane `l` has the chains `l` and `l + 32`.
    pub(super) fn warp(&mut self, task: &Task, lane: Reg) -> Regs {
        let steps = self.steps();
        let chains: Vec<Chain> = (0..CHAINS / WARP)
            .map(|k| {
                let local = self.writer.reg(Class::Word);
                ptx!(self.writer, "add.u32 {local}, {lane}, {}", k * WARP);
                self.chain(task, local)
            })
            .collect();
        let done = self.writer.reg(Class::Word);
        ptx!(self.writer, "mov.b32 {done}, 0");
        // So many elements are under way in a lane.
        let turns = (320 / (self.work() + 10)).clamp(1, 8);
        let (again, end) = (self.writer.fresh_label(), self.writer.fresh_label());
        let none = self.writer.reg(Class::Predicate);
        ptx!(self.writer, "setp.eq.u32 {none}, {}, 0", task.len);
        ptx!(self.writer, "@{none} bra {end}");
        self.writer.label(&again);
        let mut loaded = Vec::new();
        for _ in 0..turns {
            for chain in &chains {
                loaded.push(self.load(task, chain, &steps));
            }
        }
        for (chain, loaded) in chains.iter().cycle().zip(&loaded) {
            self.take(chain, loaded);
        }
        let more = self.writer.reg(Class::Predicate);
        ptx!(self.writer, "add.u32 {done}, {done}, {}", turns * CHAINS);
        ptx!(self.writer, "setp.lt.u32 {more}, {done}, {}", task.len);
        ptx!(self.writer, "@{more} bra {again}");
        self.writer.label(&end);
        if self.packs_places() {
            return self.joined_places(task, &chains);
        }
        let ended = chains.into_iter().map(|chain| self.ended(task, chain)).collect();
        let own = self.halves(ended);
        self.lanes(own, WARP / 2)
    }

    /// Joins chains.
    pub(super) fn halves(&mut self, all: Vec<Regs>) -> Regs {
        halves(all, &mut |own, other| self.join(own, other))
    }

    /// A thread has the group: some chains at once, whose numbers are as far from each other as can be, then those that are
    /// joined with them next.
    pub(super) fn thread(&mut self, task: &Task, chains: usize) -> Regs {
        let steps = self.steps();
        let at_once = if self.work() <= 100 { 8 } else { 2 }.min(chains);
        let turns = chains / at_once;
        let turn = self.writer.reg(Class::Word);
        ptx!(self.writer, "mov.b32 {turn}, 0");
        let pending: Vec<Regs> =
            (0..turns.trailing_zeros()).map(|_| registers(&mut self.writer, &self.slots)).collect();
        let own = registers(&mut self.writer, &self.slots);
        let (next, done) = (self.writer.fresh_label(), self.writer.fresh_label());
        let begin = self.writer.fresh_label();
        self.writer.label(&begin);
        let first = self.writer.reg(Class::Word);
        if turns > 1 {
            ptx!(self.writer, "brev.b32 {first}, {turn}");
            ptx!(self.writer, "shr.u32 {first}, {first}, {}", 32 - turns.trailing_zeros());
        } else {
            ptx!(self.writer, "mov.b32 {first}, 0");
        }
        let own_chains: Vec<Chain> = (0..at_once)
            .map(|k| {
                let local = self.writer.reg(Class::Word);
                ptx!(self.writer, "add.u32 {local}, {first}, {}", k * turns);
                self.chain(task, local)
            })
            .collect();
        // A chain has one element at most: longer groups go the way of columns.
        let loaded: Vec<_> = own_chains.iter().map(|chain| self.load(task, chain, &steps)).collect();
        for (chain, loaded) in own_chains.iter().zip(&loaded) {
            self.take(chain, loaded);
        }
        let ended = own_chains.into_iter().map(|chain| self.ended(task, chain)).collect();
        let joined = self.halves(ended);
        keep(&mut self.writer, &self.slots, &own, &joined, None);
        for (level, pending) in pending.iter().enumerate() {
            // The bits of the turn say which of its elders wait for it.
            let (bit, waits) = (self.writer.reg(Class::Word), self.writer.reg(Class::Predicate));
            let join = self.writer.fresh_label();
            ptx!(self.writer, "and.b32 {bit}, {turn}, {}", 1 << level);
            ptx!(self.writer, "setp.ne.u32 {waits}, {bit}, 0");
            ptx!(self.writer, "@{waits} bra {join}");
            keep(&mut self.writer, &self.slots, pending, &own, None);
            ptx!(self.writer, "bra {next}");
            self.writer.label(&join);
            let joined = self.join(pending, &own);
            keep(&mut self.writer, &self.slots, &own, &joined, None);
        }
        ptx!(self.writer, "bra {done}");
        self.writer.label(&next);
        ptx!(self.writer, "add.u32 {turn}, {turn}, 1");
        ptx!(self.writer, "bra {begin}");
        self.writer.label(&done);
        own
    }
}
