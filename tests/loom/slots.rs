//! A stream slot's tickets: `src/engines/cuda/{sequence,last_event,ring}.rs`, over a device that is a lock and two numbers.
//!
//! [`Slot`] mirrors `State::record`, `State::reap` and `Shared::ask` of `src/engines/cuda/streams/slot.rs`, whose types cannot be had
//! without a driver.

use crate::bounded;
use crate::subject::keep_alive::KeepAlive;
use crate::subject::last_event::LastEvent;
use crate::subject::ring::{Retired, Ring};
use crate::subject::sequence::Sequence;
use crate::sync::{Arc, AtomicBool, AtomicUsize, Mutex, Ordering};
use loom::cell::UnsafeCell;
use loom::thread;

/// The driver: which ticket each event was last recorded for, and how far the stream is.
#[derive(Default)]
struct Driver {
    recorded: [u64; 4],
    done: u64,
}

struct Slot {
    sequence: Sequence,
    last_event: LastEvent<u8>,
    lease: Mutex<Ring<usize>>,
    driver: Mutex<Driver>,
    dead: AtomicBool,
    /// Written once the epoch has ended: nobody may be in the driver then.
    destroyed: UnsafeCell<bool>,
}

/// An event as the pointer that a [`LastEvent`] keeps; never null.
fn pointer(event: usize) -> *mut u8 {
    std::ptr::without_provenance_mut(event + 1)
}

impl Slot {
    fn new() -> Arc<Self> {
        Arc::new(Slot {
            sequence: Sequence::new(),
            last_event: LastEvent::new(),
            lease: Mutex::new(Ring::new()),
            driver: Mutex::new(Driver::default()),
            dead: AtomicBool::new(false),
            destroyed: UnsafeCell::new(false),
        })
    }

    /// A dispatch: its ticket and its event.
    fn submit(&self, cargo: Option<Arc<dyn KeepAlive>>) -> (u64, usize) {
        let mut ring = self.lease.lock();
        let made = ring.events();
        let event = ring.event::<()>(|| Ok(made)).unwrap();
        let next = self.sequence.issued() + 1;
        self.driver.lock().recorded[event] = next;
        let ticket = self.sequence.issue();
        self.last_event.set(ticket, pointer(event));
        ring.push(ticket, Some(event), cargo);
        (ticket, event)
    }

    fn query(&self, event: usize) -> bool {
        self.destroyed.with(|destroyed| assert!(!unsafe { *destroyed }, "asked about an event that is gone"));
        let driver = self.driver.lock();
        driver.recorded[event] <= driver.done
    }

    fn poll(&self, ticket: u64, event: usize) -> bool {
        let ask = || {
            if self.dead.load(Ordering::Acquire) || !self.query(event) {
                return Ok(None);
            }
            match self.last_event.after(ticket) {
                Some((newest, event)) if self.query(event.addr() - 1) => Ok(Some(newest)),
                _ => Ok(Some(ticket)),
            }
        };
        self.sequence.poll::<()>(ticket, ask).unwrap()
    }

    fn reap(&self) {
        let mut out = Retired::new();
        self.lease.lock().reap(&self.sequence, usize::MAX, &mut out);
        out.iter().for_each(|cargo| cargo.retire());
    }

    /// Nothing is called over that is not.
    fn assert_true(&self) {
        let completed = self.sequence.completed();
        assert!(completed <= self.driver.lock().done, "ticket {completed} was called over and is not");
    }
}

/// A waiter finds its ticket over and asks about the newest one while that is being submitted. Breaks: a [`LastEvent`] whose
/// ticket is stored before its event, or loaded after it; an answer that counts for the last ticket issued.
#[test]
fn an_end_is_not_made_up_for_the_dispatch_that_is_being_submitted() {
    bounded(4, || {
        let slot = Slot::new();
        let (first, event) = slot.submit(None);
        slot.driver.lock().done = first;
        let waiter = {
            let slot = slot.clone();
            thread::spawn(move || slot.poll(first, event))
        };
        let (second, later) = slot.submit(None);
        assert!(waiter.join().unwrap());
        slot.assert_true();
        assert!(!slot.poll(second, later));
    });
}

