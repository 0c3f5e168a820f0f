//! Host data on its way to the device, and device data on its way to the host.

use super::in_use::Used;
use super::pinned::{Block, LARGEST, NoBlock, SmallSlot};
use super::slot::Shared;
use super::sweep;
use super::{Core, CudaEngine, Native, fault};
use crate::clock::{self, Clock};
use crate::copy::parallel;
use crate::dispatch::Backoff;
use crate::engine::Epoch;
use crate::error::Site;
use crate::sync::Arc;
use crate::{Error, Result};
use cudarc::driver::sys::CUevent;
use parking_lot::MutexGuard;
use std::sync::{OnceLock, Weak};

/// Bytes of a piece of a large copy: small enough that the CPU's share of one piece hides behind the link's share of the
/// one before, large enough that several threads are worth waking for it.
const LARGE_PIECE: usize = 8 << 20;
/// Bytes of a piece of a smaller copy, which one thread moves: waking helpers would cost as much as they bring.
const SMALL_PIECE: usize = 512 << 10;
const _: () = assert!(LARGE_PIECE <= LARGEST);

/// How hard a dispatch looks for staging.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// It takes what can be had at once: it may want none after all.
    None,
    /// It does want some, and waits for others' transfers.
    Some,
}

/// Host data in pinned memory, to be copied to the device.
pub(crate) struct Staging {
    pub(super) block: Option<Block>,
    pub(super) len: usize,
    _used: Option<Used>,
}

/// Pinned memory that a download was promised before its first byte moves.
pub(crate) struct Reserved {
    pub(super) blocks: Vec<(Block, usize)>,
    _used: Option<Used>,
}

/// Device data in pinned memory, arriving piece by piece. The slot's ring keeps it as well until all has arrived.
#[derive(Clone)]
pub struct Staged(pub(super) Arc<Arriving>);

pub(super) struct Arriving {
    pub(super) pieces: Vec<Piece>,
    pub(super) bytes: usize,
    pub(super) slot: Arc<Shared>,
    /// The dispatch's own mark, set when it is recorded.
    pub(super) end: OnceLock<Ticket>,
}

/// A ticket, and the event that tells of it.
pub(super) type Ticket = (u64, Option<Native<CUevent>>);

pub(super) struct Piece {
    pub(super) block: Block,
    pub(super) len: usize,
    /// `None` for the last one: it arrives with the dispatch.
    pub(super) mark: Option<Ticket>,
}

impl Staged {
    pub(crate) fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// Copies all of it to `target`, each piece as soon as it has arrived, with several threads.
    ///
    /// # Safety
    /// `target` is valid for writes of [`bytes`](Self::bytes) bytes, and nobody else touches it meanwhile.
    pub(crate) unsafe fn copy_to(&self, target: *mut u8) -> Result<()> {
        let _used = self.0.pieces.first().map(|piece| piece.block.used());
        let mut done = 0;
        for piece in &self.0.pieces {
            self.0.arrive(piece)?;
            // SAFETY: the pieces' lengths add up to `bytes`, which the caller vouches for; the piece has arrived, so
            // nobody writes the block.
            unsafe { parallel::copy(target.add(done), piece.block.at.0, piece.len) };
            done += piece.len;
        }
        Ok(())
    }
}

impl Arriving {
    fn arrive(&self, piece: &Piece) -> Result<()> {
        let timing = self.slot.timing;
        let (start, mut backoff) = (Clock::SYSTEM.start(), Backoff::new(&timing.waits));
        let Some((ticket, event)) = piece.mark.or_else(|| self.end.get().copied()) else {
            return Err(Error::library("the completion of a download was not recorded"));
        };
        while !self.slot.poll(ticket, event) {
            if self.slot.over() && !self.slot.sequence.reached(ticket) {
                return Err(ended(&self.slot));
            }
            if start.elapsed() < timing.staging.spin { std::hint::spin_loop() } else { backoff.pause(None) }
        }
        Ok(())
    }
}

/// Why work on this slot will not end.
pub(super) fn ended(slot: &Shared) -> Error {
    match slot.epoch.get().and_then(Weak::upgrade) {
        Some(epoch) => epoch.verdict(),
        None => Error::GpuRefStale { reason: crate::Stale::DeviceGone, site: Site::none() },
    }
}

impl CudaEngine {
    /// How many of `bytes` bytes are moved at a time. Measured on an H200: at 1 and 4 MiB small pieces reach 0.8 to 1.1 of
    /// the driver's own pageable copy, large ones by several threads half of that; from 16 MiB on it is the other way
    /// round. Where pinned memory is scarce the blocks are all of one size, for to cut them anew is dear.
    pub(crate) fn piece_of(&self, bytes: usize) -> usize {
        if bytes <= LARGE_PIECE && self.core.pinned.roomy() { SMALL_PIECE } else { LARGE_PIECE }
    }

    /// Copies host data into pinned memory; at most [`piece_of`](Self::piece_of) them.
    pub(crate) fn stage(&self, epoch: &Arc<Epoch>, data: &[u8]) -> Result<Staging> {
        if data.is_empty() {
            return Ok(Staging { block: None, len: 0, _used: None });
        }
        let block = self.core.block(epoch, data.len(), 0)?;
        let used = self.core.pinned.in_use.hold();
        // SAFETY: the block holds at least `data.len()` bytes and nobody else has it.
        unsafe { parallel::copy(block.at.0, data.as_ptr(), data.len()) };
        Ok(Staging { block: Some(block), len: data.len(), _used: Some(used) })
    }

