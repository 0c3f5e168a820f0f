//! Who is asked when memory is used up.

use crate::common::{Asleep, Gate, assert_back_at, builders, down, eventually, host, let_others_run, map, within};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use windlass::clock::{ManualClock, Timing};
use windlass::{Device, DeviceBuffer, Error};

type Shared<T> = Arc<Mutex<T>>;

#[test]
fn the_callback_is_told_the_bytes_that_are_missing_and_what_it_frees_is_used() {
    for builder in builders() {
        let cache: Shared<Vec<DeviceBuffer<u8>>> = Shared::default();
        let asked: Shared<Vec<u64>> = Shared::default();
        let callback = {
            let (cache, asked) = (cache.clone(), asked.clone());
            move |bytes| {
                asked.lock().unwrap().push(bytes);
                cache.lock().unwrap().pop().is_some()
            }
        };
        let device = builder.memory_limit(1 << 20).on_out_of_memory(callback).open().unwrap();
        cache.lock().unwrap().push(device.zeros(600_000).unwrap().into_buffer());
        let x = device.zeros::<u8>(500_000).expect("the cache gives way");
        assert_eq!(*asked.lock().unwrap(), [51_424]);
        assert!(down(&device, &x) == [0; 500_000]);
        let error = device.zeros::<u8>(700_000).map(drop).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { requested: 700_000, .. }), "{error}");
        assert_eq!(*asked.lock().unwrap(), [51_424, 151_424], "what is missing");
        drop(x);
        assert_back_at(&device, (0, 0, 0));
    }
}

/// A buffer that was dropped keeps its memory until what uses it is over: that is waited for, before anybody is asked.
#[test]
fn memory_of_work_in_flight_is_waited_for() {
    // By a clock that stands: nobody runs out of patience.
    let timing = Timing::by(ManualClock::new());
    let device = host(1).memory_limit(1 << 20).on_out_of_memory(|_| false).timing(timing).open().unwrap();
    let gate = Gate::default();
    drop(gate.hold(&device, device.zeros::<u8>(700_000).unwrap().into_buffer()));
    let asleep = Asleep::default();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            asleep.here();
            device.zeros::<u8>(700_000).map(drop)
        });
        asleep.wait();
        let_others_run();
        assert!(!waiting.is_finished(), "it is refused at once");
        gate.open();
        waiting.join().unwrap().unwrap();
    });
}

#[test]
fn memory_that_work_in_flight_keeps_is_not_waited_for_without_end() {
    let clock = ManualClock::new();
    let device = host(1).memory_limit(1 << 20).timing(Timing::by(clock)).open().unwrap();
    let gate = Gate::default();
    let held = gate.hold(&device, device.zeros::<u8>(700_000).unwrap().into_buffer());
    let error = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| device.zeros::<u8>(700_000).map(drop).unwrap_err());
        assert!(eventually(60, || {
            clock.advance(Duration::from_millis(1));
            waiting.is_finished()
        }));
        waiting.join().unwrap()
    });
    assert!(matches!(error, Error::OutOfMemory { requested: 700_000, .. }), "{error}");
    gate.open();
    drop(held.await_result().unwrap());
    drop(device.zeros::<u8>(700_000).expect("there is room again"));
}

/// No lock is held while it runs.
#[test]
fn the_callback_may_use_the_device_and_may_panic() {
    for builder in builders() {
        let saved: Shared<Option<(Device, DeviceBuffer<u8>)>> = Shared::default();
        let cached = saved.clone();
        let callback = move |_| {
            let (device, cached) = cached.lock().unwrap().take().expect("asked once too often");
            assert!(down(&device, &cached) == [0; 900_000]);
            true
        };
        let device = builder.memory_limit(1 << 20).on_out_of_memory(callback).open().unwrap();
        *saved.lock().unwrap() = Some((device.clone(), device.zeros(900_000).unwrap().into_buffer()));
        let x = device.zeros::<u8>(800_000).expect("saved and freed");
        let error = device.zeros::<u8>(800_000).map(drop).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { requested: 800_000, .. }), "{error}");
        drop(x);
    }
}

/// An operation that wants memory would wait for itself, and with a pool of one thread for all others too. By a clock that
/// stands whoever waits waits for ever.
#[test]
fn an_operation_that_wants_memory_is_refused_at_once() {
    let device = host(1).memory_limit(1 << 20).timing(Timing::by(ManualClock::new())).open().unwrap();
    let kept = device.zeros::<u8>(700_000).unwrap();
    let inside = device.clone();
    let asked = map(&device, device.zeros::<f64>(1).unwrap().into_buffer(), move |_| {
        assert!(matches!(inside.zeros::<u8>(700_000), Err(Error::OutOfMemory { .. })));
    });
    within(60, move || drop(asked.await_result().unwrap()));
    drop(kept);
}

/// Nor is what the limit never allows waited for.
#[test]
fn what_the_limit_never_allows_is_refused_at_once() {
    let device = host(1).memory_limit(1 << 20).timing(Timing::by(ManualClock::new())).open().unwrap();
    let gate = Gate::default();
    let held = gate.hold(&device, device.zeros::<u8>(1).unwrap().into_buffer());
    let asked = device.clone();
    let refused = within(60, move || asked.zeros::<u8>(2 << 20).map(drop));
    assert!(matches!(refused, Err(Error::OutOfMemory { .. })));
    gate.open();
    drop(held.await_result().unwrap());
}
