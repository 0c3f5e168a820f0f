//! A block: its warps, its shared memory and its barriers.

use super::code::{Kernel, Voting};
use super::finding::Found;
use super::launch::{Common, Shape};
use super::memory::Memory;
use super::shadow::Cell;
use super::warp::{Group, Wait, Warp, lanes_of};
use crate::core::error::FindingKind;

/// What the warps of a block work in.
pub(super) struct Place<'r, 'm> {
    pub(super) kernel: &'r Kernel,
    pub(super) memory: &'r Memory<'m>,
    pub(super) common: &'r Common,
    pub(super) parameters: &'r [u8],
    pub(super) shape: &'r Shape,
    pub(super) shared: Vec<u8>,
    pub(super) cells: Vec<Cell>,
    pub(super) printed: &'r (dyn Fn(String) + Sync),
    /// The predicates of `bar.red` so far, by barrier: true ones and all.
    pub(super) votes: [(u32, u32); 16],
    /// What the last `bar.red` of each barrier gave.
    pub(super) outcomes: [(u32, u32); 16],
    /// Threads that came by `bar.arrive`.
    pub(super) arrived: [u32; 16],
    /// Releases of each warp, for the others.
    pub(super) released: Vec<u32>,
}

/// A block of a launch.
pub(super) struct Block<'r, 'm> {
    pub(super) index: [u32; 3],
    pub(super) warps: Vec<Warp>,
    pub(super) place: Place<'r, 'm>,
}

/// How far a block came.
pub(super) enum Progress {
    Done,
    /// It can go on.
    Turn,
}

/// What was found, by which warp and at which instruction.
pub(super) struct Where {
    pub(super) found: Found,
    pub(super) warp: u32,
    pub(super) pc: u32,
}

impl<'r, 'm> Block<'r, 'm> {
    pub(super) fn new(index: [u32; 3], place: Place<'r, 'm>) -> Self {
        let (kernel, shape, races) = (place.kernel, place.shape, place.common.checks.races);
        let warps = shape.threads().div_ceil(32);
        let warps = (0..warps).map(|number| Warp::new(kernel, shape, index, number, races)).collect();
        Block { index, warps, place }
    }

    /// Runs all warps until they wait or had their turn.
    pub(super) fn run(&mut self, turn: u32) -> Result<Progress, Box<Where>> {
        let mut going = false;
        for warp in &mut self.warps {
            if warp.groups.is_empty() {
                continue;
            }
            let mut pc = 0;
            let spent = warp
                .run(&mut self.place, turn, &mut pc)
                .map_err(|found| Box::new(Where { found: *found, warp: warp.number, pc }))?;
            going |= spent;
        }
        if self.warps.iter().all(|warp| warp.groups.is_empty()) {
            return Ok(Progress::Done);
        }
        let released = self.release()?;
        if going || released {
            return Ok(Progress::Turn);
        }
        self.stuck()
    }

    /// Lets the threads of each complete barrier go on.
    fn release(&mut self) -> Result<bool, Box<Where>> {
        let alive: u32 = self.warps.iter().map(|warp| warp.alive().count_ones()).sum();
        let mut any = false;
        for number in 0..16u32 {
            let waiting = |group: &&Group| matches!(group.wait, Wait::Block { number: n, .. } if n == number);
            let groups = self.warps.iter().flat_map(|warp| warp.groups.iter().filter(waiting));
            let (mut here, mut wanted) = (0, None);
            for group in groups {
                here += group.mask.count_ones();
                if let Wait::Block { count, .. } = group.wait {
                    wanted = wanted.or(count);
                }
            }
            let arrived = self.place.arrived.get(number as usize).copied().unwrap_or_default();
            if here == 0 || here + arrived < wanted.unwrap_or(alive) {
                continue;
            }
            self.pass(number, wanted.is_none());
            any = true;
        }
        Ok(any)
    }

    /// Barrier `number` is complete; `whole` if all threads of the block were there.
    fn pass(&mut self, number: u32, whole: bool) {
        let at = number as usize;
        if let (Some(votes), Some(outcome)) = (self.place.votes.get_mut(at), self.place.outcomes.get_mut(at)) {
            *outcome = std::mem::take(votes);
        }
        if let Some(arrived) = self.place.arrived.get_mut(at) {
            *arrived = 0;
        }
        let times: Vec<u32> = self.warps.iter().map(|warp| warp.order.time + 1).collect();
        let is_here = |warp: &Warp| {
            warp.groups.iter().any(|group| matches!(group.wait, Wait::Block { number: n, .. } if n == number))
        };
        let here: Vec<bool> = self.warps.iter().map(is_here).collect();
        for warp in self.warps.iter_mut().filter(|warp| is_here(warp)) {
            let mut lanes = 0;
            let mut results = Vec::new();
            for group in &mut warp.groups {
                if matches!(group.wait, Wait::Block { number: n, .. } if n == number) {
                    group.wait = Wait::No;
                    results.push((group.pc, group.mask));
                    group.pc += 1;
                    lanes |= group.mask;
                }
            }
            if whole {
                warp.order.epoch += 1;
                warp.order.time += 1;
            } else {
                warp.order.meet(lanes);
                for ((known, time), here) in warp.order.warps.iter_mut().zip(&times).zip(&here) {
                    if *here {
                        *known = (*known).max(*time);
                    }
                }
            }
            for (pc, mask) in results {
                self.place.answer(warp, number, pc, mask);
            }
        }
    }

    /// Nobody can go on.
    fn stuck(&self) -> Result<Progress, Box<Where>> {
        for warp in &self.warps {
            for group in &warp.groups {
                if let Some(lane) = lanes_of(group.mask).next() {
                    let all: u32 = self.warps.iter().map(|warp| warp.alive().count_ones()).sum();
                    let (here, what) = match group.wait {
                        Wait::Block { number, count } => (
                            self.waiting(number),
                            format!("barrier {number}, which waits for {} threads", count.unwrap_or(all)),
                        ),
                        _ => (group.mask.count_ones(), "lanes of its warp".to_owned()),
                    };
                    let detail = format!("{here} threads of {all} wait for {what}, and no other thread comes");
                    let found = *Found::new(FindingKind::Deadlock, lane, detail);
                    return Err(Box::new(Where { found, warp: warp.number, pc: group.pc }));
                }
            }
        }
        Ok(Progress::Done)
    }

    fn waiting(&self, number: u32) -> u32 {
        let all = self.warps.iter().flat_map(|warp| &warp.groups);
        let here = all.filter(|group| matches!(group.wait, Wait::Block { number: n, .. } if n == number));
        here.map(|group| group.mask.count_ones()).sum()
    }
}

impl Place<'_, '_> {
    /// Writes the result of a `bar.red`.
    fn answer(&self, warp: &mut Warp, number: u32, pc: u32, mask: u32) {
        let Some(instruction) = self.kernel.code.get(pc as usize) else { return };
        let super::code::Op::Barrier(barrier) = &instruction.op else { return };
        let Some(voting) = barrier.reduce else { return };
        let (yes, all) = self.outcomes.get(number as usize).copied().unwrap_or_default();
        let value = match voting {
            Voting::Count => yes,
            Voting::All => u32::from(yes == all),
            _ => u32::from(yes > 0),
        };
        warp.blend(instruction.to, &[value.into(); 32], mask);
    }
}