/// A waiter looks at its ticket while the submitter sees it over, uses its event for the next dispatch, and that one is
/// still running.
#[test]
fn an_event_that_is_used_again_neither_hides_an_end_nor_makes_one_up() {
    bounded(3, || {
        let slot = Slot::new();
        let (first, event) = slot.submit(None);
        slot.driver.lock().done = first;
        let waiter = {
            let slot = slot.clone();
            thread::spawn(move || {
                let over = slot.poll(first, event);
                slot.assert_true();
                over
            })
        };
        let over = slot.poll(first, event);
        slot.reap();
        let (second, again) = slot.submit(None);
        slot.assert_true();
        assert!(!slot.poll(second, again), "the second is still running");
        let seen = waiter.join().unwrap();
        assert!(over || seen, "somebody held the polling right, and its answer was yes");
        slot.assert_true();
    });
}

/// One waiter's answer counts for the other, and what it did with it is seen. Breaks: a `Relaxed` `observe`, a
/// `Relaxed` `reached`.
#[test]
fn whoever_sees_a_ticket_over_sees_what_was_done_before() {
    loom::model(|| {
        let slot = Slot::new();
        let result = Arc::new(UnsafeCell::new(0));
        let (ticket, event) = slot.submit(None);
        let poller = {
            let (slot, result) = (slot.clone(), result.clone());
            thread::spawn(move || {
                // What the device wrote: it is ordered by the driver's answer alone.
                result.with_mut(|result| unsafe { *result = 7 });
                slot.driver.lock().done = ticket;
                slot.poll(ticket, event)
            })
        };
        // Until it is seen: loom remembers one load of a number at a time, and the poller's own come between.
        while !slot.sequence.reached(ticket) {
            thread::yield_now();
        }
        assert_eq!(result.with(|result| unsafe { *result }), 7);
        assert!(poller.join().unwrap());
    });
}

/// Breaks: a `poll` that asks without the polling right; a look at the flag before it was taken.
#[test]
fn nobody_asks_about_an_event_of_an_epoch_that_has_ended() {
    bounded(4, || {
        let slot = Slot::new();
        let (ticket, event) = slot.submit(None);
        let waiter = {
            let slot = slot.clone();
            thread::spawn(move || slot.poll(ticket, event))
        };
        slot.dead.store(true, Ordering::Release);
        let gone = || slot.destroyed.with_mut(|destroyed| unsafe { *destroyed = true });
        slot.sequence.without_pollers(gone);
        assert!(!waiter.join().unwrap());
    });
}

struct Kept {
    retired: AtomicUsize,
    /// The device reads it until the ticket is over.
    bytes: UnsafeCell<u32>,
}

// SAFETY: loom checks every access to `bytes`.
unsafe impl Sync for Kept {}

/// What the ring holds of it.
struct Token(Arc<Kept>);

impl KeepAlive for Token {
    fn retire(&self) {
        self.0.retired.fetch_add(1, Ordering::Relaxed);
        // Ours again.
        self.0.bytes.with_mut(|bytes| unsafe { *bytes += 1 });
    }
}

/// Two reapers, one of which learns that the device is done. Breaks: a reap by a number that was loaded `Relaxed`; cargo
/// that stays in the ring after it was handed out.
#[test]
fn cargo_is_kept_until_its_ticket_is_over_and_retired_once() {
    bounded(3, || {
        let slot = Slot::new();
        let kept = Arc::new(Kept { retired: AtomicUsize::new(0), bytes: UnsafeCell::new(0) });
        let token: std::sync::Arc<dyn KeepAlive> = std::sync::Arc::new(Token(kept.clone()));
        let (ticket, event) = slot.submit(Some(Arc::from_std(token)));
        slot.reap();
        assert_eq!(kept.retired.load(Ordering::Relaxed), 0, "the device still reads it");
        let other = {
            let (slot, kept) = (slot.clone(), kept.clone());
            thread::spawn(move || {
                kept.bytes.with(|bytes| assert_eq!(unsafe { *bytes }, 0)); // the device
                slot.driver.lock().done = ticket;
                slot.poll(ticket, event);
                slot.reap();
            })
        };
        slot.reap();
        other.join().unwrap();
        slot.reap();
        assert_eq!(kept.retired.load(Ordering::Relaxed), 1);
    });
}
