//! Bounds on the dispatches in flight: counted in completions, never in awaits.

use super::LONG;
use crate::common::{Asleep, Gate, assert_back_at, builders, down, eventually, host, let_others_run, map, up, within};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use windlass::{Error, FaultPlan, op::InFlight};

#[test]
fn a_caller_who_submits_all_before_he_collects_is_not_locked_out_by_a_waiting_bound() {
    for builder in builders() {
        let device = builder.in_flight(InFlight::Wait(4)).open().unwrap();
        within(60, move || {
            let x = up(&device, [1.0f64, 2.0]);
            let pendings: Vec<_> = (0..3000)
                .map(|_| {
                    let pending = device.blas().dot(&x, &x).unwrap();
                    // A thread of an isolated device may still be at the last few, which its worker has finished.
                    let most = if device.is_isolated() { 8 } else { 4 };
                    assert!(device.stats().in_flight <= most);
                    pending
                })
                .collect();
            assert!(pendings.into_iter().all(|pending| pending.await_result().unwrap() == 5.0));
        });
    }
}

#[test]
fn a_busy_bound_refuses_gives_the_buffer_back_and_admits_again_when_something_is_done() {
    let device = host(1).in_flight(InFlight::Busy(2)).open().unwrap();
    let gate = Gate::default();
    let held = gate.hold(&device, device.zeros::<f64>(1).unwrap().into_buffer());
    let next = map(&device, device.zeros::<f64>(1).unwrap().into_buffer(), |_| ());
    let rejected = device.blas().scal(2.0, device.zeros::<f64>(3).unwrap()).unwrap_err();
    assert!(matches!(rejected.error, Error::Busy { in_flight: 2, limit: 2, .. }), "{rejected}");
    assert!(rejected.error.is_retryable() && !rejected.error.is_poisoning());
    let (x,) = rejected.back.expect("the buffer");
    gate.open();
    drop(held.await_result().unwrap());
    drop(next.await_result().unwrap());
    let x = device.blas().scal(2.0, x).unwrap().await_result().unwrap().into_buffer();
    assert_eq!(down(&device, &x), [0.0; 3]);
}

#[test]
fn work_that_is_done_but_was_not_awaited_does_not_count() {
    for builder in builders() {
        let device = builder.in_flight(InFlight::Busy(2)).open().unwrap();
        let mut pendings = Vec::new();
        for i in 0..100u32 {
            let pending = device.upload([i]).unwrap();
            assert!(pending.wait_timeout(LONG));
            pendings.push(pending);
        }
        assert_eq!(pendings.len(), 100);
    }
}

#[test]
fn a_caller_who_waits_at_the_bound_goes_on_as_soon_as_something_is_done() {
    let device = host(1).in_flight(InFlight::Wait(1)).open().unwrap();
    let gate = Gate::default();
    let held = gate.hold(&device, device.zeros::<f64>(1).unwrap().into_buffer());
    let (asleep, submitted) = (Asleep::default(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let submitter = scope.spawn(|| {
            asleep.here();
            let x = up(&device, [4.0f64]);
            submitted.store(true, Ordering::SeqCst);
            down(&device, &x)
        });
        asleep.wait();
        let_others_run();
        assert!(!submitted.load(Ordering::SeqCst), "past the bound");
        gate.open();
        assert_eq!(submitter.join().unwrap(), [4.0]);
    });
    drop(held.await_result().unwrap());
}

#[test]
fn a_caller_who_waits_at_the_bound_is_told_when_the_device_stops_admitting() {
    let device = host(1).in_flight(InFlight::Wait(1)).open().unwrap();
    let gate = Gate::default();
    let _held = gate.hold(&device, device.zeros::<f64>(1).unwrap().into_buffer());
    let submitting = device.clone();
    let submitter = std::thread::spawn(move || submitting.upload([4.0f64]).map(|_| ()));
    // Whenever it comes to wait, the next of these finds it there.
    let told = eventually(10, || {
        assert!(matches!(device.rebuild(Duration::from_millis(100)), Err(Error::Timeout { .. })));
        submitter.is_finished()
    });
    assert!(told, "it waits on");
    let error = within(10, move || submitter.join().unwrap()).unwrap_err();
    assert!(matches!(error, Error::ContextPoisoned { .. }) && error.is_retryable(), "{error}");
}

/// What is left of a life that a fault has ended is no work of the next, and what puts the device to rights again is bound
/// by nothing.
#[test]
fn a_device_recovers_under_its_bound_beside_what_a_dead_life_has_left() {
    let bounds = [1, 2].map(|most| [(InFlight::Busy(most), most), (InFlight::Wait(most), most)]);
    for (bound, most) in bounds.into_iter().flatten() {
        let plan = FaultPlan::new().poison(most - 1);
        let device = host(4).in_flight(bound).fault_plan(plan).open().unwrap();
        within(40, move || {
            let old = Gate::default();
            // As many as are allowed, the one that ends the life among them; nobody waits for the others.
            (1..most).for_each(|_| drop(old.hold(&device, device.zeros::<f64>(1).unwrap().into_buffer())));
            old.await_arrivals(most as usize - 1); // what has not begun by then never will
            let error =
                map(&device, device.zeros::<f64>(1).unwrap().into_buffer(), |_| ()).await_result().unwrap_err().error;
            assert!(error.is_poisoning(), "{bound:?}: {error}");
            let health = device.wait_healthy(LONG).unwrap_or_else(|error| panic!("{bound:?}: {error}"));
            assert_eq!(health.generation, 1, "{bound:?}");
            // The bound is that of the new life.
            let new = Gate::default();
            let held: Vec<_> =
                (0..most).map(|_| new.hold(&device, device.zeros::<f64>(1).unwrap().into_buffer())).collect();
            if let InFlight::Busy(_) = bound {
                let error = device.upload([1u8]).map(drop).unwrap_err();
                assert!(matches!(error, Error::Busy { in_flight, limit, .. } if (in_flight, limit) == (most, most)));
            }
            new.open();
            held.into_iter().for_each(|held| drop(held.await_result().unwrap()));
            device.synchronize(LONG).unwrap();
            device.rebuild(LONG).unwrap();
            assert_eq!(device.stats().in_flight, most - 1, "what is left is counted all the same");
            old.open();
            assert_back_at(&device, (0, 0, 0));
        });
    }
}