    /// Pinned memory for a download of `bytes`, all of it.
    pub(crate) fn reserve(&self, epoch: &Arc<Epoch>, bytes: usize) -> Result<Reserved> {
        epoch.admit()?;
        let limit = self.core.pinned.limit();
        if bytes as u64 > limit {
            return Err(no_staging(bytes, limit, 0));
        }
        if let Some(reserved) = self.reserve_at_once(bytes) {
            return Ok(reserved);
        }
        let _turn = if self.pieces(bytes).count() > 1 { self.turn(epoch)? } else { None };
        let (mut blocks, mut used) = (Vec::new(), None);
        for len in self.pieces(bytes) {
            let block = self.core.block(epoch, len, u64::from(used.is_some()))?;
            blocks.push((block, len));
            used.get_or_insert_with(|| self.core.pinned.in_use.hold());
        }
        Ok(Reserved { blocks, _used: used })
    }

    /// The same, of blocks that are free.
    fn reserve_at_once(&self, bytes: usize) -> Option<Reserved> {
        let used = self.core.pinned.in_use.hold();
        let take = |len| Some((self.core.pinned.free_block(len)?, len));
        let blocks = self.pieces(bytes).map(take).collect::<Option<_>>()?;
        Some(Reserved { blocks, _used: Some(used) })
    }

    /// The lengths of the pieces.
    fn pieces(&self, bytes: usize) -> impl Iterator<Item = usize> + use<> {
        let piece = self.piece_of(bytes);
        (0..bytes.div_ceil(piece)).map(move |i| piece.min(bytes - i * piece))
    }

    /// One at a time waits for several: two that have a part each of what there is would wait for each other. But who is
    /// called from within a sweep may be under this very turn.
    fn turn(&self, epoch: &Epoch) -> Result<Option<MutexGuard<'_, ()>>> {
        let (clock, staging) = (self.core.timing.clock, &self.core.timing.staging);
        let start = clock.start();
        while !sweep::is_under_way_here() && start.elapsed() < staging.patience {
            let turn = self.core.pinned.reserving.try_lock_for(staging.turn);
            epoch.admit()?;
            if turn.is_some() {
                return Ok(turn);
            }
        }
        Ok(None)
    }
}

pub(super) fn no_staging(bytes: usize, limit: u64, used: u64) -> Error {
    let free = limit.saturating_sub(used);
    Error::OutOfMemory { requested: bytes as u64, free, total: limit, limit, site: Site::none() }
}

impl Core {
    /// Pinned memory for a result. The caller has no lease: making it may wait for all that the GPU is doing.
    pub(super) fn small_slot(&self, epoch: &Arc<Epoch>) -> Result<SmallSlot> {
        if let Some(slot) = self.pinned.free_slot() {
            return Ok(slot);
        }
        let _inside = self.blocking_waits.enter();
        epoch.go_on()?;
        let _bound = self.bind(epoch)?;
        self.pinned.slot().map_err(|code| fault::classify(epoch, code, "cuMemHostAlloc"))
    }

    /// A block, waiting for others to come back while the limit leaves none. `own`: times that the caller counts as having
    /// some in hand.
    pub(super) fn block(&self, epoch: &Arc<Epoch>, bytes: usize, own: u64) -> Result<Block> {
        let (clock, staging) = (self.timing.clock, &self.timing.staging);
        let end = clock.after(staging.patience);
        let mut backoff = Backoff::new(&self.timing.waits);
        // Since when, and how often, nothing was left to come back *before* there was no block. Not once: what another
        // submitter has just taken out of its ring, or a waiter emptied, it may not have dropped yet.
        let (mut since, mut idle) = (clock.start(), 0);
        loop {
            epoch.go_on()?;
            match self.try_block(epoch, bytes, Patience::Some)? {
                Ok(block) => return Ok(block),
                Err(NoBlock::Limit)
                    if (idle < 20 || since.elapsed() < staging.idle_patience) && !clock::is_over(end) =>
                {
                    if self.sweep() || self.pinned.in_use.count() > own {
                        (since, idle) = (clock.start(), 0);
                    } else {
                        idle += 1;
                    }
                    if idle != 1 {
                        backoff.pause(None);
                    }
                }
                Err(why) => return Err(self.no_block(epoch, why, bytes)),
            }
        }
    }

    /// Why there is no block for what is left.
    pub(super) fn no_block(&self, epoch: &Arc<Epoch>, why: NoBlock, left: usize) -> Error {
        match why {
            NoBlock::Limit => no_staging(left, self.pinned.limit(), self.pinned.bytes()),
            NoBlock::Driver(code, call) => fault::classify(epoch, code, call),
        }
    }

    /// A block, made if need be. The caller has no lease, as with [`small_slot`](Self::small_slot).
    pub(super) fn try_block(
        &self,
        epoch: &Arc<Epoch>,
        bytes: usize,
        patience: Patience,
    ) -> Result<Result<Block, NoBlock>> {
        if !self.pinned.has(bytes) {
            // What is over may hold one: far cheaper than making one. Not inside: it calls the user's code.
            self.sweep();
        }
        let _inside = self.blocking_waits.enter();
        epoch.go_on()?;
        let _bound = self.bind(epoch)?;
        Ok(self.pinned.block(bytes, patience))
    }
}
