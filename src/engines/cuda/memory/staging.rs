//! Host data on its way to the device, and device data on its way to the host, through pinned memory.

use super::in_use::Used;
use super::pinned::{Block, LARGEST, NoBlock};
use crate::core::clock::{self, Clock};
use crate::core::dispatch::Backoff;
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result, Site};
use crate::core::op::Bulk;
use crate::core::parallel;
use crate::core::sync::Arc;
use crate::engines::cuda::context::fault;
use crate::engines::cuda::streams::Shared;
use crate::engines::cuda::sweep;
use crate::engines::cuda::{Core, CudaEngine, Native};
use cudarc::driver::sys::CUevent;
use parking_lot::MutexGuard;
use std::sync::{OnceLock, Weak};

/// Bytes of a piece of a large copy. Small enough that the CPU copies one piece while the link transfers the piece
/// before; large enough that it is worth waking several threads for it.
const LARGE_PIECE: usize = 8 << 20;
/// Bytes of a piece of a smaller copy, which one thread moves: waking helper threads would cost as much as they save.
const SMALL_PIECE: usize = 512 << 10;
const _: () = assert!(LARGE_PIECE <= LARGEST);

/// How long a dispatch tries to get staging.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Takes only what is available without waiting for other transfers: the dispatch may not need it after all.
    None,
    /// Waits for other transfers to return their staging: the dispatch needs it.
    Some,
}

/// Host data in pinned memory, to be copied to the device.
pub(crate) struct Staging {
    pub(crate) block: Option<Block>,
    pub(crate) len: usize,
    _used: Option<Used>,
}

/// Pinned memory that is reserved for a download before its first byte moves.
pub(crate) struct Reserved {
    pub(crate) blocks: Vec<(Block, usize)>,
    _used: Option<Used>,
}

/// Device data in pinned memory, which arrives piece by piece. The slot's ring holds it too, until all has arrived.
#[derive(Clone)]
pub(crate) struct Staged(pub(crate) Arc<Arriving>);

pub(crate) struct Arriving {
    pub(crate) pieces: Vec<Piece>,
    pub(crate) bytes: usize,
    pub(crate) slot: Arc<Shared>,
    /// The dispatch's own mark, set when it is recorded.
    pub(crate) end: OnceLock<Ticket>,
}

/// A ticket, and the event that was recorded for it.
pub(crate) type Ticket = (u64, Option<Native<CUevent>>);

pub(crate) struct Piece {
    pub(crate) block: Block,
    pub(crate) len: usize,
    /// `None` for the last piece: it arrives with the dispatch's own mark.
    pub(crate) mark: Option<Ticket>,
}

impl Bulk for Arriving {
    fn bytes(&self) -> usize {
        self.bytes
    }

    unsafe fn copy_to(&self, target: *mut u8) -> Result<()> {
        let _used = self.pieces.first().map(|piece| piece.block.used());
        let mut done = 0;
        for piece in &self.pieces {
            self.arrive(piece)?;
            // SAFETY: the pieces' lengths add up to `bytes`, which the caller vouches for. The piece has arrived, so
            // the device does not write the block any more.
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
            return Err(Error::library("the event at the end of a download could not be recorded"));
        };
        while !self.slot.poll(ticket, event) {
            if self.slot.over() && !self.slot.stream.sequence.reached(ticket) {
                return Err(ended(&self.slot));
            }
            if start.elapsed() < timing.staging.spin { std::hint::spin_loop() } else { backoff.pause(None) }
        }
        Ok(())
    }
}

/// The error for work on this slot that will never complete.
pub(crate) fn ended(slot: &Shared) -> Error {
    match slot.epoch.get().and_then(Weak::upgrade) {
        Some(epoch) => epoch.verdict(),
        None => Error::GpuRefStale { reason: crate::core::error::Stale::DeviceGone, site: Site::none() },
    }
}

impl CudaEngine {
    /// The piece size for a copy of `bytes` bytes. Measured on an H200: at 1 and 4 MiB, small pieces reach 0.8 to 1.1
    /// of the speed of the driver's own pageable copy, and large pieces with several threads half of that. From 16 MiB
    /// on it is the other way round. If pinned memory is scarce, all blocks have one size, because to recut them is
    /// expensive.
    pub(crate) fn piece_of(&self, bytes: usize) -> usize {
        if bytes <= LARGE_PIECE && self.core.memory.pinned.roomy() { SMALL_PIECE } else { LARGE_PIECE }
    }

