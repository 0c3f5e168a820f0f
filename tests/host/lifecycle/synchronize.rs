//! What a wait for the device waits for.

use super::LONG;
use crate::common::{Asleep, Gate, busy, concurrent_devices, eventually, host, map, up, within};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use windlass::clock::{ManualClock, Timing};
use windlass::{Device, Error};

/// Submits work until it is told to stop; several threads that do keep some in flight at all times.
fn keep_busy(device: &Device, stop: &AtomicBool) {
    let mut queue = VecDeque::new();
    while !stop.load(Ordering::Relaxed) {
        queue.push_back(busy(device, up(device, [0.0f64]), 2));
        if queue.len() > 16 {
            drop(device.download(&queue.pop_front().unwrap()).unwrap().await_result().unwrap());
        }
    }
}

/// Tells it, however the test ends.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn it_waits_for_what_was_submitted_before_and_not_for_what_others_submit_after() {
    for device in concurrent_devices() {
        within(60, move || {
            let stop = AtomicBool::new(false);
            std::thread::scope(|scope| {
                let _stop = Stop(&stop);
                for _ in 0..3 {
                    scope.spawn(|| keep_busy(&device, &stop));
                }
                let submitted = device.stats().dispatches;
                assert!(eventually(10, || device.stats().dispatches > submitted + 50), "nobody is busy");
                for _ in 0..5 {
                    let before = device.download(&busy(&device, up(&device, [2.0f64]), 5)).unwrap();
                    device.synchronize(LONG).unwrap();
                    assert!(before.wait_timeout(Duration::ZERO), "{device:?}");
                }
            });
        });
    }
}

#[test]
fn what_was_submitted_later_does_not_stand_for_what_was_submitted_before() {
    const HOUR: Duration = Duration::from_secs(3600);
    let clock = ManualClock::new();
    let device = host(2).timing(Timing::by(clock)).open().unwrap();
    let gate = Gate::default();
    let held = gate.hold(&device, up(&device, [1u8]));
    gate.await_arrivals(1);
    std::thread::scope(|scope| {
        // Several at a time, and one that gives up.
        let asleep: [Asleep; 4] = Default::default();
        let wait = |asleep: &Asleep, limit| {
            let asleep = asleep.clone();
            let device = &device;
            scope.spawn(move || {
                asleep.here();
                device.synchronize(limit)
            })
        };
        let waiters: Vec<_> = asleep.iter().skip(1).map(|asleep| wait(asleep, 24 * HOUR)).collect();
        let hasty = wait(&asleep[0], HOUR);
        asleep.iter().for_each(Asleep::wait);
        for n in 0..200u8 {
            drop(map(&device, up(&device, [n]), |_| ()).await_result().unwrap());
        }
        assert!(!hasty.is_finished());
        clock.advance(HOUR);
        assert!(matches!(hasty.join().unwrap(), Err(Error::Timeout { .. })));
        assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
        gate.open();
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap().unwrap());
    });
    drop(held.await_result().unwrap());
    device.synchronize(Duration::ZERO).unwrap();
}
