//! Who touched which bytes: for races and for reads before the first write.
//!
//! A cell stands for four bytes, and keeps the last write and two reads of different threads. An access is ordered after an
//! earlier one by the same thread; by a barrier of the block between them; within a warp by what its lanes know of each other
//! (warp barriers tell it); between warps and blocks by a release that the later side has seen in memory. A release is a number
//! that rises over the whole launch: who sees it is taken for ordered after all that came before it, of any block, so that a race
//! is missed now and then, and none is invented. Writes of the value that is there already are no race.

use super::access::Run;
use super::finding::Found;
use super::warp::lanes_of;
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
    /// The releases of all blocks before it.
    pub(super) tick: u32,
    /// The instruction.
    pub(super) pc: u32,
    pub(super) thread: u16,
    /// Which of the four bytes.
    pub(super) bytes: u8,
    pub(super) atomic: bool,
}

impl Stamp {
    /// With the bytes of an access by the same thread, if nothing can have come between the two.
    #[inline(always)]
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

    /// Whether a read races with the last write.
    #[inline(always)]
    fn read_conflict(&self, stamp: &Stamp, lane: usize, knows: &impl Knows) -> Option<Wrong> {
        let write = &self.write;
        let conflict = write.block != 0
            && write.bytes & stamp.bytes != 0
            && !(write.atomic && stamp.atomic)
            && !knows.is_after(lane, write);
        conflict.then_some(Wrong::Race { other: *write, wrote: true })
    }

    /// Keeps a read.
    #[inline(always)]
    fn keep_read(&mut self, stamp: Stamp, lane: usize, knows: &impl Knows) {
        let [first, second] = &mut self.reads;
        let same = |one: &Stamp| (one.block, one.thread) == (stamp.block, stamp.thread);
        if same(first) {
            *first = stamp.with(first);
        } else if same(second) || first.block != 0 && !knows.is_after(lane, first) {
            // What comes after the first and the second comes after this one as well, or is a race with one of them.
            *second = stamp.with(second);
        } else {
            (*first, *second) = (*second, stamp);
        }
    }

    /// Notes a write of something new.
    #[inline(always)]
    fn write_conflict(&self, stamp: &Stamp, lane: usize, knows: &impl Knows) -> Option<Wrong> {
        let conflict = |earlier: &Stamp| {
            earlier.block != 0
                && earlier.bytes & stamp.bytes != 0
                && !(earlier.atomic && stamp.atomic)
                && !knows.is_after(lane, earlier)
        };
        if conflict(&self.write) {
            return Some(Wrong::Race { other: self.write, wrote: true });
        }
        let other = self.reads.iter().find(|read| conflict(read))?;
        Some(Wrong::Race { other: *other, wrote: false })
    }
}

/// Cells of some memory, and apart from them which of their bytes were written: where no races are looked for, that is all.
#[derive(Default)]
pub(super) struct Cells {
    cells: Vec<Cell>,
    written: Vec<u8>,
}

/// An access as the cells are told of it.
#[derive(Clone, Copy)]
pub(super) struct Noted {
    pub(super) stamp: Stamp,
    /// Of a read: nothing was there before the launch.
    pub(super) fresh: bool,
    pub(super) does: Does,
}

/// What an access does to a cell.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
    Read,
    /// A read that other lanes of the instruction stand for, or the write that follows: it is compared, and not kept.
    Look,
    /// `same` if it changes nothing.
    Write {
        same: bool,
    },
}

impl Cells {
    /// For so many cells.
    pub(super) fn new(count: usize, races: bool) -> Self {
        Cells { cells: vec![Cell::default(); if races { count } else { 0 }], written: vec![0; count] }
    }

    /// As new.
    pub(super) fn clear(&mut self) {
        self.cells.fill(Cell::default());
        self.written.fill(0);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.written.is_empty()
    }

    /// Notes a read by the lanes of `mask`, at their addresses less `start`. What is wrong, and the lane.
    pub(super) fn read(
        &mut self,
        noted: &Noted,
        run: &Run,
        start: u64,
        mask: u32,
        knows: &impl Knows,
    ) -> Option<(Wrong, usize)> {
        let second = start.wrapping_sub(4);
        match run.bytes {
            8 => self
                .read_words(noted, run, start, mask, knows)
                .or_else(|| self.read_words(noted, run, second, mask, knows)),
            _ => self.read_words(noted, run, start, mask, knows),
        }
    }

