//! A block: its warps, its shared memory and its barriers.

use super::cells::Cells;
use super::code::{Kernel, Voting};
use super::finding::Found;
use super::launch::{Common, Shape};
use super::ledger::Ledger;
use super::memory::Memory;
use super::warp::{Group, Wait, Warp, lanes_of};
use crate::core::error::{FindingKind, Result as Made};
use crate::core::room;

/// A block has at most 1024 threads.
const MOST_WARPS: usize = 32;

/// What the warps of a block work in.
pub(super) struct Place<'r, 'm> {
    pub(super) kernel: &'r Kernel,
    pub(super) memory: &'r Memory<'m>,
    pub(super) common: &'r Common,
    pub(super) ledger: &'r Ledger<'r>,
    pub(super) parameters: &'r [u8],
    pub(super) shape: &'r Shape,
    pub(super) shared: Vec<u8>,
    pub(super) cells: Cells,
    pub(super) printed: &'r (dyn Fn(String) + Sync),
    /// The predicates of `bar.red` so far, by barrier: true ones and all.
    pub(super) votes: [(u32, u32); 16],
    /// What the last `bar.red` of each barrier gave.
    pub(super) outcomes: [(u32, u32); 16],
    /// Who came by `bar.arrive` and did not wait: one for each barrier and warp, so that a loop that arrives takes no memory.
    pub(super) arrived: Vec<Arrival>,
}

/// Threads of a warp that came to a barrier and went on, perhaps several times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) number: u32,
    pub(super) warp: u32,
    pub(super) threads: u32,
    /// The time of the warp, and what it had seen; when it came last.
    pub(super) time: u32,
    pub(super) acquired: u32,
}

impl Place<'_, '_> {
    pub(super) fn arrive(&mut self, new: Arrival) {
        let known = self.arrived.iter_mut().find(|one| (one.number, one.warp) == (new.number, new.warp));
        match known {
            Some(known) => *known = Arrival { threads: known.threads.saturating_add(new.threads), ..new },
            None => self.arrived.push(new),
        }
    }
}

/// A block of a launch.
pub(super) struct Block<'r, 'm> {
    pub(super) index: [u32; 3],
    pub(super) warps: Vec<Warp>,
    pub(super) place: Place<'r, 'm>,
    /// What was charged for it, without its cells.
    charged: u64,
}

impl Drop for Block<'_, '_> {
    fn drop(&mut self) {
        self.place.ledger.release(self.charged.saturating_add(self.place.cells.bytes()));
    }
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
    /// What a block takes, without its cells.
    pub(super) fn bytes(kernel: &Kernel, shape: &Shape, races: bool) -> u64 {
        let warps = u64::from(shape.threads().div_ceil(32));
        let all = Warp::bytes(kernel, shape, races).saturating_add(size_of::<Warp>() as u64).saturating_mul(warps);
        all.saturating_add(shape.total_shared.into())
    }

    /// The memory of a block, for which `charged` bytes are counted; [`again`](Self::again) makes it a block.
    pub(super) fn new(place: Place<'r, 'm>, charged: u64) -> Made<Self> {
        let mut block = Block { index: [0; 3], warps: Vec::new(), place, charged };
        let (kernel, shape, races) = (block.place.kernel, block.place.shape, block.place.common.checks.races);
        let warps = shape.threads().div_ceil(32);
        room::reserve(&mut block.warps, warps as usize)?;
        room::reserve(&mut block.place.arrived, 16 * warps as usize)?;
        for number in 0..warps {
            block.warps.push(Warp::new(kernel, shape, number, races)?);
        }
        Ok(block)
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
            let arrived = self.place.arrived.iter().filter(|one| one.number == number);
            let all = arrived.fold(0u32, |all, one| all.saturating_add(one.threads));
            let (mut left, mut lanes) = (wanted.unwrap_or(alive).saturating_sub(all), [0u32; MOST_WARPS]);
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
        let mut times = [0u32; MOST_WARPS];
        let mut acquired = 0;
        for ((warp, time), _) in self.warps.iter().zip(&mut times).zip(lanes).filter(|(_, lanes)| is_here(lanes)) {
            *time = warp.order.time.saturating_add(1);
            acquired = acquired.max(warp.order.acquired);
        }
        for arrival in self.place.arrived.iter().filter(|one| one.number == number) {
            if let Some(time) = times.get_mut(arrival.warp as usize) {
                *time = (*time).max(arrival.time.saturating_add(1));
            }
            acquired = acquired.max(arrival.acquired);
        }
        self.place.arrived.retain(|one| one.number != number);
        // Later than all that any thread of the block did, also one that has ended.
        let base = self.warps.iter().map(|warp| warp.order.time).max().unwrap_or_default().saturating_add(1);
        for (warp, lanes) in self.warps.iter_mut().zip(lanes).filter(|(_, lanes)| is_here(lanes)) {
            let mut results = smallvec::SmallVec::<[(u32, u32); 2]>::new();
            for group in warp.groups.iter_mut().filter(|group| is_at(group, number) && group.mask & lanes != 0) {
                group.wait = Wait::No;
                results.push((group.pc, group.mask));
                group.pc += 1;
            }
            warp.order.acquired = acquired;
            if whole {
                (warp.order.base, warp.order.time) = (base, base);
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
