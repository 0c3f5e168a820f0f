//! The end of a device, of its life, or of a pending, while work is not enqueued yet.

use super::ops::{AddOne, BLOCKING, Log, Plan, prepared, stand};
use crate::common::child::this_test;
use crate::common::{LONG, down, eventually, up, within};
use crate::standin::{device, in_child, session};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use windlass::{Error, health::Phase};

#[test]
fn a_rebuild_waits_for_what_is_not_enqueued_and_a_deadline_changes_nothing() {
    let driver = session();
    let device = device(2);
    let x = up(&device, [1.0f32; 4]);
    let (op, hold) = AddOne::<BLOCKING>::held();
    let (x, verdict) = device.dispatch(op, (), (x,)).unwrap().into_parts();
    hold.await_arrival();
    let behind = device.blas().scal(2.0, x.0).unwrap();
    let error = device.rebuild(Duration::from_millis(20)).unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
    assert_eq!(device.health().phase, Phase::Healthy);
    std::thread::scope(|scope| {
        let rebuild = scope.spawn(|| device.rebuild(LONG));
        // However soon it begins: admission is closed, and what was admitted goes on.
        assert!(eventually(30, || device.uninit::<u8>(8).is_err()));
        assert!(!rebuild.is_finished());
        hold.go_on();
        rebuild.join().unwrap().unwrap();
    });
    verdict.await_result().expect("it was admitted before");
    drop(behind.await_result().expect("so was what follows it"));
    assert_eq!((device.health().generation, device.stats().leaked), (1, 0));
    let (op, hold) = AddOne::<BLOCKING>::held();
    hold.go_on();
    let x = device.dispatch(op, (), (up(&device, [1.0f32; 4]),)).unwrap().await_result().unwrap();
    assert_eq!(down(&device, &x), [2.0; 4]);
    drop((x, device));
    driver.assert_finished();
}

#[test]
fn a_device_fault_settles_all_that_is_late_at_once() {
    in_child(&this_test!(), &["700"], |driver, case| {
        let device = device(2);
        let log = Arc::new(Log::default());
        let (held_build, build) = stand();
        *log.stand.lock().unwrap() = Some(held_build);
        let held: Vec<_> = (0..4).map(|_| AddOne::<BLOCKING>::held()).collect();
        let (ops, holds): (Vec<_>, Vec<_>) = held.into_iter().unzip();
        let mut work = Vec::new();
        let mut x = up(&device, [1.0f32; 4]);
        x = device.dispatch(prepared(Plan::new(1, &log)), (), (x,)).unwrap().into_output();
        build.await_arrival();
        for op in ops {
            work.push(device.dispatch(op, (), (up(&device, [1.0f32; 4]),)).unwrap());
        }
        work.push(device.blas().scal(2.0, x).unwrap().into());
        driver.fault(case.parse().unwrap());
        // Somebody finds out.
        assert!(eventually(30, || device.memory().is_err()));
        let work = within(60, move || {
            work.into_iter().map(|pending| pending.await_result().unwrap_err().error).collect::<Vec<_>>()
        });
        assert!(work.iter().all(|error| matches!(error, Error::DeviceLost { .. })), "{work:?}");
        assert_eq!(device.health().phase, Phase::Lost);
        // They come back to a device that is gone.
        drop((holds, build, device));
        assert!(eventually(30, || log.dropped.load(Ordering::SeqCst) == 1), "the plan that came too late");
        driver.await_rest();
        assert_eq!(log.built.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn pendings_and_buffers_that_are_dropped_change_nothing() {
    let driver = session();
    for forget in [false, true] {
        driver.reset();
        let device = device(2);
        let base = (up(&device, [1.0f32; 4]), device.synchronize(LONG).unwrap()).0;
        let held = device.stats().allocations;
        let (op, hold) = AddOne::<BLOCKING>::held();
        let (x, verdict) = device.dispatch(op, (), (up(&device, [1.0f32; 4]),)).unwrap().into_parts();
        hold.await_arrival();
        let reader = device.blas().axpy(1.0, &x.0, up(&device, [0.0f32; 4])).unwrap();
        drop(x);
        if forget {
            crate::common::forget((verdict, reader))
        } else {
            drop((verdict, reader))
        }
        let others: Vec<_> =
            (0..10).map(|i| device.fill(device.uninit::<f32>(4).unwrap(), i as f32).unwrap()).collect();
        others.into_iter().for_each(|pending| drop(pending.await_result().unwrap()));
        hold.go_on();
        if !forget {
            assert!(eventually(30, || device.stats().allocations == held), "{:?}", device.stats());
        }
        drop((base, device));
        driver.assert_finished();
    }
}

#[test]
fn a_device_that_is_dropped_ends_when_its_late_work_has() {
    let driver = session();
    let log = Arc::new(Log::default());
    let device = device(2);
    let (op, hold) = AddOne::<BLOCKING>::held();
    let (x, verdict) = device.dispatch(op, (), (up(&device, [1.0f32; 4]),)).unwrap().into_parts();
    hold.await_arrival();
    let x = device.dispatch(prepared(Plan::new(7, &log)), (), x).unwrap().into_output();
    let data = device.download(&x).unwrap();
    drop((device, x));
    hold.go_on();
    verdict.await_result().unwrap();
    assert_eq!(data.await_result().unwrap(), [3.0; 4]);
    driver.assert_finished();
    assert!(eventually(30, || log.dropped.load(Ordering::SeqCst) == 1), "its plan is destroyed with it");
}
