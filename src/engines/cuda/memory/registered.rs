//! Memory that a worker shares with its parent, registered with the driver: the GPU reads and writes it directly, with
//! no copy through staging.
//!
//! Registering pins the pages and takes milliseconds. So it is done once for each part, when the part is first used:
//! parts of 1, 1, 2, 4 ... 64 MiB, then of 64 MiB each, because the parent cuts its blocks from the lowest free place.
//! Nothing is ever unregistered: the worker process ends before its parent reuses the memory for another worker. Until
//! then the parent returns no page of a GPU's worker to the system ([`Arena`](crate::worker)): if a registered page
//! were returned, the parent and the GPU would use different pages.

use super::staging::Ticket;
use crate::core::arena::Lent;
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::sync::{Arc, AtomicBool, Mutex, Ordering};
use crate::engines::cuda::context::fault;
use crate::engines::cuda::streams::Shared;
use crate::engines::cuda::wait::Landed;
use crate::engines::cuda::{Core, CudaEngine, Queue};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::OnceLock;

/// The size of the first part.
const LEAST: usize = 1 << 20;
/// The size of the largest parts.
const MOST: usize = 64 << 20;

/// How much the parent copies out at a time, while the rest is still being copied in.
const PIECE: usize = 8 << 20;

/// How far a copy into shared memory has come.
#[derive(Default)]
pub(crate) struct Progress {
    /// The tickets not yet seen complete, each with the bytes that have arrived once it is.
    pieces: VecDeque<(Ticket, u64)>,
    arrived: u64,
}

impl Progress {
    /// Polls, and returns the number of bytes that have arrived.
    pub(crate) fn look(&mut self, slot: &Shared) -> u64 {
        while let Some(((ticket, event), arrived)) = self.pieces.front().copied()
            && slot.poll(ticket, event)
        {
            self.arrived = arrived;
            self.pieces.pop_front();
        }
        self.arrived
    }
}

/// The parts, by their start; `false` for a part that the driver refused. Each part is registered under a lock of its
/// own, so that the other parts can be used meanwhile.
#[derive(Default)]
pub(crate) struct Registered {
    parts: Mutex<BTreeMap<usize, Part>>,
    refused: AtomicBool,
}

type Part = Arc<OnceLock<bool>>;

/// The part that contains `offset`.
fn part(offset: usize) -> Range<usize> {
    let size = match offset / LEAST {
        0 => return 0..LEAST,
        n => (LEAST << n.ilog2()).min(MOST),
    };
    let start = offset / size * size;
    start..start + size
}

/// Cuts `range` at the starts of parts: a copy must not cross from one registration into the next.
fn pieces(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut start = range.start;
    std::iter::from_fn(move || {
        let piece = start..part(start).end.min(range.end);
        start = piece.end;
        (!piece.is_empty()).then_some(piece)
    })
}

