//! `src/engines/worker/parent/frees.rs`: memory is given back on one thread, and another needs it.

use super::frees::Frees;
use crate::bounded;
use crate::sync::{Arc, Mutex};
use loom::thread;

/// A lane: what drops have left, and how many orders were sent under its lock.
#[derive(Default)]
struct Lane {
    frees: Frees,
    outbox: Mutex<u64>,
}

impl Lane {
    fn flush(&self) {
        if !self.frees.is_empty() {
            let mut sent = self.outbox.lock();
            self.frees.flush(|_| {
                *sent += 1;
                Some(*sent)
            });
        }
    }
}

fn flushed_by_two(count: u64) {
    bounded(3, move || {
        let lane = Arc::new(Lane::default());
        (0..count).for_each(|id| lane.frees.push(id));
        let theirs = lane.clone();
        let monitor = thread::spawn(move || theirs.flush());
        lane.flush();
        let last = lane.frees.last(|| drop(lane.outbox.lock()));
        assert_eq!(last, count, "an order that gives memory back was not told of");
        monitor.join().unwrap();
    });
}

/// Breaks: without the word that some is on its way, or with one that is said after the first was taken out, or taken back
/// before its number is known; and with a `last` that does not wait.
#[test]
fn memory_that_was_given_back_before_is_known_to_who_asks() {
    flushed_by_two(1);
}

#[test]
fn the_last_of_several_is_known_as_well() {
    flushed_by_two(2);
}
