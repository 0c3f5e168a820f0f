//! What the shadow is told of each access, and what orders the accesses of a warp after others.

use super::access::{Run, masked};
use super::block::Place;
use super::cells::{Does, Noted, Of, Stamp, Wrong};
use super::code::Order;
use super::finding::Found;
use super::lanes::LANES;
use super::memory::{self, Memory};
use super::shadow::Held;
use super::types::Space;
use super::warp::{Warp, lanes_of};

impl Warp {
    /// Whether the shadow is told of an access.
    pub(super) fn is_noted(&self, place: &Place<'_, '_>, run: &Run) -> bool {
        let checks = place.common.checks;
        match run.space {
            Space::Shared => !place.cells.is_empty(),
            Space::Global => checks.races || checks.initialised,
            _ => false,
        }
    }

    /// What all lanes of an access have in common, for the shadow. The thread is that of lane 0.
    pub(super) fn noted(&self, place: &Place<'_, '_>, run: &Run, does: Does) -> Noted {
        let tick = place.common.tick.load(std::sync::atomic::Ordering::Relaxed);
        let pc = self.groups.iter().find(|group| group.mask & run.mask != 0).map_or(0, |group| group.pc);
        let stamp = Stamp::new(self.order.block, self.order.time, tick, pc, run.order != Order::Weak);
        let stamp = stamp.of_thread(self.number * LANES as u32);
        Noted { stamp, fresh: place.common.checks.initialised, does }
    }

    /// Tells the shadow of a read by all lanes of a run.
    pub(super) fn note_read(&self, place: &mut Place<'_, '_>, run: &Run, further: u64) -> Result<(), Box<Found>> {
        if !self.is_noted(place, run) {
            return Ok(());
        }
        let noted = self.noted(place, run, Does::Read);
        let of = Of { knows: &self.order, ledger: place.ledger };
        if run.space == Space::Shared {
            let wrong = place.cells.read(&noted, run, 0u64.wrapping_sub(further), run.mask, &of);
            return wrong.map_or(Ok(()), |wrong| Err(self.describe(place, run, further, noted.does, wrong)));
        }
        let memory: &Memory<'_> = place.memory;
        let Some(area) = run.area.and_then(|at| memory.areas.get(at)) else {
            return self.note(place, run, further, Does::Read);
        };
        let Some(shadow) = &area.shadow else { return Ok(()) };
        let noted = Noted { fresh: noted.fresh && area.fresh, ..noted };
        let (start, mut held, mut left) = ((area.start & !7).wrapping_sub(further), None, run.mask);
        while left != 0 {
            let first = run.address(left.trailing_zeros() as usize, 0);
            let Some((cells, at)) = shadow.page(&mut held, first.wrapping_sub(start), of.ledger)? else { break };
            // All lanes in that page.
            let page = first.wrapping_sub(at);
            let here = run.addresses.iter().enumerate().fold(0u32, |here, (lane, address)| {
                here | u32::from(shadow.are_together(address.wrapping_sub(page))) << lane
            });
            if let Some(wrong) = cells.read(&noted, run, page, left & here, &of) {
                drop(held);
                return Err(self.describe(place, run, further, noted.does, wrong));
            }
            left &= !here;
        }
        Ok(())
    }

    /// Tells the shadow of an access by all lanes of a run, one after the other; of no write of values that are known.
    pub(super) fn note(
        &self,
        place: &mut Place<'_, '_>,
        run: &Run,
        further: u64,
        does: Does,
    ) -> Result<(), Box<Found>> {
        if !self.is_noted(place, run) {
            return Ok(());
        }
        let (noted, mut held) = (self.noted(place, run, does), None);
        lanes_of(run.mask).try_for_each(|lane| self.note_lane(place, run, further, lane, noted, None, &mut held))
    }

    #[cold]
    fn describe(
        &self,
        place: &Place<'_, '_>,
        run: &Run,
        further: u64,
        does: Does,
        (wrong, lane): (Wrong, usize),
    ) -> Box<Found> {
        describe(place, run, lane, run.address(lane, further), matches!(does, Does::Write { .. }), wrong)
    }

