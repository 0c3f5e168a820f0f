//! What becomes of work in flight, whatever its caller does: it resolves once, and all it held goes back.

use crate::common;

mod bounds;
mod callers;
mod memory;
mod panics;
mod report;
mod several;
mod synchronize;
mod waiting;

use common::{
    Gate, assert_back_at, beside_work, builders, busy, concurrent_devices, devices, down, eventually, holdings, host,
    map, up, within,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use windlass::{Device, Error, FaultPlan, error::Stale};

const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_dropped_pending_changes_nothing_and_all_memory_goes_back() {
    for device in devices() {
        let base = holdings(&device);
        for _ in 0..100 {
            let x = busy(&device, up(&device, vec![1.0f64; 100]), 1);
            drop(device.download(&x).unwrap());
            drop(device.blas().dot(&x, &x).unwrap());
            drop(device.blas().scal(2.0, x).unwrap());
        }
        assert_back_at(&device, base);
    }
}

#[test]
fn dropping_a_pending_does_not_wait() {
    for device in concurrent_devices() {
        beside_work(500, |ms| {
            let x = busy(&device, up(&device, [1.0f64]), ms);
            let read = device.download(&x).unwrap();
            drop(device.blas().dot(&x, &x).unwrap());
            drop(device.blas().scal(2.0, x).unwrap());
            !read.is_ready()
        });
    }
}

#[test]
fn the_work_of_a_dropped_pending_is_done() {
    for device in devices() {
        let x = busy(&device, up(&device, [2.0f64]), 5);
        let y = up(&device, [1.0f64]).share();
        let (buffers, verdict) = device.blas().axpy(1.0, &y, x).unwrap().into_parts();
        drop((verdict, y));
        assert_eq!(down(&device, &buffers.0), [3.0]);
    }
}

#[test]
fn a_forgotten_pending_does_its_work_and_holds_up_nobody() {
    for device in devices() {
        let x = up(&device, [1.0f64; 4]).share();
        for _ in 0..1000 {
            common::forget(device.blas().nrm2(&x).unwrap());
        }
        assert!(device.synchronize(LONG).is_ok());
        assert_eq!(device.stats().in_flight, 0);
        let x = x.try_unique().expect("a forgotten pending holds no handle of what it read");
        let x = device.fill(x, 2.0).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &x), [2.0; 4]);
        device.rebuild(LONG).expect("nothing is in the way of a rebuild");
    }
}

#[test]
fn a_panic_over_a_pending_costs_no_memory() {
    for device in devices() {
        let base = holdings(&device);
        for _ in 0..50 {
            let caught = catch_unwind(AssertUnwindSafe(|| {
                let x = busy(&device, up(&device, [1.0f64; 64]), 1);
                let _reader = device.download(&x).unwrap();
                let _writer = device.blas().scal(2.0, x).unwrap();
                std::panic::resume_unwind(Box::new("the caller's own")); // no message in the test's output
            }));
            assert!(caught.is_err());
        }
        assert_back_at(&device, base);
        assert_eq!(down(&device, &up(&device, [1u8])), [1]);
    }
}

#[test]
fn a_pending_can_be_awaited_by_another_thread() {
    for device in devices() {
        let x = busy(&device, up(&device, [2.0f64]), 5);
        let dot = device.blas().dot(&x, &x).unwrap();
        let scaled = device.blas().scal(3.0, x).unwrap();
        let (dot, x) = within(20, move || (dot.await_result().unwrap(), scaled.await_result().unwrap()));
        assert_eq!((dot, down(&device, &x)), (4.0, vec![6.0]));
    }
}

#[test]
fn buffers_dropped_in_flight_last_until_their_work_is_done_and_then_go_back() {
    for device in concurrent_devices() {
        let base = holdings(&device);
        beside_work(50, |ms| {
            let x = busy(&device, up(&device, vec![1.0f64; 1000]), ms);
            let read = device.download(&x).unwrap();
            drop(x);
            let held = holdings(&device);
            let lasts = !read.is_ready();
            assert!(!lasts || held.0 >= base.0 + 8000, "freed under the work that uses it: {held:?}");
            assert_eq!(read.await_result().unwrap(), [1.0; 1000]);
            assert_back_at(&device, base);
            lasts
        });
    }
}

#[test]
fn buffers_of_many_sizes_come_and_go_from_many_threads_without_growth() {
    for device in devices() {
        let base = holdings(&device);
        std::thread::scope(|scope| {
            for thread in 0..4usize {
                let device = &device;
                scope.spawn(move || {
                    for i in 0..300usize {
                        let x = up(device, vec![i as u32; 1 + (i * 37 + thread * 11) % 5000]);
                        let y = device.duplicate(&x).unwrap().into_output();
                        if i % 7 == 0 {
                            assert_eq!(down(device, &y), vec![i as u32; y.len()]);
                        }
                    }
                });
            }
        });
        assert_back_at(&device, base);
    }
}

