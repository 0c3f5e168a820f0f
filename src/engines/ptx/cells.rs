//! What is kept of each four bytes of memory: the last write, two reads of different threads, and which bytes were written.
//!
//! A stamp has 16 bytes, so races cost twelve bytes for each byte: four of the writes, eight of the reads, each made when the first
//! of its kind comes. (Fields of full width take nineteen.)

use super::access::Run;
use super::finding::Found;
use super::ledger::{For, Ledger};
use super::warp::lanes_of;
use crate::core::error::{Error, FindingKind};

/// One access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    /// The number of the block plus one; 0 is no access.
    pub(super) block: u32,
    /// The time of its warp.
    pub(super) time: u32,
    /// The releases of all blocks before it.
    pub(super) tick: u32,
    /// From the lowest bit: whether it is atomic, which of the four bytes, the thread, the instruction.
    rest: u32,
}

const BYTES: u32 = 1;
const THREAD: u32 = 5;
const PC: u32 = 15;

/// The number that stands for all instructions from it on.
const FAR: u32 = u32::MAX >> PC;

impl Stamp {
    pub(super) fn new(block: u32, time: u32, tick: u32, pc: u32, atomic: bool) -> Self {
        Stamp { block, time, tick, rest: pc.min(FAR) << PC | u32::from(atomic) }
    }

    /// The same of one of the 1024 threads of the block.
    #[inline(always)]
    pub(super) fn of_thread(self, thread: u32) -> Self {
        Stamp { rest: self.rest & !(0x3ff << THREAD) | (thread & 0x3ff) << THREAD, ..self }
    }

    #[inline(always)]
    fn of_bytes(self, bytes: u8) -> Self {
        Stamp { rest: self.rest & !(0xf << BYTES) | u32::from(bytes & 0xf) << BYTES, ..self }
    }

    #[inline(always)]
    pub(super) fn thread(&self) -> u32 {
        self.rest >> THREAD & 0x3ff
    }

    #[inline(always)]
    fn bytes(&self) -> u32 {
        self.rest >> BYTES & 0xf
    }

    #[inline(always)]
    fn is_atomic(&self) -> bool {
        self.rest & 1 != 0
    }

    /// Its instruction, unless it is one of the last of a very long kernel.
    pub(super) fn pc(&self) -> Option<u32> {
        Some(self.rest >> PC).filter(|pc| *pc < FAR)
    }

    /// Whether the two cannot both be, unless one comes before the other.
    #[inline(always)]
    fn excludes(&self, other: &Stamp) -> bool {
        self.block != 0 && self.bytes() & other.bytes() != 0 && !(self.is_atomic() && other.is_atomic())
    }

    /// With the bytes of an access by the same thread, if nothing can have come between the two.
    #[inline(always)]
    fn with(self, other: &Stamp) -> Stamp {
        // All but the instruction and the bytes.
        let who = |stamp: &Stamp| (stamp.block, stamp.time, stamp.tick, stamp.rest & (0x3ff << THREAD | 1));
        let bytes = if who(&self) == who(other) { other.bytes() << BYTES } else { 0 };
        Stamp { rest: self.rest | bytes, ..self }
    }
}

/// What a lane knows of others when it accesses memory.
pub(super) trait Knows {
    /// Whether the earlier access happens before the present one.
    fn is_after(&self, lane: usize, earlier: &Stamp) -> bool;
}

/// What is wrong with an access, before anybody is told of it.
pub(super) enum Wrong {
    Race {
        other: Stamp,
        wrote: bool,
    },
    Unwritten,
    /// There is no memory to look.
    Memory(Box<Found>),
}

/// What an access of a lane is compared and kept with.
pub(super) struct Of<'n, K> {
    pub(super) knows: &'n K,
    pub(super) ledger: &'n Ledger<'n>,
}

/// Whether a read races with the last write.
#[inline(always)]
fn read_conflict(write: Option<&Stamp>, stamp: &Stamp, lane: usize, knows: &impl Knows) -> Option<Wrong> {
    let write = write?;
    (write.excludes(stamp) && !knows.is_after(lane, write)).then_some(Wrong::Race { other: *write, wrote: true })
}

