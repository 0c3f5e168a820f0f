//! Who is asked when memory is used up.

use crate::common::{Gate, assert_back_at, builders, down, host, map};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
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
        cache.lock().unwrap().push(device.zeros(600_000).unwrap());
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
    let in_time = || {
        let device = host(1).memory_limit(1 << 20).on_out_of_memory(|_| false).open().unwrap();
        let gate = Gate::default();
        drop(gate.hold(&device, device.zeros::<u8>(700_000).unwrap()));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| device.zeros::<u8>(700_000).map(drop));
            std::thread::sleep(Duration::from_millis(20));
            gate.open();
            waiting.join().unwrap().is_ok()
        })
    };
    // It waits for half a second, which may be over where a thread was held up for so long.
    assert!((0..5).any(|_| in_time()), "it is refused at once");
}

#[test]
fn memory_that_work_in_flight_keeps_is_not_waited_for_without_end() {
    let device = host(1).memory_limit(1 << 20).open().unwrap();
    let gate = Gate::default();
    let held = gate.hold(&device, device.zeros::<u8>(700_000).unwrap());
    let error = device.zeros::<u8>(700_000).map(drop).unwrap_err();
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
        *saved.lock().unwrap() = Some((device.clone(), device.zeros(900_000).unwrap()));
        let x = device.zeros::<u8>(800_000).expect("saved and freed");
        let error = device.zeros::<u8>(800_000).map(drop).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { requested: 800_000, .. }), "{error}");
        drop(x);
    }
}

/// An operation that wants memory would wait for itself, and with a pool of one thread for all others too.
#[test]
fn an_operation_that_wants_memory_is_refused_at_once() {
    let device = host(1).memory_limit(1 << 20).open().unwrap();
    let kept = device.zeros::<u8>(700_000).unwrap();
    let (inside, told) = (device.clone(), Arc::new(Mutex::new(None)));
    let tell = told.clone();
    let asked = map(&device, device.zeros::<f64>(1).unwrap(), move |_| {
        let times = (0..20).map(|_| {
            let start = Instant::now();
            assert!(matches!(inside.zeros::<u8>(700_000), Err(Error::OutOfMemory { .. })));
            start.elapsed()
        });
        *tell.lock().unwrap() = times.min();
    });
    drop(asked.await_result().unwrap());
    let least = told.lock().unwrap().expect("it ran");
    assert!(least < Duration::from_millis(400), "{least:?}");
    drop(kept);
}

/// Nor is what the limit never allows waited for.
#[test]
fn what_the_limit_never_allows_is_refused_at_once() {
    let device = host(1).memory_limit(1 << 20).open().unwrap();
    let gate = Gate::default();
    let held = gate.hold(&device, device.zeros::<u8>(1).unwrap());
    let times = (0..20).map(|_| {
        let start = Instant::now();
        assert!(matches!(device.zeros::<u8>(2 << 20), Err(Error::OutOfMemory { .. })));
        start.elapsed()
    });
    let least = times.min().unwrap();
    gate.open();
    drop(held.await_result().unwrap());
    assert!(least < Duration::from_millis(400), "{least:?}");
}