#[test]
fn a_hundred_thousand_dispatches_are_submitted_before_the_first_is_awaited() {
    for device in devices() {
        within(300, move || {
            let base = holdings(&device);
            let before = device.stats().dispatches;
            let x = up(&device, [1.0f64, 2.0]);
            let mut pendings = Vec::new();
            for _ in 0..50_000 {
                pendings.push(device.blas().dot(&x, &x).unwrap());
            }
            let mut y = up(&device, [0.0f64, 0.0]);
            for _ in 0..50_000 {
                y = device.blas().axpy(1.0, &x, y).unwrap().into_buffer();
            }
            assert_eq!(device.stats().dispatches - before, 100_002);
            assert_eq!(down(&device, &y), [50_000.0, 100_000.0]);
            assert!(pendings.into_iter().all(|pending| pending.await_result().unwrap() == 5.0));
            drop((x, y));
            assert_back_at(&device, base);
        });
    }
}

/// One writer that lasts, and everybody who reads what it writes.
#[test]
fn a_hundred_thousand_reads_behind_one_slow_writer_are_submitted_at_once() {
    let device = host(2).open().unwrap();
    within(60, move || {
        let gate = Gate::default();
        let x = gate.hold(&device, up(&device, [1.0f64, 2.0])).into_output();
        let pendings: Vec<_> = (0..100_000).map(|_| device.blas().dot(&x, &x).unwrap()).collect();
        gate.open();
        assert!(pendings.into_iter().all(|pending| pending.await_result().unwrap() == 5.0));
    });
}

#[test]
fn work_outlives_the_handles_of_its_device() {
    for builder in builders() {
        let (dot, x) = {
            let device = builder.open().unwrap();
            let x = busy(&device, up(&device, [2.0f64; 10]), 30);
            (device.blas().dot(&x, &x).unwrap(), x)
        };
        within(20, move || match dot.await_result() {
            Ok(dot) => assert_eq!(dot, 40.0),
            Err(rejected) => {
                // Nobody will rebuild it: an error must say that, and must not ask for another attempt.
                let gone = matches!(&rejected, Error::GpuRefStale { reason: Stale::DeviceGone, .. });
                assert!(gone && !rejected.is_retryable(), "{:?}", rejected);
            }
        });
        drop(x); // no device to give it back to, and no harm
    }
}

/// A device on two threads whose operation 2 poisons it, with one piece of work at the gate.
fn dying(gate: &Gate) -> (Device, windlass::PendingDispatch<windlass::DeviceBuffer<f64>>) {
    let device = host(2).fault_plan(FaultPlan::new().poison(2)).open().unwrap();
    let held = gate.hold(&device, up(&device, [1.0f64]));
    gate.await_arrivals(1);
    (device, held)
}

#[test]
fn work_in_flight_when_the_device_dies_resolves_at_once_and_its_memory_stays_until_it_ends() {
    let gate = Gate::default();
    let (device, held) = dying(&gate);
    let waiter = std::thread::spawn(move || held.await_result().map(|_| ()).unwrap_err().error);
    let fatal = device.upload([5.0f64]).unwrap();
    let error = within(10, move || waiter.join().unwrap());
    assert!(error.is_poisoning() && error.is_retryable(), "{error}");
    assert!(fatal.await_result().unwrap_err().error.is_poisoning());
    device.wait_healthy(LONG).unwrap();
    // That of the operation that died goes as soon as the thread that was at it comes to that.
    let left = || device.stats().allocations;
    assert!(eventually(10, || left() <= 1) && left() == 1, "{}: the buffer at the gate is still used", left());
    gate.open();
    assert_back_at(&device, (0, 0, 0));
}

#[test]
fn work_awaited_long_after_the_device_died_answers_the_same() {
    let gate = Gate::default();
    let (device, held) = dying(&gate);
    let read_later = map(&device, up_after_death(&device), |_| ());
    device.wait_healthy(LONG).unwrap();
    assert!(held.is_ready(), "an error is an answer");
    assert!(held.await_result().unwrap_err().error.is_poisoning());
    assert_eq!(down(&device, &read_later.await_result().unwrap()), [9.0]);
}

/// A buffer of the generation after the fault, which this brings about.
fn up_after_death(device: &Device) -> windlass::DeviceBuffer<f64> {
    assert!(device.upload([5.0f64]).unwrap().await_result().is_err());
    device.wait_healthy(LONG).unwrap();
    up(device, [9.0f64])
}
