//! Back-pressure: bounded waits for space in a full ring, and for shared memory that others use.

use super::link::Link;
use crate::core::arena::Block;
use crate::core::clock::Stopwatch;
use crate::core::dispatch::Backoff;
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result, Site};
use crate::core::sync::Ordering;
use crate::engines::worker::shared::PLACES;

/// When the wait for space began, and how many operations had finished by then. The limit starts again whenever one
/// finishes. While none finishes, the wait can be short, because the worker reads orders even while its device is busy
/// (unless the device is inline).
#[derive(Default)]
pub(super) struct Patience(Option<(Stopwatch, Backoff, u64)>);

impl Patience {
    /// Waits a little for space in a ring.
    pub(super) fn wait(&mut self, link: &Link) -> Result<()> {
        let finished = link.answers.count();
        let (since, backoff, before) = self.0.get_or_insert_with(|| {
            let (since, backoff) = link.begin_to_wait();
            (since, backoff, finished)
        });
        if *before != finished {
            (*since, *before) = (link.timing.clock.start(), finished); // space will come
        }
        if since.elapsed() > link.timing.watch.room {
            return Err(Error::Busy { in_flight: link.in_flight(), limit: PLACES as u64, site: Site::none() });
        }
        backoff.pause(None);
        Ok(())
    }
}

impl Link {
    fn begin_to_wait(&self) -> (Stopwatch, Backoff) {
        (self.timing.clock.start(), Backoff::new(&self.timing.waits))
    }

    /// Nothing is in flight, and no thread still holds dispatches that it has settled.
    pub(super) fn is_idle(&self) -> bool {
        self.in_flight() == 0 && self.reaper.is_at_rest()
    }

    /// Shared memory for `len` bytes. Waits, for a bounded time, if there is not enough.
    pub(super) fn block(&self, epoch: &Epoch, len: usize) -> Result<Block> {
        let mut waiting: Option<(Stopwatch, Backoff)> = None;
        // How often nothing was in flight *before* the search for space. Once is not enough: another thread may not yet
        // have dropped what it has just settled.
        let mut idle = 0;
        loop {
            epoch.admit()?;
            let Some(arena) = self.arena() else { return Err(epoch.verdict()) };
            if let Some(block) = arena.block(len) {
                self.counters.bytes_crossed.fetch_add(len as u64, Ordering::Relaxed);
                return Ok(block);
            }
            let total = arena.bytes() as u64;
            let (since, backoff) = waiting.get_or_insert_with(|| self.begin_to_wait());
            // With nothing in flight, the space is held by results that were not taken: no wait would free it.
            if len as u64 > total || idle > 2 || since.elapsed() > self.timing.watch.room {
                return Err(Error::out_of_memory(len as u64, [0, total, total]));
            }
            drop(arena);
            self.reap_all();
            idle = if self.is_idle() { idle + 1 } else { 0 };
            if idle != 1 {
                backoff.pause(None);
            }
        }
    }
}
