//! `src/engines/cuda/graph/quiet.rs`: nobody is inside beside a capture, what was done inside is seen by it and the other way
//! round, and nobody waits for ever.

use crate::bounded;
use crate::subject::quiet::Quiet;
use crate::sync::{Arc, AtomicUsize, Ordering};
use loom::cell::UnsafeCell;
use loom::thread;

/// What callers of the driver read and a capture writes.
struct Driver {
    quiet: Quiet,
    state: UnsafeCell<usize>,
    captures: AtomicUsize,
}

// SAFETY: what the model is about.
unsafe impl Sync for Driver {}

fn driver() -> Arc<Driver> {
    Arc::new(Driver { quiet: Quiet::new(), state: UnsafeCell::new(0), captures: AtomicUsize::new(0) })
}

fn call(driver: &Driver, door: usize) {
    driver.quiet.enter(door);
    // SAFETY: loom says if a capture is beside it.
    driver.state.with(|state| unsafe { *state });
    driver.quiet.leave(door);
}

/// Some patience: others run at each look.
fn capture(driver: &Driver, own: Option<usize>) {
    let mut looks = 3;
    let patient = || {
        looks -= 1;
        thread::yield_now();
        looks > 0
    };
    if let Some(_silence) = driver.quiet.silence(own, patient) {
        // SAFETY: as above.
        driver.state.with_mut(|state| unsafe { *state += 1 });
        driver.captures.fetch_add(1, Ordering::Relaxed);
    }
}

/// Breaks: to count oneself in and look at the door in two steps; `Relaxed` on the way in, on the way out, at the look of
/// the capture, or where the doors are opened again.
#[test]
fn a_capture_is_alone_whoever_comes_and_goes() {
    bounded(3, || {
        let driver = driver();
        let threads: Vec<_> = (0..2)
            .map(|door| {
                let driver = driver.clone();
                thread::spawn(move || {
                    call(&driver, door);
                    call(&driver, door);
                })
            })
            .collect();
        capture(&driver, None);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        capture(&driver, None);
        assert!(driver.captures.load(Ordering::Relaxed) > 0, "nobody is inside, and yet there is no quiet");
    });
}

/// Two that capture, each inside itself, by one door: one of them at a time, or none.
#[test]
fn two_that_are_inside_do_not_capture_beside_each_other() {
    bounded(3, || {
        let driver = driver();
        let one = |driver: &Driver| {
            driver.quiet.enter(0);
            capture(driver, Some(0));
            driver.quiet.leave(0);
        };
        let other = {
            let driver = driver.clone();
            thread::spawn(move || one(&driver))
        };
        one(&driver);
        other.join().unwrap();
    });
}
