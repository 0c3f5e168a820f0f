//! Counts of a worker for its client's statistics: a row of words in shared memory, which the worker's heart writes
//! with each beat. So no question and no wait is needed: the client reads the last values, even of a worker that hangs,
//! and zeros of one that is gone.
//!
//! To publish another count, add a line to [`COUNTS`].

use super::layout;
use crate::core::epoch::Epoch;
use crate::core::segment::Segment;
use crate::core::sync::Ordering;
use crate::core::trace::Stats;

/// Selects one count of a device.
type Count = fn(&mut Stats) -> &mut u64;

/// What is published, in the order of the words. For an isolated device, the client itself counts none of these.
const COUNTS: [Count; 16] = [
    |stats| &mut stats.table_bytes,
    |stats| &mut stats.pool_hits,
    |stats| &mut stats.pool_misses,
    |stats| &mut stats.parked,
    |stats| &mut stats.forced_waits,
    |stats| &mut stats.pinned_bytes,
    |stats| &mut stats.staging_hits,
    |stats| &mut stats.events,
    |stats| &mut stats.streams,
    |stats| &mut stats.library_handles,
    |stats| &mut stats.library_objects,
    |stats| &mut stats.plan_hits,
    |stats| &mut stats.plan_misses,
    |stats| &mut stats.plans,
    |stats| &mut stats.plan_bytes,
    |stats| &mut stats.plans_pinned,
];

const _: () = assert!(layout::TOLD + 8 * (COUNTS.len() + 1) <= layout::carried(0));

/// The worker's side. Waits for nothing, so that the heart keeps beating.
pub(crate) fn write(control: &Segment, epoch: &Epoch) {
    let mut stats = Stats {
        table_bytes: epoch.meter.held(),
        forced_waits: epoch.counters.forced_waits.load(Ordering::Relaxed),
        ..Stats::default()
    };
    epoch.engine.fill(&mut stats);
    control.word(layout::TOLD).store(stats.slots as u64, Ordering::Relaxed);
    for (at, count) in COUNTS.iter().enumerate() {
        control.word(place(at)).store(*count(&mut stats), Ordering::Relaxed);
    }
}

/// The client's side.
pub(crate) fn read(control: &Segment, stats: &mut Stats) {
    if let Ok(slots @ 1..) = usize::try_from(control.word(layout::TOLD).load(Ordering::Relaxed)) {
        stats.slots = slots;
    }
    for (at, count) in COUNTS.iter().enumerate() {
        *count(stats) += control.word(place(at)).load(Ordering::Relaxed);
    }
}

/// The offset of a count's word.
const fn place(at: usize) -> usize {
    layout::TOLD + 8 * (at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_has_a_word_of_its_own() {
        let (control, _) = Segment::create("windlass-test", layout::CONTROL).unwrap();
        for at in 0..COUNTS.len() {
            control.word(place(at)).store(1 << at, Ordering::Relaxed);
        }
        let mut stats = Stats { slots: 3, ..Stats::default() };
        read(&control, &mut stats);
        assert_eq!((stats.slots, stats.table_bytes, stats.plans_pinned), (3, 1, 1 << (COUNTS.len() - 1)));
        let mut all: Vec<u64> = COUNTS.iter().map(|count| *count(&mut stats)).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), COUNTS.len());
        control.leave();
        let mut stats = Stats::default();
        read(&control, &mut stats);
        assert_eq!(stats, Stats::default(), "nothing is said of a worker that is gone");
    }
}
