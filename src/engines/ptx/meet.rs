//! What several lanes of a warp do together, and barriers.

use super::access::combine;
use super::block::{Arrival, Place};
use super::code::{Barrier, Instruction, Op, Shuffle, ShuffleMode, Voting};
use super::execute::Next;
use super::finding::Found;
use super::lanes::{LANES, Row};
use super::warp::{Group, Order, Wait, Warp, lanes_of};
use crate::core::error::FindingKind;

impl Warp {
    /// Executes it for the lanes whose partners are here; the others wait.
    pub(super) fn together(
        &mut self,
        instruction: &Instruction,
        chosen: usize,
        active: u32,
    ) -> Result<Next, Box<Found>> {
        let Some(group) = self.groups.get(chosen).copied() else { return Ok(Next::Choose) };
        let masks = self.masks(instruction);
        let alive = self.alive();
        let mut ready = 0;
        for lane in lanes_of(active) {
            let mask = masks.get(lane).copied().unwrap_or_default() as u32;
            if mask >> lane & 1 == 0 {
                let detail = format!("its mask {mask:#010x} does not contain the lane itself");
                return Err(Found::new(FindingKind::InactiveLane, lane, detail));
            }
            if mask & alive & !active == 0 {
                ready |= 1 << lane;
            }
        }
        let past = group.mask & !active;
        if ready == 0 {
            self.part(chosen, past, active, Wait::Lanes);
            return Ok(Next::Choose);
        }
        self.perform(instruction, &masks, ready)?;
        // The others bring lanes together, and order no memory.
        if matches!(instruction.op, Op::WarpBarrier) {
            classes(&masks, ready).into_iter().for_each(|class| self.order.meet(class));
        }
        if ready == group.mask {
            return Ok(Next::On);
        }
        self.part(chosen, past | ready, active & !ready, Wait::Lanes);
        Ok(Next::Choose)
    }

    /// Of the chosen group the lanes `past` go on behind the instruction, and `waiting` stay.
    fn part(&mut self, chosen: usize, past: u32, waiting: u32, wait: Wait) {
        let Some(group) = self.groups.get_mut(chosen) else { return };
        let pc = group.pc;
        (group.mask, group.wait) = (waiting, wait);
        if waiting == 0 {
            self.groups.swap_remove(chosen);
        }
        if past != 0 {
            self.groups.push(Group { pc: pc + 1, mask: past, wait: Wait::No });
        }
    }

    /// The lanes with which each lane executes it.
    fn masks(&self, instruction: &Instruction) -> Row {
        let [a, b, _] = instruction.from;
        *self.row(match &instruction.op {
            Op::WarpBarrier => a,
            Op::Shuffle(shuffle) => shuffle.mask,
            _ => b,
        })
    }

    fn perform(&mut self, instruction: &Instruction, masks: &Row, ready: u32) -> Result<(), Box<Found>> {
        let [a, ..] = instruction.from;
        let mut values = [0; LANES];
        match &instruction.op {
            Op::Shuffle(shuffle) => return self.shuffle(shuffle, instruction, masks, ready),
            Op::Vote(vote) => {
                let truths = if vote.negated { !self.truths(a) } else { self.truths(a) };
                for (value, mask) in values.iter_mut().zip(masks) {
                    let all = *mask as u32 & ready;
                    let yes = truths & all;
                    *value = u64::from(match vote.voting {
                        Voting::All => u32::from(yes == all),
                        Voting::Any => u32::from(yes != 0),
                        Voting::Uniform => u32::from(yes == all || yes == 0),
                        Voting::Ballot => yes,
                        Voting::Count => yes.count_ones(),
                    });
                }
            }
            Op::Match { all, bits, agreed } => {
                let row = self.row(a).map(|value| value << (64 - bits));
                let mut agree = [0; LANES];
                for (lane, (value, agree)) in values.iter_mut().zip(&mut agree).enumerate() {
                    let mask = masks.get(lane).copied().unwrap_or_default() as u32 & ready;
                    let same = lanes_of(mask).filter(|other| row.get(*other) == row.get(lane));
                    let same = same.fold(0u32, |same, other| same | 1 << other);
                    *agree = u64::from(same == mask);
                    *value = u64::from(if !all || same == mask { same } else { 0 });
                }
                if let Some(agreed) = agreed {
                    self.blend(*agreed, &agree, ready);
                }
            }
            Op::Reduce(how, ty) => {
                let row = *self.row(a);
                for (value, mask) in values.iter_mut().zip(masks) {
                    let all = lanes_of(*mask as u32 & ready).filter_map(|lane| row.get(lane).copied());
                    *value = all.reduce(|x, y| combine(*how, *ty, x, y, 0)).unwrap_or_default();
                }
            }
            _ => return Ok(()),
        }
        self.blend(instruction.to, &values, ready);
        Ok(())
    }

