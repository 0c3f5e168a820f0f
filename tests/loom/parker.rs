//! `src/core/order/parker.rs`: no wake-up is lost. A lost one shows as a deadlock, which loom reports.

use crate::bounded;
use crate::subject::parker::Parker;
use crate::sync::{Arc, AtomicUsize, Ordering};
use loom::thread;

/// Breaks: a `wake` that only notifies.
#[test]
fn a_wake_up_before_the_sleep_is_remembered() {
    loom::model(|| {
        let parker = Arc::new(Parker::default());
        let waker = {
            let parker = parker.clone();
            thread::spawn(move || parker.wake())
        };
        assert!(parker.sleep(None));
        waker.join().unwrap();
    });
}

/// `await_any`: several wake one sleeper, which looks again each time. Breaks: a `sleep` that forgets wake-ups that came
/// before it.
#[test]
fn two_wakers_and_a_sleeper_that_looks_again() {
    bounded(4, || {
        let shared = Arc::new((Parker::default(), AtomicUsize::new(0)));
        let wakers = [(), ()].map(|()| {
            let shared = shared.clone();
            thread::spawn(move || {
                shared.1.fetch_add(1, Ordering::Release);
                shared.0.wake();
            })
        });
        while shared.1.load(Ordering::Acquire) < 2 {
            assert!(shared.0.sleep(None));
        }
        for waker in wakers {
            waker.join().unwrap();
        }
    });
}