    /// Copies host data into pinned memory: at most one piece ([`piece_of`](Self::piece_of)).
    pub(crate) fn stage(&self, epoch: &Arc<Epoch>, data: &[u8]) -> Result<Staging> {
        if data.is_empty() {
            return Ok(Staging { block: None, len: 0, _used: None });
        }
        let block = self.core.block(epoch, data.len(), 0)?;
        let used = self.core.memory.pinned.in_use.hold();
        // SAFETY: the block holds at least `data.len()` bytes, and no other thread has it.
        unsafe { parallel::copy(block.at.0, data.as_ptr(), data.len()) };
        Ok(Staging { block: Some(block), len: data.len(), _used: Some(used) })
    }

    /// Reserves pinned memory for all of a download of `bytes` bytes.
    pub(crate) fn reserve(&self, epoch: &Arc<Epoch>, bytes: usize) -> Result<Reserved> {
        epoch.admit()?;
        let limit = self.core.memory.pinned.limit();
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
            used.get_or_insert_with(|| self.core.memory.pinned.in_use.hold());
        }
        Ok(Reserved { blocks, _used: used })
    }

    /// The same, from blocks that are free now.
    fn reserve_at_once(&self, bytes: usize) -> Option<Reserved> {
        let used = self.core.memory.pinned.in_use.hold();
        let take = |len| Some((self.core.memory.pinned.free_block(len)?, len));
        let blocks = self.pieces(bytes).map(take).collect::<Option<_>>()?;
        Some(Reserved { blocks, _used: Some(used) })
    }

    /// The lengths of the pieces.
    fn pieces(&self, bytes: usize) -> impl Iterator<Item = usize> + use<> {
        let piece = self.piece_of(bytes);
        (0..bytes.div_ceil(piece)).map(move |i| piece.min(bytes - i * piece))
    }

    /// Only one thread at a time waits for several blocks: two that each hold a part would wait for each other. A
    /// caller inside a sweep takes no turn, because its own thread may already hold it.
    fn turn(&self, epoch: &Epoch) -> Result<Option<MutexGuard<'_, ()>>> {
        let (clock, staging) = (self.core.timing.clock, &self.core.timing.staging);
        let start = clock.start();
        while !sweep::is_under_way_here() && start.elapsed() < staging.patience {
            let turn = self.core.memory.pinned.reserving.try_lock_for(staging.turn);
            epoch.admit()?;
            if turn.is_some() {
                return Ok(turn);
            }
        }
        Ok(None)
    }
}

pub(crate) fn no_staging(bytes: usize, limit: u64, used: u64) -> Error {
    let free = limit.saturating_sub(used);
    Error::out_of_memory(bytes as u64, [free, limit, limit])
}

impl Core {
    /// Returns a block. While the limit allows none, waits for other threads to return theirs. `own`: how many of the
    /// counts in `in_use` are the caller's own.
    pub(crate) fn block(&self, epoch: &Arc<Epoch>, bytes: usize, own: u64) -> Result<Block> {
        let (clock, staging) = (self.timing.clock, &self.timing.staging);
        let end = clock.after(staging.patience);
        let mut backoff = Backoff::new(&self.timing.waits);
        // Since when, and for how many looks, nothing was in use that could come back. Each look comes *before* the
        // next attempt to get a block. One look is not enough: another thread may have taken a block out of its ring,
        // or emptied it, and not have dropped it yet.
        let (mut since, mut idle) = (clock.start(), 0);
        loop {
            epoch.go_on()?;
            match self.try_block(epoch, bytes, Patience::Some)? {
                Ok(block) => return Ok(block),
                Err(NoBlock::Limit)
                    if (idle < 20 || since.elapsed() < staging.idle_patience) && !clock::is_over(end) =>
                {
                    if self.sweep() || self.memory.pinned.in_use.count() > own {
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

    /// The error if there is no block for the `left` bytes that are still needed.
    pub(crate) fn no_block(&self, epoch: &Arc<Epoch>, why: NoBlock, left: usize) -> Error {
        match why {
            NoBlock::Limit => no_staging(left, self.memory.pinned.limit(), self.memory.pinned.bytes()),
            NoBlock::Driver(code, call) => fault::classify(epoch, code, call),
        }
    }

    /// Returns a block, which is made if needed. The caller must hold no lease, as for
    /// [`Memory::landing`].
    pub(crate) fn try_block(
        &self,
        epoch: &Arc<Epoch>,
        bytes: usize,
        patience: Patience,
    ) -> Result<Result<Block, NoBlock>> {
        if !self.memory.pinned.has(bytes) {
            // Completed work may hold a block; to reap it is far cheaper than to make one. The sweep is not counted as
            // inside, because it calls user code.
            self.sweep();
        }
        let _inside = self.memory.waits.enter();
        epoch.go_on()?;
        let _bound = self.bind(epoch)?;
        Ok(self.memory.pinned.block(bytes, patience))
    }
}
