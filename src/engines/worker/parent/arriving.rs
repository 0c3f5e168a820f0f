//! A large download in progress: what has arrived is copied out of shared memory while the rest is still on the link.
//!
//! The worker writes into the answer's place how many bytes have arrived. **Race "used again"** (`untyped_dispatch.rs`):
//! by the time that word is read, the place may belong to another dispatch. A place is reused only after the end was
//! noted here. So a word that was read is valid if no end is noted afterwards; if one is, the end counts instead.

use super::link::Link;
use crate::core::arena::{Block, PIECE};
use crate::core::clock::Clock;
use crate::core::dispatch::Backoff;
use crate::core::error::{Error, Result};
use crate::core::op::Bulk;
use crate::core::sync::{Arc, AtomicU32, Ordering};
use std::sync::OnceLock;

/// The block that a download arrives in. The dispatch holds it until it is settled, the result until it is copied out.
pub(crate) struct Arriving {
    block: Block,
    link: Arc<Link>,
    place: AtomicU32,
    end: OnceLock<Result<()>>,
}

impl std::fmt::Debug for Arriving {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Arriving({:?})", self.end.get())
    }
}

impl Arriving {
    pub(super) fn new(link: &Arc<Link>, block: Block) -> Arc<Self> {
        Arc::new(Arriving { block, link: link.clone(), place: AtomicU32::new(0), end: OnceLock::new() })
    }

    /// Sets the place of the answer. Called before any thread can ask for the result.
    pub(super) fn comes_to(&self, place: u32) {
        self.place.store(place, Ordering::Relaxed);
    }

    /// The dispatch is settled, and what it held is released. Called before its place is reused.
    pub(super) fn end(&self, end: Result<()>) {
        let _ = self.end.set(end);
    }

    /// Waits until the first `bytes` bytes have arrived. All of them count as arrived only when the dispatch is
    /// settled, so that a caller with the result finds what the dispatch held released.
    fn arrive(&self, bytes: usize) -> Result<()> {
        let timing = self.link.timing;
        let (start, mut backoff) = (Clock::SYSTEM.start(), Backoff::new(&timing.waits));
        loop {
            if self.block.is_forked() {
                return Err(Error::forked());
            }
            let arrived = self.link.answers.arrived(self.place.load(Ordering::Relaxed));
            match self.end.get() {
                Some(end) => return end.clone(),
                None if arrived >= bytes as u64 && bytes < self.bytes() => return Ok(()),
                // The answer is there, or about to be: any thread may settle it.
                None if arrived == u64::MAX => self.link.reap(),
                None if start.elapsed() < timing.watch.piece_spin => std::hint::spin_loop(),
                None => {
                    self.link.reap(); // notes the end, even if no other thread looks
                    backoff.pause(None);
                }
            }
        }
    }
}

impl Bulk for Arriving {
    fn bytes(&self) -> usize {
        self.block.len()
    }

    unsafe fn copy_to(&self, target: *mut u8) -> Result<()> {
        let mut done = 0;
        while done < self.bytes() {
            let len = PIECE.min(self.bytes() - done);
            self.arrive(done + len)?;
            // SAFETY: inside the target, which the caller vouches for; the worker writes only behind what has arrived.
            let whole = unsafe { self.block.copy_part(done, target.add(done), len) };
            whole.then_some(()).ok_or_else(|| Error::library("a block of shared memory is too short"))?;
            done += len;
        }
        Ok(())
    }
}