impl Registered {
    /// Registers what is not registered yet of `lent`, and returns whether the driver now knows all of it. The context
    /// must be current.
    fn covers(&self, core: &Core, epoch: &Arc<Epoch>, lent: &Lent) -> Result<bool> {
        const PORTABLE: u32 = 1;
        for piece in pieces(lent.range()) {
            let Range { start, end } = part(piece.start);
            let known = self.parts.lock().entry(start).or_default().clone();
            let register = || {
                let Some((at, len)) = lent.segment_from(start, end) else { return false };
                // SAFETY: a range of the segment's mapping, which stays until the process ends. The context is current.
                let code = unsafe { core.context.api.mem_host_register(at.as_ptr().cast(), len, PORTABLE) };
                // A fault that appears here ends the epoch.
                code.ok().map_err(|code| fault::classify(epoch, code, "cuMemHostRegister")).is_ok()
            };
            if !*known.get_or_init(register) {
                self.refused.store(true, Ordering::Relaxed);
                epoch.admit()?;
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl CudaEngine {
    /// Whether the GPU can access `lent` directly. If not, the data must go through staging.
    pub(crate) fn reaches(&self, epoch: &Arc<Epoch>, lent: &Lent) -> Result<bool> {
        let _inside = self.core.memory.waits.enter();
        epoch.admit()?;
        let _bound = self.core.bind(epoch)?;
        self.core.memory.registered.covers(&self.core, epoch, lent)
    }

    /// Whether the driver has refused a part.
    pub(crate) fn reaches_not_all(&self) -> bool {
        self.core.memory.registered.refused.load(Ordering::Relaxed)
    }
}

impl Queue<'_> {
    /// Copies shared memory to the device. The process that lent it does not touch it before it gets the answer.
    ///
    /// # Safety
    /// As for [`copy`](Self::copy), for all bytes of `lent`, which the GPU can access.
    pub(crate) unsafe fn copy_from_lent(&mut self, to: u64, lent: &Lent) -> Result<()> {
        let (stream, first) = (self.stream(), lent.range().start);
        lent.touch();
        for piece in pieces(lent.range()) {
            let (at, len) = lent.segment_from(piece.start, piece.end).ok_or_else(outside)?;
            let to = to + (piece.start - first) as u64;
            // SAFETY: registered memory of the segment, which is mapped until the process ends. The caller vouches for
            // the target.
            let code = unsafe { self.core.context.api.memcpy_htod_async(to, at.as_ptr().cast(), len, stream) };
            self.check("cuMemcpyHtoDAsync", code)?;
        }
        Ok(())
    }

    /// Copies device data into shared memory.
    ///
    /// # Safety
    /// As for [`copy`](Self::copy), for all bytes of `lent`, which the GPU can access.
    pub(crate) unsafe fn copy_to_lent(&mut self, from: u64, lent: &Lent) -> Result<()> {
        let (stream, range) = (self.stream(), lent.range());
        lent.touch();
        let mut progress = Progress::default();
        let mut start = range.start;
        let mut outcome = Ok(());
        while start < range.end && outcome.is_ok() {
            let end = (start + PIECE).min(range.end);
            outcome = pieces(start..end).try_for_each(|piece| {
                let (at, len) = lent.segment_from(piece.start, piece.end).ok_or_else(outside)?;
                let from = from + (piece.start - range.start) as u64;
                // SAFETY: as above. The block is lent to this op alone.
                let code = unsafe { self.core.context.api.memcpy_dtoh_async(at.as_ptr().cast(), from, len, stream) };
                self.check("cuMemcpyDtoHAsync", code)
            });
            // The last piece arrives when the dispatch itself is complete.
            if end < range.end && outcome.is_ok() {
                let (ticket, event, code) = self.state.record(self.shared);
                self.state.ring.push(ticket, event, None);
                outcome = self.check("cuEventRecord", code);
                progress.pieces.push_back(((ticket, event), (end - range.start) as u64));
            }
            start = end;
        }
        self.left.landed = Landed::InPlace(Box::new(progress));
        outcome
    }
}

fn outside() -> Error {
    Error::library("an offset lies outside of the shared memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn parts_grow_and_leave_no_gap() {
        let mut start = 0;
        let mut sizes = Vec::new();
        while start < 300 * MIB {
            let part = part(start);
            assert!(part.start == start && super::part(part.end - 1) == part, "{part:?}");
            sizes.push(part.len() / MIB);
            start = part.end;
        }
        assert_eq!(sizes, [1, 1, 2, 4, 8, 16, 32, 64, 64, 64, 64]);
    }

    #[test]
    fn a_range_is_cut_where_parts_begin() {
        assert_eq!(pieces(5..5).count(), 0);
        let cut: Vec<_> = pieces(MIB - 1..5 * MIB).collect();
        assert_eq!(cut, [MIB - 1..MIB, MIB..2 * MIB, 2 * MIB..4 * MIB, 4 * MIB..5 * MIB]);
        assert!(pieces(130 * MIB..140 * MIB).eq(std::iter::once(130 * MIB..140 * MIB)));
    }
}
