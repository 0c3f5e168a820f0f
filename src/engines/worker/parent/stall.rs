//! Stalls of the driver that are nobody's slowness, for the watchdog of isolated GPUs.
//!
//! A fault on any GPU of a machine, or the kill of a process that uses one, stalls the driver for all of them: some 350 ms
//! on two H100s. Two signs tell it from an operation that does not end, and the time they cover does not count:
//!
//! - The worker's poller asks the driver and gets no answer (an endless kernel does not hinder it). After
//!   `Watch::longest_stall` this counts again: the driver itself hangs.
//! - A worker of another GPU of this program has ended other than by being closed. Half of `Watch::fault_stall` before that
//!   was seen, and half after it, do not count.
//!
//! A fault in *another* program, and the time slices that other programs get on the GPU, leave no sign here.

use super::active_clock::ActiveClock;
use super::link::Link;
use crate::core::clock::Timing;
use crate::core::sync::Ordering;
use parking_lot::Mutex;
use std::time::Instant;

/// The last end of a worker with a GPU: its number, the worker's process, and when it was seen.
#[derive(Clone, Copy)]
struct Fault {
    number: u64,
    pid: u32,
    at: Instant,
}

/// The faults of this program's GPUs.
#[derive(Default)]
pub(super) struct Faults(Mutex<Option<Fault>>);

/// Those of this process.
pub(super) static FAULTS: Faults = Faults(Mutex::new(None));

impl Faults {
    /// A worker with a GPU has ended, other than by being closed.
    pub(super) fn note(&self, pid: u32, at: Instant) {
        let mut last = self.0.lock();
        let number = last.map_or(1, |fault| fault.number + 1);
        *last = Some(Fault { number, pid, at });
    }
}

/// What one monitor has seen of it.
#[derive(Default)]
pub(super) struct Stalls {
    seen: u64,
}

impl Stalls {
    /// Excludes from the watchdog's time what does not count. Call in each round.
    pub(super) fn look(&mut self, link: &Link, faults: &Faults, clock: &mut ActiveClock) {
        let Timing { watch, clock: time, .. } = link.timing;
        let now = time.now();
        if let Some(stall) = link.answers.asking(*time)
            && (watch.stall..watch.longest_stall).contains(&stall)
        {
            clock.exclude(now.checked_sub(stall).unwrap_or(now), now);
        }
        if !link.on_gpu.load(Ordering::Relaxed) {
            return;
        }
        let last = *faults.0.lock();
        if let Some(Fault { number, pid, at }) = last.filter(|fault| fault.number != self.seen) {
            self.seen = number;
            if pid != link.pid {
                let half = watch.fault_stall / 2;
                clock.exclude(at.checked_sub(half).unwrap_or(at), at + half);
            }
        }
    }
}
