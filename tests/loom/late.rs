//! `src/core/order/late.rs`: who follows work that is coming follows it on the device, or becomes late itself.
//!
//! The helper's stream is a flag, [`Stream`]: what it was given before an event that somebody waits for is done by then.

use crate::subject::late::{Added, Binding, Ends};
use crate::subject::settle::Waiter;
use crate::sync::{Arc, AtomicUsize, Ordering};
use loom::cell::UnsafeCell;
use loom::thread;

/// What follows and is to be told; here, how many were.
struct Told(Arc<AtomicUsize>);

impl Waiter<&'static str> for Told {
    fn settled(self, _: Option<&&'static str>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
    fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A stream, and whether the event that is the end was recorded on it.
struct Stream(UnsafeCell<bool>);

// SAFETY: loom checks every access.
unsafe impl Sync for Stream {}
// SAFETY: as above.
unsafe impl Send for Stream {}

/// An end: the number of its event.
const EVENT: usize = 7;

struct World {
    late: Binding<usize, &'static str, Told>,
    stream: Stream,
}

impl World {
    fn new() -> Arc<Self> {
        Arc::new(World { late: Binding::new(), stream: Stream(UnsafeCell::new(false)) })
    }

    /// What a helper does: enqueues, records, binds.
    fn enqueue(&self, outcome: Result<(), &'static str>) {
        self.stream.0.with_mut(|recorded| unsafe { *recorded = true });
        self.late.bind(Ends::from_iter([EVENT]), outcome);
    }

    /// `cuStreamWaitEvent`: waits for nothing where the event was not recorded yet.
    fn wait_for(&self, events: &[usize]) {
        assert!(events.contains(&EVENT), "work that is not over is not followed");
        assert!(self.stream.0.with(|recorded| unsafe { *recorded }), "waited for an event before it was recorded");
    }
}

/// Breaks: a `follow` that gives the ends there are and then asks whether it is bound (the order that two writes of one
/// buffer without order came from); a `bind` that settles before it stores the ends.
#[test]
fn who_is_not_told_to_come_later_follows_the_end() {
    loom::model(|| {
        let world = World::new();
        let submitter = {
            let world = world.clone();
            thread::spawn(move || {
                let mut events = Vec::new();
                match world.late.follow(|event| events.push(*event)) {
                    Added::Coming => assert!(events.is_empty(), "followed, and then enqueued once more"),
                    Added::Followed => world.wait_for(&events),
                    Added::Failed => panic!("it did not fail"),
                }
            })
        };
        world.enqueue(Ok(()));
        submitter.join().unwrap();
        assert_eq!(world.late.follow(|_| ()), Added::Followed);
    });
}

/// A failure may have enqueued something before it. Breaks: the same, and a `follow` that asks for the failure first.
#[test]
fn what_failed_on_its_way_is_followed_too_and_says_so() {
    loom::model(|| {
        let world = World::new();
        let submitter = {
            let world = world.clone();
            thread::spawn(move || {
                let mut events = Vec::new();
                match world.late.follow(|event| events.push(*event)) {
                    Added::Coming => assert!(events.is_empty()),
                    Added::Failed => world.wait_for(&events),
                    Added::Followed => panic!("taken for something that holds what it was to write"),
                }
            })
        };
        world.enqueue(Err("refused"));
        submitter.join().unwrap();
    });
}

/// Who is to come later subscribes; "too late" means that there is an end to follow now: `late_submit.rs`. Breaks: a
/// `bind` that stores the ends after it settles.
#[test]
fn who_comes_later_is_told_or_finds_the_end() {
    loom::model(|| {
        let world = World::new();
        let told = Arc::new(AtomicUsize::new(0));
        let submitter = {
            let (world, told) = (world.clone(), told.clone());
            thread::spawn(move || {
                let subscribed = world.late.core().subscribe(Told(told));
                if !subscribed {
                    let mut events = Vec::new();
                    assert_eq!(world.late.follow(|event| events.push(*event)), Added::Followed);
                    world.wait_for(&events);
                }
                subscribed
            })
        };
        world.enqueue(Ok(()));
        let subscribed = submitter.join().unwrap();
        assert_eq!(told.load(Ordering::Relaxed), usize::from(subscribed));
    });
}

/// `Late::is_past`: nothing without an end is over before it is bound. Breaks: an `all` over the ends there are.
#[test]
fn what_is_coming_is_not_over() {
    loom::model(|| {
        let world = World::new();
        let other = {
            let world = world.clone();
            thread::spawn(move || {
                if world.late.all(|event| *event == EVENT) {
                    assert!(world.stream.0.with(|recorded| unsafe { *recorded }), "over before it had begun");
                }
            })
        };
        world.enqueue(Ok(()));
        other.join().unwrap();
    });
}