/// Keeps a read.
#[inline(always)]
fn keep_read([first, second]: &mut [Stamp; 2], stamp: Stamp, lane: usize, knows: &impl Knows) {
    let same = |one: &Stamp| (one.block, one.thread()) == (stamp.block, stamp.thread());
    if same(first) {
        *first = stamp.with(first);
    } else if same(second) || first.block != 0 && !knows.is_after(lane, first) {
        // What comes after the first and the second comes after this one as well, or is a race with one of them.
        *second = stamp.with(second);
    } else {
        (*first, *second) = (*second, stamp);
    }
}

/// Cells of some memory, each part made when it is first needed.
#[derive(Default)]
pub(super) struct Cells {
    /// Which of the bytes were written, in the low four bits. Where no races are looked for, that is all.
    written: Vec<u8>,
    writes: Vec<Stamp>,
    reads: Vec<[Stamp; 2]>,
    /// The last release that each value tells of.
    told: Vec<u32>,
    races: bool,
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

/// Makes a part of the cells, if it is not there.
#[inline(always)]
fn made<T: Clone + Default>(part: &mut Vec<T>, count: usize, ledger: &Ledger<'_>) -> Result<(), Wrong> {
    if part.is_empty() {
        *part =
            ledger.counted(count, T::default()).map_err(|error| Wrong::Memory(ledger.refuse(&error, For::Races)))?;
    }
    Ok(())
}

impl Cells {
    /// The bytes that so many cells take at most.
    pub(super) fn most_bytes(count: usize, races: bool) -> u64 {
        let each = 1 + if races { size_of::<[Stamp; 3]>() + size_of::<u32>() } else { 0 };
        (count as u64).saturating_mul(each as u64)
    }

    /// For so many cells.
    pub(super) fn with(count: usize, races: bool, ledger: &Ledger<'_>) -> Result<Self, Error> {
        Ok(Cells { written: ledger.counted(count, 0)?, races, ..Cells::default() })
    }

    /// The same where the launch ends without them.
    pub(super) fn new(count: usize, races: bool, ledger: &Ledger<'_>) -> Result<Self, Box<Found>> {
        let what = if races { For::Races } else { For::Initialised };
        Cells::with(count, races, ledger).map_err(|error| ledger.refuse(&error, what))
    }

    /// What they have taken.
    pub(super) fn bytes(&self) -> u64 {
        let Cells { written, writes, reads, told, .. } = self;
        let all =
            [size_of_val(&written[..]), size_of_val(&writes[..]), size_of_val(&reads[..]), size_of_val(&told[..])];
        all.iter().map(|bytes| *bytes as u64).sum()
    }

    /// As new.
    pub(super) fn clear(&mut self) {
        self.written.fill(0);
        self.writes.fill(Stamp::default());
        self.reads.fill([Stamp::default(); 2]);
        self.told.fill(0);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.written.is_empty()
    }

    pub(super) fn is_written(&self, at: u64) -> bool {
        self.written.get((at / 4) as usize).is_some_and(|cell| cell & 1 << (at % 4) != 0)
    }

    /// Notes a read by the lanes of `mask`, at their addresses less `start`. What is wrong, and the lane.
    pub(super) fn read(
        &mut self,
        noted: &Noted,
        run: &Run,
        start: u64,
        mask: u32,
        of: &Of<'_, impl Knows>,
    ) -> Option<(Wrong, usize)> {
        let second = start.wrapping_sub(4);
        match run.bytes {
            8 => self.read_words(noted, run, start, mask, of).or_else(|| self.read_words(noted, run, second, mask, of)),
            _ => self.read_words(noted, run, start, mask, of),
        }
    }

