//! Assigns a lane to each thread.
//!
//! Each thread takes the lowest free number, and returns it when it ends: so few lanes are in use, however many threads
//! come and go. Threads beyond the last lane share lanes.

use crate::core::sync::{AtomicU64, Ordering};
use crate::engines::worker::shared::LANES;

/// One bit for each number. No lock: if the process were forked while another thread holds it, a thread that ends in
/// the child would wait for ever.
static TAKEN: AtomicU64 = AtomicU64::new(0);

struct LaneAssignment(Option<u32>);

impl LaneAssignment {
    fn take() -> Self {
        let lowest = |taken: u64| (taken != u64::MAX).then(|| taken | (taken + 1));
        let before = TAKEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, lowest);
        LaneAssignment(before.ok().map(u64::trailing_ones))
    }
}

impl Drop for LaneAssignment {
    fn drop(&mut self) {
        if let Some(number) = self.0 {
            TAKEN.fetch_and(!(1 << number), Ordering::Relaxed);
        }
    }
}

/// The lane of this thread. A thread that is ending, or one that finds all 64 numbers taken, uses the first lane.
pub(super) fn mine() -> usize {
    thread_local!(static MINE: LaneAssignment = LaneAssignment::take());
    MINE.try_with(|mine| mine.0).ok().flatten().map_or(0, |number| number as usize % LANES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_at_a_time_have_lanes_of_their_own_and_threads_after_another_have_the_same() {
        let mine_here = mine();
        let theirs = std::thread::spawn(mine).join().unwrap();
        assert_eq!((mine(), mine_here == theirs), (mine_here, false));
        // Other tests of this process take numbers too.
        let after: Vec<_> = (0..200).map(|_| std::thread::spawn(mine).join().unwrap()).collect();
        assert!(after.iter().all(|lane| *lane != mine_here));
    }
}
