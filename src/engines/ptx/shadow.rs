//! Who touched which bytes: for races and for reads before the first write.
//!
//! A cell stands for four bytes, and keeps the last write and two reads of different threads. An access is ordered after an
//! earlier one by the same thread; by a barrier of the block between them; within a warp by what its lanes know of each other
//! (warp barriers tell it); between warps and blocks by a release that the later side has seen in memory. A release is a number
//! that rises over the whole launch: who sees it is taken for ordered after all that came before it, of any block, so that a race
//! is missed now and then, and none is invented. Writes of the value that is there already are no race.

use super::finding::Found;
use crate::core::error::FindingKind;
use parking_lot::{Mutex, MutexGuard};

/// One access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    /// The number of the block plus one; 0 is no access.
    pub(super) block: u32,
    /// The block's barriers before it.
    pub(super) epoch: u32,
    /// The time of its warp.
    pub(super) time: u32,
    pub(super) thread: u16,
    /// Which of the four bytes.
    pub(super) bytes: u8,
    pub(super) atomic: bool,
    /// The read of an atomic operation.
    pub(super) updates: bool,
    /// The releases of all blocks before it.
    pub(super) tick: u32,
    /// The instruction.
    pub(super) pc: u32,
}

impl Stamp {
    /// With the bytes of an access by the same thread, if nothing can have come between the two.
    fn with(self, other: &Stamp) -> Stamp {
        let Stamp { block, epoch, time, thread, atomic, tick, .. } = *other;
        let one = (self.block, self.epoch, self.time, self.thread, self.atomic, self.tick)
            == (block, epoch, time, thread, atomic, tick);
        Stamp { bytes: if one { self.bytes | other.bytes } else { self.bytes }, ..self }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cell {
    write: Stamp,
    reads: [Stamp; 2],
    written: u8,
    /// The last release that its value tells of.
    told: u32,
}

/// What a lane knows of others when it accesses memory.
pub(super) trait Knows {
    /// Whether the earlier access happens before the present one.
    fn is_after(&self, lane: usize, earlier: &Stamp) -> bool;
}

/// What is wrong with an access, before anybody is told of it.
pub(super) enum Wrong {
    Race { other: Stamp, wrote: bool },
    Unwritten,
}

impl Cell {
    /// What it told so far; from now on it tells of that release too.
    pub(super) fn tell(&mut self, release: u32) -> u32 {
        let before = self.told;
        self.told = before.max(release);
        before
    }

    /// Notes a read.
    pub(super) fn read(
        &mut self,
        stamp: Stamp,
        lane: usize,
        knows: &impl Knows,
        fresh: bool,
        races: bool,
    ) -> Option<Wrong> {
        if fresh && stamp.bytes & !self.written != 0 {
            return Some(Wrong::Unwritten);
        }
        if !races {
            return None;
        }
        let Cell { write, reads: [first, second], .. } = self;
        let conflict = write.block != 0
            && write.bytes & stamp.bytes != 0
            && !(write.atomic && stamp.atomic)
            && !knows.is_after(lane, write);
        if conflict {
            return Some(Wrong::Race { other: *write, wrote: true });
        }
        if stamp.updates {
            // The write that follows stands for it.
            return None;
        }
        let same = |one: &Stamp| (one.block, one.thread) == (stamp.block, stamp.thread);
        if same(first) {
            *first = stamp.with(first);
        } else if same(second) || first.block != 0 && !knows.is_after(lane, first) {
            // What comes after the first and the second comes after this one as well, or is a race with one of them.
            *second = stamp.with(second);
        } else {
            (*first, *second) = (*second, stamp);
        }
        None
    }

    /// Notes a write; `same` if it changes nothing.
    pub(super) fn write(
        &mut self,
        stamp: Stamp,
        lane: usize,
        knows: &impl Knows,
        same: bool,
        races: bool,
    ) -> Option<Wrong> {
        let was_written = self.written & stamp.bytes == stamp.bytes;
        self.written |= stamp.bytes;
        if !races {
            return None;
        }
        let conflict = |earlier: &Stamp| {
            earlier.block != 0
                && earlier.bytes & stamp.bytes != 0
                && !(earlier.atomic && stamp.atomic)
                && !knows.is_after(lane, earlier)
        };
        if !(same && was_written) {
            if conflict(&self.write) {
                return Some(Wrong::Race { other: self.write, wrote: true });
            }
            if let Some(other) = self.reads.iter().find(|read| conflict(read)) {
                return Some(Wrong::Race { other: *other, wrote: false });
            }
        }
        self.write = stamp.with(&self.write);
        None
    }

    pub(super) fn is_written(&self, bytes: u8) -> bool {
        self.written & bytes == bytes
    }
}

impl Wrong {
    pub(super) fn found(&self, lane: usize, access: &str, place: &str, other: impl Fn(&Stamp) -> String) -> Box<Found> {
        match self {
            Wrong::Unwritten => {
                let detail = format!("{access} {place}, which nothing wrote before");
                Found::new(FindingKind::Uninitialised, lane, detail)
            }
            Wrong::Race { other: earlier, wrote } => {
                let did = if *wrote { "written" } else { "read" };
                let detail = format!("{access} {place}, {did} by {} without an order between them", other(earlier));
                Found::new(FindingKind::Race, lane, detail)
            }
        }
    }
}

/// Bytes of a page of cells.
const PAGE: u64 = 4096;
const CELLS: usize = PAGE as usize / 4;

/// A page of cells, made when it is first touched.
type Page = Mutex<Option<Box<[Cell]>>>;

/// A page at which a thread works.
pub(super) type Held<'s> = MutexGuard<'s, Option<Box<[Cell]>>>;

/// The cells of an area of global memory.
pub(super) struct GlobalShadow {
    pages: Vec<Page>,
}

impl GlobalShadow {
    pub(super) fn new(bytes: u64) -> Self {
        let pages = (0..bytes.div_ceil(PAGE)).map(|_| Mutex::new(None)).collect();
        GlobalShadow { pages }
    }

    /// Works on the cells of `bytes` bytes at `at`. The page stays held for the next access.
    pub(super) fn cells<'s>(
        &'s self,
        held: &mut Option<Held<'s>>,
        at: u64,
        bytes: u32,
        f: &mut dyn FnMut(&mut Cell, u8) -> Option<Wrong>,
    ) -> Option<Wrong> {
        let page = self.pages.get((at / PAGE) as usize)?;
        if !held.as_ref().is_some_and(|held| std::ptr::eq(MutexGuard::mutex(held), page)) {
            // Not two at a time: another thread may want them the other way round.
            *held = None;
            *held = Some(page.lock());
        }
        let cells = held.as_mut()?.get_or_insert_with(|| vec![Cell::default(); CELLS].into_boxed_slice());
        each_cell(cells, at % PAGE, bytes, f)
    }

    /// The first byte that nothing wrote, of `bytes` from `skip` on.
    pub(super) fn unwritten(&self, skip: u64, bytes: u64) -> Option<u64> {
        let end = skip + bytes;
        for (number, page) in self.pages.iter().enumerate() {
            let start = number as u64 * PAGE;
            let (from, to) = (skip.max(start), end.min(start + PAGE));
            let page = page.lock();
            let is_written = |at: u64| {
                let cell = page.as_ref().and_then(|cells| cells.get((at - start) as usize / 4));
                cell.is_some_and(|cell| cell.is_written(1 << (at % 4)))
            };
            if let Some(at) = (from..to).find(|at| !is_written(*at)) {
                return Some(at - skip);
            }
        }
        None
    }
}

/// The cells of an access of at most 8 bytes that is aligned.
pub(super) fn each_cell(
    cells: &mut [Cell],
    at: u64,
    bytes: u32,
    f: &mut dyn FnMut(&mut Cell, u8) -> Option<Wrong>,
) -> Option<Wrong> {
    let first = (at / 4) as usize;
    match bytes {
        8 => f(cells.get_mut(first)?, 0xf).or_else(|| f(cells.get_mut(first + 1)?, 0xf)),
        _ => f(cells.get_mut(first)?, ((1u8 << bytes) - 1) << (at % 4)),
    }
}
