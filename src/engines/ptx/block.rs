//! A block: its warps, its shared memory and its barriers.

use super::code::{Kernel, Voting};
use super::finding::Found;
use super::launch::{Common, Shape};
use super::memory::Memory;
use super::shadow::Cells;
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
    pub(super) cells: Cells,
    pub(super) printed: &'r (dyn Fn(String) + Sync),
    /// The predicates of `bar.red` so far, by barrier: true ones and all.
    pub(super) votes: [(u32, u32); 16],
    /// What the last `bar.red` of each barrier gave.
    pub(super) outcomes: [(u32, u32); 16],
    /// Who came by `bar.arrive` and did not wait.
    pub(super) arrived: Vec<Arrival>,
}

/// Threads of a warp that came to a barrier and went on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) number: u32,
    pub(super) warp: u32,
    pub(super) threads: u32,
    /// The time of the warp, and what it had seen.
    pub(super) time: u32,
    pub(super) acquired: u32,
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

    /// As a new block: its memory is used again.
    pub(super) fn again(&mut self, index: [u32; 3]) {
        self.index = index;
        let Place { kernel, shape, shared, cells, votes, outcomes, arrived, .. } = &mut self.place;
        shared.fill(0);
        cells.clear();
        (*votes, *outcomes) = ([(0, 0); 16], [(0, 0); 16]);
        arrived.clear();
        self.warps.iter_mut().for_each(|warp| warp.again(kernel, shape, index));
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
            let wanted = self.warps.iter().flat_map(|warp| &warp.groups).find_map(|group| match group.wait {
                Wait::Block { number: n, count } if n == number => Some(count),
                _ => None,
            });
            let Some(wanted) = wanted else { continue };
            let all = self.place.arrived.iter().filter(|one| one.number == number).map(|one| one.threads).sum::<u32>();
            let (mut left, mut lanes) = (wanted.unwrap_or(alive).saturating_sub(all), vec![0u32; self.warps.len()]);
            for (warp, lanes) in self.warps.iter().zip(&mut lanes) {
                // Those that are too many wait for the next ones.
                for group in warp.groups.iter().filter(|group| is_at(group, number)) {
                    if left > 0 || wanted.is_none() {
                        *lanes |= group.mask;
                        left = left.saturating_sub(group.mask.count_ones());
                    }
                }
            }
            if left == 0 {
                self.pass(number, &lanes, wanted.is_none());
                any = true;
            }
        }
        Ok(any)
    }

    /// Barrier `number` is complete for these lanes of each warp; `whole` if they are all threads of the block.
    fn pass(&mut self, number: u32, lanes: &[u32], whole: bool) {
        let at = number as usize;
        if let (Some(votes), Some(outcome)) = (self.place.votes.get_mut(at), self.place.outcomes.get_mut(at)) {
            *outcome = std::mem::take(votes);
        }
        let is_here = |lanes: &u32| *lanes != 0;
        let mut times = vec![0; self.warps.len()];
        let mut acquired = 0;
        for ((warp, time), _) in self.warps.iter().zip(&mut times).zip(lanes).filter(|(_, lanes)| is_here(lanes)) {
            *time = warp.order.time + 1;
            acquired = acquired.max(warp.order.acquired);
        }
        for arrival in self.place.arrived.iter().filter(|one| one.number == number) {
            if let Some(time) = times.get_mut(arrival.warp as usize) {
                *time = (*time).max(arrival.time + 1);
            }
            acquired = acquired.max(arrival.acquired);
        }
        self.place.arrived.retain(|one| one.number != number);
        for (warp, lanes) in self.warps.iter_mut().zip(lanes).filter(|(_, lanes)| is_here(lanes)) {
            let mut results = Vec::new();
            for group in warp.groups.iter_mut().filter(|group| is_at(group, number) && group.mask & lanes != 0) {
                group.wait = Wait::No;
                results.push((group.pc, group.mask));
                group.pc += 1;
            }
            warp.order.acquired = acquired;
            if whole {
                warp.order.epoch += 1;
                warp.order.time += 1;
            } else {
                warp.order.meet(*lanes);
                for (known, time) in warp.order.warps.iter_mut().zip(&times) {
                    *known = (*known).max(*time);
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
        let here = self.warps.iter().flat_map(|warp| &warp.groups).filter(|group| is_at(group, number));
        here.map(|group| group.mask.count_ones()).sum()
    }
}

fn is_at(group: &Group, number: u32) -> bool {
    matches!(group.wait, Wait::Block { number: n, .. } if n == number)
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
