//! What the shadow is told of each access, and what orders the accesses of a warp after others.

use super::access::{Run, masked};
use super::block::Place;
use super::code::Order;
use super::finding::Found;
use super::lanes::LANES;
use super::memory::{self, Memory};
use super::shadow::{Cell, Held, Stamp, Wrong, each_cell};
use super::types::Space;
use super::warp::{Warp, lanes_of};

/// What an access does, for the shadow.
#[derive(Clone, Copy)]
pub(super) enum Touch {
    Read,
    /// Reads what it replaces.
    Replaced,
    /// Writes this value.
    Write(u64),
    /// Writes what it makes of the old value.
    Update,
}

impl Touch {
    /// Of a write: whether it changes nothing.
    fn same(self, bytes: u32, there: impl FnOnce() -> Option<u64>) -> Option<bool> {
        match self {
            Touch::Read | Touch::Replaced => None,
            Touch::Write(value) => Some(there() == Some(masked(value, bytes))),
            Touch::Update => Some(false),
        }
    }
}

impl Warp {
    fn stamp(&self, place: &Place<'_, '_>, lane: usize, pc: u32, atomic: bool) -> Stamp {
        Stamp {
            block: self.order.block,
            epoch: self.order.epoch,
            time: self.order.time,
            thread: (self.number as usize * LANES + lane) as u16,
            bytes: 0,
            atomic,
            updates: false,
            tick: place.common.tick.load(std::sync::atomic::Ordering::Relaxed),
            pc,
        }
    }

    /// Whether the shadow is told of an access.
    pub(super) fn is_noted(&self, place: &Place<'_, '_>, run: &Run) -> bool {
        let checks = place.common.checks;
        match run.space {
            Space::Shared => !place.cells.is_empty(),
            Space::Global => checks.races || checks.initialised,
            _ => false,
        }
    }

    /// Tells the shadow of an access by all lanes of a run.
    pub(super) fn note(
        &self,
        place: &mut Place<'_, '_>,
        run: &Run,
        further: u64,
        touch: Touch,
    ) -> Result<(), Box<Found>> {
        let mut held = None;
        match self.is_noted(place, run) {
            true => lanes_of(run.mask).try_for_each(|lane| self.note_lane(place, run, further, lane, touch, &mut held)),
            false => Ok(()),
        }
    }

    /// Tells the shadow of an access by one lane. `held` is the page of the lane before.
    pub(super) fn note_lane<'m>(
        &self,
        place: &mut Place<'m, '_>,
        run: &Run,
        further: u64,
        lane: usize,
        touch: Touch,
        held: &mut Option<Held<'m>>,
    ) -> Result<(), Box<Found>> {
        let checks = place.common.checks;
        let pc = self.groups.iter().find(|group| group.mask & run.mask != 0).map_or(0, |group| group.pc);
        let address = run.address(lane, further);
        let stamp = self.stamp(place, lane, pc, run.order != Order::Weak);
        let stamp = Stamp { updates: matches!(touch, Touch::Replaced), ..stamp };
        let wrong = if run.space == Space::Shared {
            let same = touch.same(run.bytes, || memory::load_bytes(&place.shared, address, run.bytes));
            let mut at = |cell: &mut Cell, bytes| {
                self.touch(Stamp { bytes, ..stamp }, lane, same, checks.initialised, checks.races, cell)
            };
            each_cell(&mut place.cells, address, run.bytes, &mut at)
        } else {
            let memory: &'m Memory<'_> = place.memory;
            let area = run.area(memory, address).and_then(|area| Some((area, area.shadow.as_ref()?)));
            let Some((area, shadow)) = area else { return Ok(()) };
            // SAFETY: as in `read`.
            let there = || Some(unsafe { memory::load(area.host(address), run.bytes) });
            let (fresh, mut same) = (checks.initialised && area.fresh, None);
            let mut at = |cell: &mut Cell, bytes| {
                // While the page is held: others write as well.
                let same = *same.get_or_insert_with(|| touch.same(run.bytes, there));
                self.touch(Stamp { bytes, ..stamp }, lane, same, fresh, checks.races, cell)
            };
            shadow.cells(held, address - (area.start & !7), run.bytes, &mut at)
        };
        match wrong {
            Some(wrong) => {
                Err(describe(place, run, lane, address, !matches!(touch, Touch::Read | Touch::Replaced), &wrong))
            }
            None => Ok(()),
        }
    }

    /// Notes an access in a cell; `same` is of a write, and tells whether it changes nothing.
    fn touch(
        &self,
        stamp: Stamp,
        lane: usize,
        same: Option<bool>,
        fresh: bool,
        races: bool,
        cell: &mut Cell,
    ) -> Option<Wrong> {
        match same {
            Some(same) => cell.write(stamp, lane, &self.order, same, races),
            None => cell.read(stamp, lane, &self.order, fresh, races),
        }
    }

    /// A release: what came before, of this warp and of what it has seen, precedes what sees it.
    fn release(&self, place: &Place<'_, '_>) -> u32 {
        place.common.tick.fetch_add(1, std::sync::atomic::Ordering::AcqRel) + 1
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
    ) {
        if !place.common.checks.races {
            return;
        }
        let mut seen = 0;
        let mut at = |cell: &mut Cell, _: u8| {
            seen = seen.max(cell.tell(told));
            None
        };
        match run.space {
            Space::Shared => {
                each_cell(&mut place.cells, address, run.bytes, &mut at);
            }
            Space::Global => {
                let memory: &'m Memory<'_> = place.memory;
                let Some(area) = run.area(memory, address) else { return };
                match &area.shadow {
                    Some(shadow) => {
                        shadow.cells(held, address - (area.start & !7), run.bytes, &mut at);
                    }
                    // What is too large for a shadow may tell of everything.
                    None if area.writable => seen = place.common.tick.load(std::sync::atomic::Ordering::Acquire),
                    None => {}
                }
            }
            _ => {}
        }
        self.order.acquired = self.order.acquired.max(seen);
    }
}

/// A finding of the shadow, with the memory and the other thread.
fn describe(place: &Place<'_, '_>, run: &Run, lane: usize, address: u64, writes: bool, wrong: &Wrong) -> Box<Found> {
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
        let thread = place.shape.thread(other.thread.into());
        let line = place.kernel.code.get(other.pc as usize).and_then(|one| place.kernel.places.get(one.place as usize));
        let line = line.map_or(0, |spot| spot.text.line);
        let block = place.shape.block_index(u64::from(other.block) - 1);
        format!("thread {thread:?} of block {block:?} at line {line} of the PTX")
    })
}
