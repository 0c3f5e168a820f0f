//! `src/core/order/flow.rs`: race "gone in before".

use crate::subject::flow::{Flow, Mark};
use crate::sync::Arc;
use loom::cell::UnsafeCell;
use loom::thread;

/// What one operation does, which somebody looks at when his mark is past.
struct Work(UnsafeCell<bool>);

// SAFETY: the model itself checks the accesses.
unsafe impl Sync for Work {}
// SAFETY: as above.
unsafe impl Send for Work {}

/// Breaks: a `Relaxed` `enter`; a mark that takes its number with a load, or before it says that it is there; `leave` that
/// counts before it tells, or counts `Relaxed`.
#[test]
fn a_mark_is_past_when_all_before_it_is_out_and_no_sooner() {
    crate::bounded(3, || {
        let (flow, work) = (Arc::new(Flow::new()), Arc::new(Work(UnsafeCell::new(false))));
        let first = flow.enter();
        let worker = thread::spawn({
            let (flow, work) = (flow.clone(), work.clone());
            move || {
                work.0.with_mut(|work| unsafe { *work = true });
                flow.leave(first);
            }
        });
        let other = thread::spawn({
            let flow = flow.clone();
            move || flow.leave(flow.enter())
        });
        let mark = Mark::new(&flow);
        if mark.is_past() {
            assert!(work.0.with(|work| unsafe { *work }), "past, and what was before it is not out");
        }
        worker.join().unwrap();
        other.join().unwrap();
        assert!(mark.is_past() && flow.in_flight() == 0);
    });
}

/// Two that wait at a time do not take each other's for their own.
#[test]
fn each_mark_is_told_of_what_came_after_it() {
    crate::bounded(3, || {
        let flow = Arc::new(Flow::new());
        let first = flow.enter();
        let other = thread::spawn({
            let flow = flow.clone();
            move || flow.leave(flow.enter())
        });
        let waiter = thread::spawn({
            let flow = flow.clone();
            move || assert!(!Mark::new(&flow).is_past(), "the first is in flight")
        });
        assert!(!Mark::new(&flow).is_past(), "the first is in flight");
        other.join().unwrap();
        waiter.join().unwrap();
        flow.leave(first);
        assert!(Mark::new(&flow).is_past());
    });
}