    fn shuffle(
        &mut self,
        shuffle: &Shuffle,
        instruction: &Instruction,
        masks: &Row,
        ready: u32,
    ) -> Result<(), Box<Found>> {
        let [a, b, c] = instruction.from;
        let (row, by, control) = (*self.row(a), *self.row(b), *self.row(c));
        let (mut values, mut found) = ([0; LANES], [0; LANES]);
        for lane in lanes_of(ready) {
            let at = |row: &Row| row.get(lane).copied().unwrap_or_default() as u32;
            let (by, control, own) = (at(&by) & 31, at(&control), lane as u32);
            let segment = control >> 8 & 31;
            let most = own & segment | control & 31 & !segment;
            let (source, inside) = match shuffle.mode {
                ShuffleMode::Up => (own.wrapping_sub(by), own as i32 - by as i32 >= most as i32),
                ShuffleMode::Down => (own + by, own + by <= most),
                ShuffleMode::Butterfly => (own ^ by, own ^ by <= most),
                ShuffleMode::Index => {
                    let source = own & segment | by & !segment;
                    (source, source <= most)
                }
            };
            let source = if inside { source } else { own };
            if at(masks) & ready & 1 << source == 0 {
                let detail = format!("it takes a value from lane {source}, which does not take part");
                return Err(Found::new(FindingKind::InactiveLane, lane, detail));
            }
            if let (Some(value), Some(found)) = (values.get_mut(lane), found.get_mut(lane)) {
                *value = row.get(source as usize).copied().unwrap_or_default() & 0xffff_ffff;
                *found = inside.into();
            }
        }
        self.blend(instruction.to, &values, ready);
        if let Some(register) = shuffle.found {
            self.blend(register, &found, ready);
        }
        Ok(())
    }

    /// No group can go on. Lanes may wait for each other at different warp barriers, which is allowed; true if some go on.
    pub(super) fn settle(&mut self, place: &Place<'_, '_>, at: &mut u32) -> Result<bool, Box<Found>> {
        let code = &place.kernel.code;
        let waiting = |group: &&Group| group.wait == Wait::Lanes;
        if let Some(first) = self.groups.iter().find(waiting).copied() {
            *at = first.pc;
            return match self.release_lanes(code) {
                true => Ok(true),
                false => Err(self.apart(&first)),
            };
        }
        let is_aligned = |group: &&Group| match code.get(group.pc as usize).map(|one| &one.op) {
            Some(Op::Barrier(barrier)) => barrier.aligned,
            _ => false,
        };
        if let (Some(first), true) = (self.groups.iter().find(is_aligned).copied(), self.groups.len() > 1) {
            *at = first.pc;
            return Err(self.apart(&first));
        }
        Ok(false)
    }

    /// Some lanes are at this instruction, and their partners are at another one.
    fn apart(&self, group: &Group) -> Box<Found> {
        let others = self.alive() & !group.mask;
        let detail = format!("lanes {:#010x} of the warp are here, and lanes {others:#010x} elsewhere", group.mask);
        Found::new(FindingKind::Divergence, lanes_of(group.mask).next().unwrap_or_default(), detail)
    }

    fn release_lanes(&mut self, code: &[Instruction]) -> bool {
        let alive = self.alive();
        let mut masks = [0u64; LANES];
        let mut here = 0;
        for group in self.groups.iter().filter(|group| group.wait == Wait::Lanes) {
            let Some(instruction) = code.get(group.pc as usize) else { continue };
            if !matches!(instruction.op, Op::WarpBarrier) {
                continue;
            }
            let own = self.masks(instruction);
            for (lane, (mask, own)) in masks.iter_mut().zip(own).enumerate() {
                if group.mask >> lane & 1 != 0 {
                    *mask = own;
                }
            }
            here |= group.mask;
        }
        let complete = |mask: u32| {
            let partners = mask & alive;
            partners & !here == 0
                && lanes_of(partners).all(|lane| masks.get(lane).is_some_and(|other| *other as u32 == mask))
        };
        let go = lanes_of(here).filter(|lane| complete(masks.get(*lane).copied().unwrap_or_default() as u32));
        let go = go.fold(0u32, |go, lane| go | 1 << lane);
        for class in classes(&masks, go) {
            self.order.meet(class);
        }
        for chosen in (0..self.groups.len()).rev() {
            let Some(group) = self.groups.get(chosen).copied() else { continue };
            if group.wait == Wait::Lanes && group.mask & go != 0 {
                self.part(chosen, group.mask & go, group.mask & !go, Wait::Lanes);
            }
        }
        go != 0
    }

    pub(super) fn barrier(
        &mut self,
        place: &mut Place<'_, '_>,
        barrier: &Barrier,
        instruction: &Instruction,
        chosen: usize,
        active: u32,
    ) -> Result<Next, Box<Found>> {
        let [number, count, predicate] = instruction.from;
        let lane = lanes_of(active).next().unwrap_or_default();
        let first = |row: &Row| row.get(lane).copied().unwrap_or_default() as u32;
        let number = first(self.row(number));
        let count = barrier.counted.then(|| first(self.row(count)));
        if number > 15 || count == Some(0) {
            let detail = format!("barrier {number} of {count:?} threads: there are 16, of one thread at least");
            return Err(Found::new(FindingKind::Divergence, lane, detail));
        }
        if barrier.arrive {
            let Order { time, acquired, .. } = self.order;
            place.arrive(Arrival { number, warp: self.number, threads: active.count_ones(), time, acquired });
            // What it does from now on comes after that.
            self.order.time = time.saturating_add(1);
            return Ok(Next::On);
        }
        if barrier.reduce.is_some() {
            let truths = if barrier.negated { !self.truths(predicate) } else { self.truths(predicate) };
            if let Some((yes, all)) = place.votes.get_mut(number as usize) {
                *yes = yes.saturating_add((truths & active).count_ones());
                *all = all.saturating_add(active.count_ones());
            }
        }
        let Some(group) = self.groups.get(chosen).copied() else { return Ok(Next::Choose) };
        self.part(chosen, group.mask & !active, active, Wait::Block { number, count });
        Ok(Next::Choose)
    }
}

/// The different masks of some lanes.
fn classes(masks: &Row, lanes: u32) -> Vec<u32> {
    let mut all: Vec<u32> = Vec::new();
    for lane in lanes_of(lanes) {
        let mask = masks.get(lane).copied().unwrap_or_default() as u32 & lanes;
        if !all.contains(&mask) {
            all.push(mask);
        }
    }
    all
}
