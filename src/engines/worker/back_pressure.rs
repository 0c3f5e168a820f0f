//! Where there is no room: in a ring that is full, in shared memory that others use. It is waited for, and not for long.

use super::answers::PLACES;
use super::arena::Block;
use super::link::Link;
use crate::clock::Stopwatch;
use crate::dispatch::Backoff;
use crate::engine::Epoch;
use crate::error::Site;
use crate::sync::Ordering;
use crate::{Error, Result};

/// Since when there is none, and how much had finished by then. It is not waited for long while nothing finishes: the worker
/// reads on whatever its device does, unless the device is inline.
#[derive(Default)]
pub(super) struct Patience(Option<(Stopwatch, Backoff, u64)>);

impl Patience {
    /// Waits a little for room in a ring.
    pub(super) fn wait(&mut self, link: &Link) -> Result<()> {
        let finished = link.answers.count();
        let (since, backoff, before) = self.0.get_or_insert_with(|| {
            let (since, backoff) = link.begin_to_wait();
            (since, backoff, finished)
        });
        if *before != finished {
            (*since, *before) = (link.timing.clock.start(), finished); // there will be room
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

    /// Nothing is in flight, and nobody is about to let go of what was.
    pub(super) fn is_idle(&self) -> bool {
        self.in_flight() == 0 && self.reaper.is_at_rest()
    }

    /// Shared memory for `len` bytes.
    pub(super) fn block(&self, epoch: &Epoch, len: usize) -> Result<Block> {
        let mut waiting: Option<(Stopwatch, Backoff)> = None;
        // How often nothing was in flight any more *before* room was looked for. Not once: what another thread has just
        // settled it may not have dropped yet.
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
            // What nobody is working on is held by results that were not taken: no wait would bring it back.
            if len as u64 > total || idle > 2 || since.elapsed() > self.timing.watch.room {
                let site = Site::none();
                return Err(Error::OutOfMemory { requested: len as u64, free: 0, total, limit: total, site });
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
