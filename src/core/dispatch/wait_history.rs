//! How long a thread's earlier waits took, by kind of work. If waits for one kind of work take about the same time, the
//! thread need not poll often from the beginning of the next one.
//!
//! A poll costs a sleep and a driver query, some 8 us. Polling often enough to notice any end in time took 18 % of a
//! core during work of 10 ms. So each thread remembers, for each kind of work, the shortest of its last 20 to 39 waits,
//! and polls rarely until then. This needs no assumption about how the lengths are distributed: of 21 waits in random
//! order, the last is the shortest once in 21 times. So fewer than one wait in twenty ends while the thread polls
//! rarely.

use std::cell::Cell;
use std::time::Duration;

/// Waits per generation. The history is used only after one generation is complete.
const GENERATION: u8 = 20;
/// How many kinds of work are remembered: the ones waited for most recently.
const KINDS: usize = 8;

/// The waits for one kind of work.
#[derive(Clone, Copy)]
struct Entry {
    /// The address of the operation's name, which identifies the kind.
    kind: usize,
    /// The shortest wait of the last complete generation.
    complete: Option<Duration>,
    /// The shortest wait of the current generation, and its number of waits.
    present: (Duration, u8),
}

impl Entry {
    fn new(kind: usize) -> Self {
        Entry { kind, complete: None, present: (Duration::MAX, 0) }
    }

    fn add(&mut self, waited: Duration) {
        let shortest = self.present.0.min(waited);
        self.present = (shortest, self.present.1 + 1);
        if self.present.1 == GENERATION {
            (self.complete, self.present) = (Some(shortest), (Duration::MAX, 0));
        }
    }

    fn shortest(&self) -> Duration {
        self.complete.map_or(Duration::ZERO, |complete| complete.min(self.present.0))
    }
}

/// The waits of one thread. The kind waited for most recently comes first.
#[derive(Clone, Copy)]
struct WaitHistory([Option<Entry>; KINDS]);

thread_local! {
    static HERE: Cell<WaitHistory> = const { Cell::new(WaitHistory([None; KINDS])) };
}

/// The shortest of the calling thread's recent waits for work of that name; zero if it knows too few.
pub(crate) fn shortest(name: &'static str) -> Duration {
    HERE.get().shortest(name.as_ptr().addr())
}

/// Records that the calling thread waited for work of that name, until its end, for this long.
pub(crate) fn learn(name: &'static str, waited: Duration) {
    let mut history = HERE.get();
    history.learn(name.as_ptr().addr(), waited);
    HERE.set(history);
}

impl WaitHistory {
    fn find(&self, kind: usize) -> Option<(usize, Entry)> {
        let entries = self.0.iter().enumerate().filter_map(|(place, entry)| Some((place, (*entry)?)));
        entries.into_iter().find(|(_, entry)| entry.kind == kind)
    }

    fn shortest(&self, kind: usize) -> Duration {
        self.find(kind).map_or(Duration::ZERO, |(_, entry)| entry.shortest())
    }

    fn learn(&mut self, kind: usize, waited: Duration) {
        let (place, mut entry) = self.find(kind).unwrap_or((KINDS - 1, Entry::new(kind)));
        entry.add(waited);
        self.0.copy_within(..place, 1);
        self.0[0] = Some(entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const GEMM: usize = 1;
    const EMPTY: WaitHistory = WaitHistory([None; KINDS]);

    #[test]
    fn the_shortest_of_at_least_twenty_waits_is_relied_on() {
        let mut history = EMPTY;
        for n in 1..20 {
            history.learn(GEMM, (30 - n) * MS);
            assert_eq!(history.shortest(GEMM), Duration::ZERO, "after {n}");
        }
        history.learn(GEMM, 30 * MS);
        assert_eq!((history.shortest(GEMM), history.shortest(2)), (11 * MS, Duration::ZERO));
        history.learn(GEMM, 3 * MS);
        assert_eq!(history.shortest(GEMM), 3 * MS, "a shorter one counts at once");
        (0..38).for_each(|_| history.learn(GEMM, 50 * MS));
        assert_eq!(history.shortest(GEMM), 3 * MS);
        history.learn(GEMM, 50 * MS);
        assert_eq!(history.shortest(GEMM), 50 * MS, "what was long ago is forgotten");
    }

    #[test]
    fn the_kinds_waited_for_last_are_remembered() {
        let kinds: [usize; KINDS + 1] = std::array::from_fn(|kind| kind);
        let (mut history, known) = (EMPTY, |history: &WaitHistory| kinds.map(|kind| history.find(kind).is_some()));
        kinds.into_iter().take(KINDS).for_each(|kind| (0..20).for_each(|_| history.learn(kind, MS)));
        history.learn(0, MS);
        history.learn(8, MS);
        assert_eq!(known(&history), [true, false, true, true, true, true, true, true, true]);
        assert_eq!((history.shortest(0), history.shortest(8)), (MS, Duration::ZERO));
    }
}
