//! The loop: one instruction after the other, for all lanes that are there.

use super::block::Place;
use super::code::{Instruction, Op};
use super::finding::Found;
use super::lanes::{LANES, Row};
use super::memory::{LOCAL_WINDOW, PARAMETER_WINDOW, SHARED_WINDOW};
use super::types::Space;
use super::warp::{Group, Wait, Warp, lanes_of};
use crate::core::error::FindingKind;

/// What follows an instruction.
pub(super) enum Next {
    /// The next one.
    On,
    /// The group changed: choose again.
    Choose,
}

/// After so many instructions with several groups that can go on, the last one has its turn: lanes may wait for each other.
const FAIR: u32 = 1024;

impl Warp {
    /// Runs at most `turn` instructions. True if it can go on.
    pub(super) fn run(&mut self, place: &mut Place<'_, '_>, turn: u32, at: &mut u32) -> Result<bool, Box<Found>> {
        let mut left = turn;
        while left > 0 {
            self.merge();
            let Some(chosen) = self.choose() else {
                if !self.settle(place, at)? {
                    return Ok(false);
                }
                continue;
            };
            let before = left;
            self.steps(place, chosen, &mut left, at)?;
            if !place.common.spend(before - left) {
                let detail = format!("more instructions than {}", place.common.checks.budget);
                return Err(Found::new(FindingKind::Budget, 0, detail));
            }
        }
        Ok(true)
    }

    /// The group that goes on: that of the lowest instruction, so that lanes meet again.
    fn choose(&mut self) -> Option<usize> {
        let ready = |(_, group): &(usize, &Group)| group.wait == Wait::No;
        let key = |(_, group): &(usize, &Group)| group.pc;
        let all = self.groups.iter().enumerate();
        if self.shared_turn > FAIR {
            self.shared_turn = 0;
            return all.filter(ready).max_by_key(key).map(|(at, _)| at);
        }
        all.filter(ready).min_by_key(key).map(|(at, _)| at)
    }

    /// Runs one group until it meets another, splits, waits or had its turn.
    fn steps(
        &mut self,
        place: &mut Place<'_, '_>,
        chosen: usize,
        left: &mut u32,
        at: &mut u32,
    ) -> Result<(), Box<Found>> {
        let Some(group) = self.groups.get(chosen).copied() else { return Ok(()) };
        let (mut pc, mask) = (group.pc, group.mask);
        let others = self.groups.len() > 1;
        let limit = self.groups.iter().map(|group| group.pc).filter(|other| *other > pc).min().unwrap_or(u32::MAX);
        let kernel = place.kernel;
        let started = *left;
        loop {
            let Some(instruction) = kernel.code.get(pc as usize) else { return Ok(()) };
            *at = pc;
            *left -= 1;
            let active = match instruction.guard {
                None => mask,
                Some(guard) => {
                    let truths = self.truths(guard.predicate);
                    mask & if guard.negated { !truths } else { truths }
                }
            };
            let next = match &instruction.op {
                Op::Map(apply) => {
                    let mut values: Row = [0; LANES];
                    let [a, b, c] = instruction.from;
                    apply(&mut values, [self.row(a), self.row(b), self.row(c)]);
                    self.blend(instruction.to, &values, active);
                    Next::On
                }
                Op::Jump(target) if active == mask => {
                    pc = *target;
                    if others || *left == 0 {
                        self.shared_turn += u32::from(others) * (started - *left);
                        self.put(chosen, pc);
                        return Ok(());
                    }
                    continue;
                }
                _ if active == 0 => Next::On,
                Op::Jump(target) => {
                    self.groups.push(Group { pc: *target, mask: active, wait: Wait::No });
                    if let Some(group) = self.groups.get_mut(chosen) {
                        (group.pc, group.mask) = (pc + 1, mask & !active);
                    }
                    return Ok(());
                }
                _ => {
                    self.put(chosen, pc);
                    self.other(place, instruction, chosen, active)?
                }
            };
            pc += 1;
            match next {
                Next::On if pc < limit && *left > 0 => {}
                Next::On => {
                    self.shared_turn += u32::from(others) * (started - *left);
                    self.put(chosen, pc);
                    return Ok(());
                }
                Next::Choose => return Ok(()),
            }
        }
    }

