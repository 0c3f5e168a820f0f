//! `src/core/order/settle.rs` by itself: one settles, everybody is told once, and what was written before is seen.

use crate::subject::settle::{Settle, Waiter};
use crate::sync::{Arc, AtomicUsize, Ordering};
use loom::cell::UnsafeCell;
use loom::thread;

/// Counts how often it is told, and what.
#[derive(Clone)]
struct Bell(Arc<AtomicUsize>);

impl Bell {
    const FAILED: usize = 100;

    fn new() -> Self {
        Bell(Arc::new(AtomicUsize::new(0)))
    }

    fn rings(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Waiter<&'static str> for Bell {
    fn settled(self, failure: Option<&&'static str>) {
        self.0.fetch_add(if failure.is_some() { Self::FAILED } else { 1 }, Ordering::Relaxed);
    }
    fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

type Work = Settle<&'static str, Bell>;

/// Breaks: a `Relaxed` store of the state in `settle`, or a `Relaxed` load in `is_settled`. (The thread of the model
/// settles and the other looks: the other way round loom 0.7.2 sees one interleaving only, because of two loads it
/// remembers the later one, and `settle` loads before it stores.)
#[test]
fn who_sees_it_settled_sees_all_that_was_written_before() {
    loom::model(|| {
        let shared = Arc::new((Work::new(), UnsafeCell::new(0)));
        let waiter = {
            let shared = shared.clone();
            thread::spawn(move || {
                if shared.0.is_settled() {
                    assert_eq!(shared.1.with(|data| unsafe { *data }), 7);
                    assert!(!shared.0.has_failed());
                }
            })
        };
        shared.1.with_mut(|data| unsafe { *data = 7 });
        assert!(shared.0.settle(Ok(())));
        waiter.join().unwrap();
        assert!(shared.0.is_settled());
    });
}

/// A runner and a waiter that saw the epoch end both settle. Breaks: the look at the state outside the lock.
#[test]
fn two_claimants_settle_once_and_the_first_word_counts() {
    loom::model(|| {
        let work = Arc::new(Work::new());
        let bell = Bell::new();
        assert!(work.subscribe(bell.clone()));
        let other = {
            let work = work.clone();
            thread::spawn(move || work.settle(Err("the epoch ended")))
        };
        let mine = work.settle(Ok(()));
        let failed = work.has_failed();
        let theirs = other.join().unwrap();
        assert!(mine != theirs, "one of the two");
        assert_eq!(work.has_failed(), theirs);
        assert_eq!(failed, theirs, "it does not change any more");
        assert_eq!(work.error().is_some(), theirs);
        assert_eq!(bell.rings(), if theirs { Bell::FAILED } else { 1 });
    });
}

/// Breaks: the state stored after the waiters were taken and the lock was given back.
#[test]
fn a_waiter_is_either_told_or_refused() {
    loom::model(|| {
        let work = Arc::new(Work::new());
        let settler = {
            let work = work.clone();
            thread::spawn(move || work.settle(Ok(())))
        };
        let bell = Bell::new();
        let armed = work.subscribe(bell.clone());
        settler.join().unwrap();
        assert_eq!(bell.rings(), usize::from(armed));
    });
}

#[test]
fn a_waiter_taken_back_is_told_at_most_once_and_the_others_are_told() {
    loom::model(|| {
        let work = Arc::new(Work::new());
        let (gone, stays) = (Bell::new(), Bell::new());
        assert!(work.subscribe(gone.clone()) && work.subscribe(stays.clone()));
        let settler = {
            let work = work.clone();
            thread::spawn(move || work.settle(Ok(())))
        };
        work.unsubscribe(&gone);
        settler.join().unwrap();
        assert!(gone.rings() <= 1);
        assert_eq!(stays.rings(), 1);
    });
}
