//! An operation's host half never dispatches or waits: whatever it tries is refused, and nothing hangs.

use crate::common;

use common::{Gate, Map, down, host, inline, map, up, within};
use rayon::prelude::*;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use windlass::{Device, DeviceBuilder, Error, HostPool, PendingDispatch, await_any};

fn host_devices() -> Vec<Device> {
    [host(1), host(2), inline(), shared()].map(|builder| builder.open().unwrap()).into()
}

/// On a pool that the program made and gave away.
fn shared() -> DeviceBuilder {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    Device::builder().host().host_pool(HostPool::Shared(Arc::new(pool)))
}

/// Runs `inside` in a host half of `device`, and gives what it gave.
fn run_inside<R: Send + 'static>(device: &Device, inside: impl Fn() -> R + Send + Sync + 'static) -> R {
    let answer = Arc::new(Mutex::new(None));
    let (device, slot) = (device.clone(), answer.clone());
    within(60, move || {
        let x = up(&device, [0u8]);
        drop(map(&device, x, move |_| *slot.lock().unwrap() = Some(inside())).await_result().expect("the outer one"));
    });
    answer.lock().unwrap().take().expect("the host half ran")
}

#[track_caller]
fn assert_unsupported(error: &Error) {
    assert!(matches!(error, Error::Unsupported { reason, .. } if reason.contains("deadlock")), "{error}");
}

#[test]
fn a_dispatch_from_inside_an_operation_is_refused() {
    for device in host_devices() {
        let other = host(1).open().unwrap();
        for target in [device.clone(), other] {
            let error = run_inside(&device, move || target.upload([1u8]).map(|_| ()).unwrap_err());
            assert_unsupported(&error);
        }
    }
}

#[test]
fn a_dispatch_from_a_job_that_an_operation_started_is_refused() {
    for device in host_devices() {
        let inner = device.clone();
        let refusals =
            run_inside(&device, move || (0..64).into_par_iter().filter(|_| inner.upload([1u8]).is_err()).count());
        assert_eq!(refusals, 64, "on {device:?}");
    }
}

#[test]
fn a_wait_for_a_device_from_inside_an_operation_is_refused() {
    for device in host_devices() {
        let inner = device.clone();
        let errors = run_inside(&device, move || {
            let forever = Duration::MAX;
            [inner.synchronize(forever), inner.rebuild(forever), inner.wait_healthy(forever).map(drop)]
                .map(Result::unwrap_err)
        });
        errors.iter().for_each(assert_unsupported);
        assert_eq!(device.generation(), 0);
        assert_eq!(down(&device, &up(&device, [3.0f64])), [3.0], "the device goes on");
    }
}

/// A pending that stays in flight until the gate opens, on a device of its own.
fn held(gate: &Gate) -> (Device, PendingDispatch<windlass::DeviceBuffer<f64>>) {
    let other = host(1).open().unwrap();
    let pending = gate.hold(&other, up(&other, [1.0f64]));
    gate.await_arrivals(1);
    (other, pending)
}

#[test]
fn a_wait_from_inside_an_operation_is_refused() {
    for device in host_devices() {
        let gate = Gate::default();
        let (_other, pending) = held(&gate);
        let pending = Mutex::new(Some(pending));
        let error = run_inside(&device, move || {
            let pending = pending.lock().unwrap().take().unwrap();
            assert!(!pending.is_ready() && !pending.wait_timeout(Duration::from_secs(600)), "looks, and does not wait");
            let pending = pending.await_timeout(Duration::from_secs(600)).expect_err("still in flight");
            let (buffers, verdict) = pending.into_parts();
            drop(buffers);
            let verdict = verdict.await_timeout(Duration::from_secs(600)).expect_err("still in flight");
            verdict.await_result().unwrap_err()
        });
        assert_unsupported(&error);
    }
}

#[test]
fn a_refused_wait_gives_the_buffers_back() {
    for device in host_devices() {
        let gate = Gate::default();
        let (other, pending) = held(&gate);
        let pending = Mutex::new(Some(pending));
        let back = run_inside(&device, move || {
            let rejected = pending.lock().unwrap().take().unwrap().await_result().unwrap_err();
            assert_unsupported(&rejected.error);
            rejected.back
        });
        let (x,) = back.expect("the buffers");
        gate.open();
        assert_eq!(down(&other, &x), [1.0]);
    }
}

#[test]
fn a_wait_for_any_from_inside_an_operation_is_refused() {
    for device in host_devices() {
        let gate = Gate::default();
        let (_other, pending) = held(&gate);
        let pendings = Mutex::new(vec![pending]);
        let answer = run_inside(&device, move || await_any(&mut pendings.lock().unwrap()).map(|(_, answer)| answer));
        assert_unsupported(&answer.expect("an answer").unwrap_err().error);
    }
}

#[test]
fn what_is_ready_may_be_taken_from_inside_an_operation() {
    for device in host_devices() {
        let other = host(1).open().unwrap();
        let pending = other.download(&up(&other, [5u32])).unwrap();
        assert!(pending.wait_timeout(common::LONG));
        let pending = Mutex::new(Some(pending));
        let got = run_inside(&device, move || pending.lock().unwrap().take().unwrap().await_result().unwrap());
        assert_eq!(got, [5]);
    }
}

#[test]
fn an_operation_may_panic_or_fail_and_says_so() {
    for device in host_devices() {
        let fails = Map::new(|_: &mut [f64]| Err(Error::library("no luck")));
        let rejected = device.dispatch(fails, (), (up(&device, [1.0f64]),)).unwrap().await_result().unwrap_err();
        assert!(matches!(&rejected.error, Error::LibraryError { message, .. } if message == "no luck"));
        assert_eq!(rejected.error.site().and_then(|site| site.op()), Some("map"));
        assert!(rejected.back.is_some());

        let panics = map(&device, up(&device, [1.0f64]), |_| panic!("pivot {}", 7));
        let rejected = panics.await_result().unwrap_err();
        assert!(matches!(&rejected.error, Error::Panicked { message, .. } if message == "pivot 7"), "{rejected}");
        assert_eq!(down(&device, &up(&device, [3.0f64])), [3.0], "the device goes on");
    }
}