    fn put(&mut self, chosen: usize, pc: u32) {
        if let Some(group) = self.groups.get_mut(chosen) {
            group.pc = pc;
        }
    }

    /// What is not plain arithmetic. The group stands at the instruction; one that returns [`Next::Choose`] has moved it.
    fn other(
        &mut self,
        place: &mut Place<'_, '_>,
        instruction: &Instruction,
        chosen: usize,
        active: u32,
    ) -> Result<Next, Box<Found>> {
        let [a, b, c] = instruction.from;
        match &instruction.op {
            Op::Convert(convert) => {
                let mut values = [0; LANES];
                convert.apply(&mut values, self.row(a), self.row(b));
                self.blend(instruction.to, &values, active);
            }
            Op::Logic(table) => {
                let mut values = [0; LANES];
                let rows = self.row(a).iter().zip(self.row(b)).zip(self.row(c));
                for (value, ((a, b), c)) in values.iter_mut().zip(rows) {
                    *value = logic(*table, *a as u32, *b as u32, *c as u32).into();
                }
                self.blend(instruction.to, &values, active);
            }
            Op::Load(access) => self.load(place, access, a, active)?,
            Op::Store(access) => self.store(place, access, a, active)?,
            Op::Atomic(atomic) => self.atomic(place, atomic, instruction, active)?,
            Op::Exit => {
                if let Some(group) = self.groups.get_mut(chosen) {
                    group.mask &= !active;
                    group.pc += 1;
                    if group.mask == 0 {
                        self.groups.swap_remove(chosen);
                    }
                }
                // Others may have waited for these lanes only.
                self.wake();
                return Ok(Next::Choose);
            }
            Op::Barrier(barrier) => return self.barrier(place, barrier, instruction, chosen, active),
            Op::WarpBarrier | Op::Shuffle(_) | Op::Vote(_) | Op::Match { .. } | Op::Reduce(..) => {
                return self.together(instruction, chosen, active);
            }
            Op::Active => self.blend(instruction.to, &[active.into(); LANES], active),
            Op::Fence => self.fence(place),
            Op::Clock => {
                let now = self.shared_turn.wrapping_add(self.order.time);
                self.blend(instruction.to, &[now.into(); LANES], active);
            }
            Op::Trap => return Err(self.ended(active, "the kernel executed `trap`".into())),
            Op::Assert => return Err(self.failed_assertion(place, instruction, active)),
            Op::Print => self.print(place, instruction, active),
            Op::IsSpace(space) => {
                let mut values = [0; LANES];
                for (value, address) in values.iter_mut().zip(self.row(a)) {
                    *value = (space_of(*address) == *space).into();
                }
                self.blend(instruction.to, &values, active);
            }
            Op::Map(_) | Op::Jump(_) => {}
        }
        Ok(Next::On)
    }

    pub(super) fn ended(&self, active: u32, detail: String) -> Box<Found> {
        Found::new(FindingKind::Trap, lanes_of(active).next().unwrap_or_default(), detail)
    }

    /// Groups that waited for lanes look again.
    pub(super) fn wake(&mut self) {
        self.groups.iter_mut().filter(|group| group.wait == Wait::Lanes).for_each(|group| group.wait = Wait::No);
    }
}

/// The space of a generic address.
pub(super) fn space_of(address: u64) -> Space {
    match address & (0xf << 60) {
        SHARED_WINDOW => Space::Shared,
        LOCAL_WINDOW => Space::Local,
        PARAMETER_WINDOW => Space::Param,
        _ => Space::Global,
    }
}

/// Each bit of the table is the result of one combination of bits of the three words.
fn logic(table: u8, a: u32, b: u32, c: u32) -> u32 {
    let pick = |word: u32, bit: u8| if bit != 0 { word } else { !word };
    (0..8)
        .filter(|row| table >> row & 1 != 0)
        .fold(0, |all, row| all | pick(a, row & 4) & pick(b, row & 2) & pick(c, row & 1))
}