    fn read_words(
        &mut self,
        noted: &Noted,
        run: &Run,
        start: u64,
        mask: u32,
        knows: &impl Knows,
    ) -> Option<(Wrong, usize)> {
        // Of up to four bytes, at their place in the word.
        let bits = u8::MAX >> (8 - run.bytes.clamp(1, 4));
        let part = |at: u64| bits << (at & 3);
        if noted.fresh {
            for lane in lanes_of(mask) {
                let at = run.address(lane, 0).wrapping_sub(start);
                let written = self.written.get((at / 4) as usize)?;
                if part(at) & !written != 0 {
                    return Some((Wrong::Unwritten, lane));
                }
            }
        }
        if self.cells.is_empty() {
            return None;
        }
        let mut stamp = noted.stamp;
        let (first, mut before) = (stamp.thread, None);
        for lane in lanes_of(mask) {
            let at = run.address(lane, 0).wrapping_sub(start);
            stamp.thread = first + lane as u16;
            stamp.bytes = part(at);
            let cell = self.cells.get_mut((at / 4) as usize)?;
            if let Some(wrong) = cell.read_conflict(&stamp, lane, knows) {
                return Some((wrong, lane));
            }
            // Of neighbours that read the same the first and the last stand for those between them.
            let beside = mask >> lane & 2 != 0 && run.address(lane + 1, 0).wrapping_sub(start) == at;
            if !(before == Some(at) && beside) {
                cell.keep_read(stamp, lane, knows);
            }
            before = Some(at);
        }
        None
    }

    /// Notes an access of at most 8 bytes that is aligned.
    #[inline(always)]
    pub(super) fn note(
        &mut self,
        noted: &Noted,
        at: u64,
        bytes: u32,
        lane: usize,
        knows: &impl Knows,
    ) -> Option<Wrong> {
        let first = (at / 4) as usize;
        if bytes == 8 {
            let one = self.note_one(noted, first, 0xf, lane, knows);
            return one.or_else(|| self.note_one(noted, first + 1, 0xf, lane, knows));
        }
        self.note_one(noted, first, ((1u8 << bytes) - 1) << (at % 4), lane, knows)
    }

    #[inline(always)]
    fn note_one(&mut self, noted: &Noted, at: usize, bytes: u8, lane: usize, knows: &impl Knows) -> Option<Wrong> {
        let (written, cell) = (self.written.get_mut(at)?, self.cells.get_mut(at));
        let stamp = Stamp { bytes, ..noted.stamp };
        match noted.does {
            Does::Read | Does::Look => {
                if noted.fresh && bytes & !*written != 0 {
                    return Some(Wrong::Unwritten);
                }
                let cell = cell?;
                if let Some(wrong) = cell.read_conflict(&stamp, lane, knows) {
                    return Some(wrong);
                }
                if noted.does == Does::Read {
                    cell.keep_read(stamp, lane, knows);
                }
            }
            Does::Write { same } => {
                let was_written = *written & bytes == bytes;
                *written |= bytes;
                let cell = cell?;
                if !(same && was_written)
                    && let Some(wrong) = cell.write_conflict(&stamp, lane, knows)
                {
                    return Some(wrong);
                }
                cell.write = stamp.with(&cell.write);
            }
        }
        None
    }

    /// Those of the cells of an access that are kept.
    pub(super) fn of(&mut self, at: u64, bytes: u32) -> impl Iterator<Item = &mut Cell> {
        self.cells.iter_mut().skip((at / 4) as usize).take(if bytes == 8 { 2 } else { 1 })
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
type Page = Mutex<Cells>;

/// A page at which a thread works.
pub(super) type Held<'s> = MutexGuard<'s, Cells>;

/// The cells of an area of global memory.
pub(super) struct GlobalShadow {
    pages: Vec<Page>,
    races: bool,
}

impl GlobalShadow {
    pub(super) fn new(bytes: u64, races: bool) -> Self {
        let pages = (0..bytes.div_ceil(PAGE)).map(|_| Mutex::default()).collect();
        GlobalShadow { pages, races }
    }

    /// The page with the byte `at`, and where it is there. The page stays held for the next access.
    #[inline(always)]
    pub(super) fn page<'s, 'h>(&'s self, held: &'h mut Option<Held<'s>>, at: u64) -> Option<(&'h mut Cells, u64)> {
        let page = self.pages.get((at / PAGE) as usize)?;
        if !held.as_ref().is_some_and(|held| std::ptr::eq(MutexGuard::mutex(held), page)) {
            self.turn(held, page);
        }
        Some((held.as_mut()?, at % PAGE))
    }

    fn turn<'s>(&'s self, held: &mut Option<Held<'s>>, page: &'s Page) {
        // Not two at a time: another thread may want them the other way round.
        *held = None;
        let mut next = page.lock();
        if next.is_empty() {
            *next = Cells::new(CELLS, self.races);
        }
        *held = Some(next);
    }

    /// Whether a byte that is so far from the start of a page is in that page.
    #[inline(always)]
    pub(super) fn are_together(&self, at: u64) -> bool {
        at < PAGE
    }

    /// The first byte that nothing wrote, of `bytes` from `skip` on.
    pub(super) fn unwritten(&self, skip: u64, bytes: u64) -> Option<u64> {
        let end = skip + bytes;
        for (number, page) in self.pages.iter().enumerate() {
            let start = number as u64 * PAGE;
            let (from, to) = (skip.max(start), end.min(start + PAGE));
            let page = page.lock();
            let is_written =
                |at: u64| page.written.get((at - start) as usize / 4).is_some_and(|cell| cell & 1 << (at % 4) != 0);
            if let Some(at) = (from..to).find(|at| !is_written(*at)) {
                return Some(at - skip);
            }
        }
        None
    }
}