    fn read_words(
        &mut self,
        noted: &Noted,
        run: &Run,
        start: u64,
        mask: u32,
        of: &Of<'_, impl Knows>,
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
        if !self.races || self.is_empty() {
            return None;
        }
        if let Err(wrong) = made(&mut self.reads, self.written.len(), of.ledger) {
            return Some((wrong, 0));
        }
        let (first, mut before) = (noted.stamp.thread(), None);
        for lane in lanes_of(mask) {
            let at = run.address(lane, 0).wrapping_sub(start);
            let stamp = noted.stamp.of_thread(first + lane as u32).of_bytes(part(at));
            let cell = (at / 4) as usize;
            if let Some(wrong) = read_conflict(self.writes.get(cell), &stamp, lane, of.knows) {
                return Some((wrong, lane));
            }
            // Of neighbours that read the same the first and the last stand for those between them.
            let beside = mask >> lane & 2 != 0 && run.address(lane + 1, 0).wrapping_sub(start) == at;
            if !(before == Some(at) && beside) {
                keep_read(self.reads.get_mut(cell)?, stamp, lane, of.knows);
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
        of: &Of<'_, impl Knows>,
    ) -> Option<Wrong> {
        let first = (at / 4) as usize;
        if bytes == 8 {
            let one = self.note_one(noted, first, 0xf, lane, of);
            return one.or_else(|| self.note_one(noted, first + 1, 0xf, lane, of));
        }
        self.note_one(noted, first, ((1u8 << bytes) - 1) << (at % 4), lane, of)
    }

    #[inline(always)]
    fn note_one(&mut self, noted: &Noted, at: usize, bytes: u8, lane: usize, of: &Of<'_, impl Knows>) -> Option<Wrong> {
        let count = self.written.len();
        let written = self.written.get_mut(at)?;
        let stamp = noted.stamp.of_bytes(bytes);
        match noted.does {
            Does::Read | Does::Look => {
                if noted.fresh && bytes & !*written != 0 {
                    return Some(Wrong::Unwritten);
                }
                if let Some(wrong) = read_conflict(self.writes.get(at), &stamp, lane, of.knows) {
                    return Some(wrong);
                }
                if noted.does == Does::Read && self.races {
                    if let Err(wrong) = made(&mut self.reads, count, of.ledger) {
                        return Some(wrong);
                    }
                    keep_read(self.reads.get_mut(at)?, stamp, lane, of.knows);
                }
            }
            Does::Write { same } => {
                let was_written = *written & bytes == bytes;
                *written |= bytes;
                if !self.races {
                    return None;
                }
                if let Err(wrong) = made(&mut self.writes, count, of.ledger) {
                    return Some(wrong);
                }
                let write = self.writes.get_mut(at)?;
                if !(same && was_written) {
                    let conflict = |earlier: &&Stamp| earlier.excludes(&stamp) && !of.knows.is_after(lane, earlier);
                    if let Some(other) = Some(&*write).filter(conflict) {
                        return Some(Wrong::Race { other: *other, wrote: true });
                    }
                    if let Some(other) = self.reads.get(at).and_then(|reads| reads.iter().find(conflict)) {
                        return Some(Wrong::Race { other: *other, wrote: false });
                    }
                }
                *write = stamp.with(write);
            }
        }
        None
    }

    /// What the values of an access told so far; from now on they tell of that release too.
    pub(super) fn tell(&mut self, at: u64, bytes: u32, release: u32, ledger: &Ledger<'_>) -> Result<u32, Wrong> {
        if release != 0 && self.races {
            made(&mut self.told, self.written.len(), ledger)?;
        }
        let cells = self.told.iter_mut().skip((at / 4) as usize).take(if bytes == 8 { 2 } else { 1 });
        Ok(cells.fold(0, |seen, told| {
            let before = *told;
            *told = before.max(release);
            seen.max(before)
        }))
    }
}

impl Wrong {
    pub(super) fn found(self, lane: usize, access: &str, place: &str, other: impl Fn(&Stamp) -> String) -> Box<Found> {
        match self {
            Wrong::Unwritten => {
                let detail = format!("{access} {place}, which nothing wrote before");
                Found::new(FindingKind::Uninitialised, lane, detail)
            }
            Wrong::Race { other: earlier, wrote } => {
                let did = if wrote { "written" } else { "read" };
                let detail = format!("{access} {place}, {did} by {} without an order between them", other(&earlier));
                Found::new(FindingKind::Race, lane, detail)
            }
            Wrong::Memory(found) => found,
        }
    }
}
