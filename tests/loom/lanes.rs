//! Lanes of a worker that wait for each other.

use crate::subject::post::Post;
use crate::sync::{Arc, AtomicU64, Ordering};
use loom::cell::UnsafeCell;
use loom::thread;

/// A lane: what it has carried out, who waits for it, and what it told the buffers.
#[derive(Default)]
struct Lane {
    carried: AtomicU64,
    post: Post,
    /// Stands for a region's track: written while an order is carried out, read by what follows.
    told: UnsafeCell<u64>,
}

/// Breaks: without either fence of `post.rs` a waiter sleeps for ever; with `Relaxed` in place of the release or the
/// acquire, what was told is read while it is written.
#[test]
fn who_waits_for_an_order_is_woken_and_sees_what_it_told() {
    crate::bounded(3, || {
        let lane = Arc::new(Lane::default());
        let waiters: Vec<_> = [2, 1]
            .into_iter()
            .map(|number| {
                let lane = lane.clone();
                thread::spawn(move || {
                    lane.post.wait(&lane.carried, number);
                    assert!(lane.carried.load(Ordering::Relaxed) >= number);
                    if number == 2 {
                        // SAFETY: the last order is carried out; nothing is told after it.
                        assert_eq!(lane.told.with(|told| unsafe { *told }), 2);
                    }
                })
            })
            .collect();
        for number in 1..=2 {
            // SAFETY: the only writer; it is read by who follows the last order only.
            lane.told.with_mut(|told| unsafe { *told = number });
            lane.post.raise(&lane.carried, number);
        }
        for waiter in waiters {
            waiter.join().unwrap();
        }
    });
}

/// Two lanes whose orders follow each other in turns, as a chain through two threads does.
#[test]
fn two_lanes_that_follow_each_other_come_to_their_ends() {
    crate::bounded(3, || {
        let lanes = Arc::new([Lane::default(), Lane::default()]);
        let theirs = lanes.clone();
        let other = thread::spawn(move || {
            let [one, two] = &*theirs;
            one.post.wait(&one.carried, 1);
            two.post.raise(&two.carried, 1);
        });
        let [one, two] = &*lanes;
        one.post.raise(&one.carried, 1);
        two.post.wait(&two.carried, 1);
        one.post.raise(&one.carried, 2);
        other.join().unwrap();
    });
}