    /// Tells the shadow of an access by one lane, with the value that it writes. `held` is the page of the lane before.
    #[expect(clippy::too_many_arguments, reason = "called for each lane")]
    #[inline(always)]
    pub(super) fn note_lane<'m>(
        &self,
        place: &mut Place<'m, '_>,
        run: &Run,
        further: u64,
        lane: usize,
        mut noted: Noted,
        value: Option<u64>,
        held: &mut Option<Held<'m>>,
    ) -> Result<(), Box<Found>> {
        let address = run.address(lane, further);
        noted.stamp = noted.stamp.of_thread(noted.stamp.thread() + lane as u32);
        let of = Of { knows: &self.order, ledger: place.ledger };
        let same = |there: u64| Does::Write { same: value.is_some_and(|value| there == masked(value, run.bytes)) };
        let wrong = if run.space == Space::Shared {
            if value.is_some() {
                noted.does = same(memory::load_bytes(&place.shared, address, run.bytes).unwrap_or_default());
            }
            place.cells.note(&noted, address, run.bytes, lane, &of)
        } else {
            let memory: &'m Memory<'_> = place.memory;
            let area = run.area(memory, address).and_then(|area| Some((area, area.shadow.as_ref()?)));
            let Some((area, shadow)) = area else { return Ok(()) };
            let page = shadow.page(held, address - (area.start & !7), of.ledger)?;
            let Some((cells, at)) = page else { return Ok(()) };
            if value.is_some() {
                // While the page is held: others write as well.
                // SAFETY: as in `read`.
                noted.does = same(unsafe { area.load(address, run.bytes) });
            }
            noted.fresh &= area.fresh;
            cells.note(&noted, at, run.bytes, lane, &of)
        };
        match wrong {
            Some(wrong) => Err(self.describe(place, run, further, noted.does, (wrong, lane))),
            None => Ok(()),
        }
    }

    /// A release: what came before, of this warp and of what it has seen, precedes what sees it.
    fn release(&self, place: &Place<'_, '_>) -> u32 {
        use std::sync::atomic::Ordering::{AcqRel, Acquire};
        // It stays at the largest number; see `Order::is_after`.
        let next = place.common.tick.fetch_update(AcqRel, Acquire, |tick| tick.checked_add(1));
        next.map_or(u32::MAX, |before| before + 1)
    }

    pub(super) fn fence(&mut self, place: &Place<'_, '_>) {
        if place.common.checks.races {
            self.order.fenced = self.release(place);
        }
    }

    /// Of what a strong write tells: of all before it, or of what was before the last fence.
    pub(super) fn told(&self, place: &Place<'_, '_>, order: Order) -> u32 {
        match order {
            Order::Release if place.common.checks.races => self.release(place),
            _ => self.order.fenced,
        }
    }

    /// A strong access by one lane: it sees the releases that the memory tells of, and a write tells of its own, which is 0 of a read.
    /// The page stays held, so that the access itself is not parted from this.
    pub(super) fn synchronise<'m>(
        &mut self,
        place: &mut Place<'m, '_>,
        run: &Run,
        address: u64,
        told: u32,
        held: &mut Option<Held<'m>>,
    ) -> Result<(), Box<Found>> {
        if !place.common.checks.races {
            return Ok(());
        }
        let ledger = place.ledger;
        let seen = match run.space {
            Space::Shared => place.cells.tell(address, run.bytes, told, ledger),
            Space::Global => {
                let memory: &'m Memory<'_> = place.memory;
                let Some(area) = run.area(memory, address) else { return Ok(()) };
                match &area.shadow {
                    Some(shadow) => match shadow.page(held, address - (area.start & !7), ledger)? {
                        Some((cells, place)) => cells.tell(place, run.bytes, told, ledger),
                        None => Ok(0),
                    },
                    // What is too large for a shadow may tell of everything.
                    None if area.writable => Ok(place.common.tick.load(std::sync::atomic::Ordering::Acquire)),
                    None => Ok(0),
                }
            }
            _ => Ok(0),
        };
        let seen = seen.map_err(|wrong| wrong.found(0, "", "", |_| String::new()))?;
        self.order.acquired = self.order.acquired.max(seen);
        Ok(())
    }
}

/// A finding of the shadow, with the memory and the other thread.
#[cold]
fn describe(place: &Place<'_, '_>, run: &Run, lane: usize, address: u64, writes: bool, wrong: Wrong) -> Box<Found> {
    let access = format!("{} of {} bytes at", if writes { "write" } else { "read" }, run.bytes);
    let spot = match run.space {
        Space::Shared => {
            let names = place.kernel.shared.iter();
            let name = names.clone().find(|(_, at, bytes)| address >= *at && address - at < *bytes);
            match name {
                Some((name, at, _)) => format!("shared address {address:#x}, byte {} of `{name}`", address - at),
                None => format!("shared address {address:#x}"),
            }
        }
        _ => match place.memory.find(address, run.bytes.into()).and_then(|at| place.memory.areas.get(at)) {
            Some(area) => format!("{address:#x}, byte {} of {}", address - area.start, area.name),
            None => format!("{address:#x}"),
        },
    };
    wrong.found(lane, &access, &spot, |other| {
        let thread = place.shape.thread(other.thread());
        let one = other.pc().and_then(|pc| place.kernel.code.get(pc as usize));
        let line = one.and_then(|one| place.kernel.places.get(one.place as usize));
        let line = line.map_or("a line".into(), |spot| format!("line {}", spot.text.line));
        let block = place.shape.block_index(u64::from(other.block) - 1);
        format!("thread {thread:?} of block {block:?} at {line} of the PTX")
    })
}
