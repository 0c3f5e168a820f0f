//! Plans: built once, on a helper, while others wait for the same build; kept, bounded, and dropped late.

use super::ops::{AddOne, ENQUEUE, Log, PREPARED, Plan, Trouble, prepared, stand};
use crate::common::{LONG, down, eventually, up};
use crate::standin::{Mode, device, session};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;
use windlass::Error;

fn built(log: &Log) -> usize {
    log.built.load(Ordering::SeqCst)
}

fn dropped(log: &Log) -> usize {
    log.dropped.load(Ordering::SeqCst)
}

#[test]
fn a_plan_is_built_once_however_many_want_it() {
    let driver = session();
    let device = device(2);
    let log = Arc::new(Log::default());
    let (held, hold) = stand();
    *log.stand.lock().unwrap() = Some(held);
    let work: Vec<_> = std::thread::scope(|scope| {
        let threads = (0..4).map(|_| {
            let (device, log) = (&device, &log);
            scope.spawn(move || {
                let submit = |_| device.dispatch(prepared(Plan::new(3, log)), (), (up(device, [1.0f32; 4]),)).unwrap();
                (0..4).map(submit).collect::<Vec<_>>()
            })
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    hold.await_arrival();
    assert!(work.iter().all(|pending| !pending.is_ready()));
    let other = device.dispatch(prepared(Plan::new(4, &log)), (), (up(&device, [1.0f32; 4]),)).unwrap();
    assert_eq!(down(&device, &other.await_result().unwrap()), [2.0; 4], "a build holds up nobody else");
    hold.go_on();
    for pending in work {
        assert_eq!(down(&device, &pending.await_result().unwrap()), [2.0; 4]);
    }
    assert_eq!((built(&log), dropped(&log)), (2, 0));
    let stats = device.stats();
    assert_eq!((stats.plan_hits, stats.plan_misses), (0, 17));
    drop(device);
    driver.assert_finished();
    assert!(eventually(30, || dropped(&log) == 2));
}

/// As any op that only enqueues: by the submitter, at once.
#[test]
fn a_plan_that_is_there_costs_no_helper() {
    let driver = session();
    let device = device(2);
    let log = Arc::new(Log::default());
    let x = device.dispatch(prepared(Plan::new(1, &log)), (), (up(&device, [0.0f32; 4]),)).unwrap();
    let mut x = x.await_result().unwrap();
    let (ran_on, told) = channel();
    for _ in 0..5 {
        let op = AddOne { ran_on: Some(ran_on.clone()), ..prepared(Plan::new(1, &log)) };
        x = device.dispatch(op, (), (x,)).unwrap().into_output();
        assert_eq!(told.try_recv().expect("it has run"), std::thread::current().id());
    }
    assert_eq!((down(&device, &x), built(&log)), (vec![6.0; 4], 1));
    assert_eq!(device.stats().plan_hits, 5);
    drop((x, device));
    driver.assert_finished();
}

#[test]
fn what_follows_a_build_is_in_order() {
    let driver = session();
    for mode in [Mode::Auto, Mode::Eager] {
        driver.reset();
        driver.mode(mode);
        let device = device(3);
        let log = Arc::new(Log::default());
        let (held, hold) = stand();
        *log.stand.lock().unwrap() = Some(held);
        let x = up(&device, [1.0f32; 4]);
        let x = device.dispatch(AddOne::<ENQUEUE>::default(), (), (x,)).unwrap().into_output();
        let x = device.dispatch(prepared(Plan::new(1, &log)), (), (x,)).unwrap().into_output();
        let y = device.blas().axpy(1.0, &x, up(&device, [10.0f32; 4])).unwrap().into_buffer();
        let x = device.fill(x, 50.0).unwrap().into_output(); // after the reader
        let x = device.dispatch(prepared(Plan::new(1, &log)), (), (x.into_buffer(),)).unwrap().into_output();
        hold.await_arrival();
        hold.go_on();
        assert_eq!((down(&device, &x), down(&device, &y)), (vec![51.0; 4], vec![13.0; 4]));
        assert_eq!(built(&log), 1);
        drop((x, y, device));
        driver.assert_finished();
    }
}

#[test]
fn a_build_that_fails_fails_all_who_wait_and_the_next_tries_again() {
    let driver = session();
    for trouble in [Trouble::Fails, Trouble::Panics] {
        driver.reset();
        let device = device(2);
        let log = Arc::new(Log::default());
        let (held, hold) = stand();
        *log.stand.lock().unwrap() = Some(held);
        log.troubles.lock().unwrap().push(trouble);
        let submit = || device.dispatch(prepared(Plan::new(9, &log)), (), (up(&device, [1.0f32; 4]),)).unwrap();
        let work = [submit(), submit(), submit()];
        hold.await_arrival();
        hold.go_on();
        let again = work.map(|pending| {
            let failed = pending.await_result().unwrap_err();
            assert!(matches!(failed.error, Error::Unsupported { .. } | Error::Panicked { .. }), "{failed:?}");
            failed.back.expect("nothing was enqueued").0
        });
        assert_eq!(built(&log), 1);
        for x in again {
            let x = device.fill(x, 5.0).unwrap().into_output();
            let x =
                device.dispatch(prepared(Plan::new(9, &log)), (), (x.into_buffer(),)).unwrap().await_result().unwrap();
            assert_eq!(down(&device, &x), [6.0; 4]);
        }
        assert_eq!(built(&log), 2);
        drop(device);
        driver.assert_finished();
    }
}

#[test]
fn a_build_that_finds_no_memory_is_tried_once_more_after_the_ladder() {
    let driver = session();
    let device = device(2);
    let log = Arc::new(Log::default());
    log.short.store(1, Ordering::SeqCst);
    let trims = driver.calls_of("cuMemPoolTrimTo");
    let submit = |name| device.dispatch(prepared(Plan::new(name, &log)), (), (up(&device, [1.0f32; 4]),)).unwrap();
    assert_eq!(down(&device, &submit(1).await_result().unwrap()), [2.0; 4]);
    assert!(built(&log) == 2 && driver.calls_of("cuMemPoolTrimTo") > trims);
    log.short.store(2, Ordering::SeqCst);
    let failed = submit(2).await_result().unwrap_err();
    assert!(matches!(failed.error, Error::OutOfMemory { requested, .. } if requested == 1 << 40), "{failed:?}");
    drop((failed, device));
    driver.assert_finished();
}

#[test]
fn plans_are_bounded_and_one_in_use_is_dropped_after_its_last_work() {
    let driver = session();
    let device = device(2);
    let log = Arc::new(Log::default());
    let large = |name| Plan { bytes: 600 << 20, ..Plan::new(name, &log) };
    let x = up(&device, [0.0f32; 4]);
    device.synchronize(LONG).unwrap();
    driver.mode(Mode::Manual);
    // In flight, with the first plan in use.
    let first = device.dispatch(prepared(large(1)), (), (x,)).unwrap();
    // Two helpers would make both at once, in either order.
    assert!(eventually(30, || built(&log) == 1 && device.stats().in_flight >= 1));
    let second =
        device.dispatch(prepared(large(2)), (), (device.fill(device.uninit(4).unwrap(), 0.0).unwrap().into_buffer(),));
    let second = second.unwrap();
    assert!(eventually(30, || built(&log) == 2 && device.stats().in_flight >= 2));
    assert!(!first.is_ready() && dropped(&log) == 0, "it is in use");
    driver.mode(Mode::Auto);
    drop((first.await_result().unwrap(), second.await_result().unwrap()));
    assert!(eventually(30, || dropped(&log) == 1), "two are more than fit");
    let third = device.dispatch(prepared(large(2)), (), (up(&device, [0.0f32; 4]),)).unwrap();
    drop(third.await_result().unwrap());
    assert_eq!(built(&log), 2, "the newer one stayed");
    drop(device.dispatch(prepared(large(1)), (), (up(&device, [0.0f32; 4]),)).unwrap().await_result().unwrap());
    assert_eq!(built(&log), 3);
    drop(device);
    driver.assert_finished();
    assert!(eventually(30, || dropped(&log) == 3));
}

#[test]
fn plans_go_with_the_life_that_built_them() {
    let driver = session();
    let device = device(2);
    let log = Arc::new(Log::default());
    for generation in 0..3 {
        let x = device.dispatch(prepared(Plan::new(1, &log)), (), (up(&device, [0.0f32; 4]),)).unwrap();
        let x = x.await_result().unwrap();
        assert_eq!((down(&device, &x), built(&log)), (vec![1.0; 4], generation + 1));
        device.rebuild(LONG).unwrap();
        assert!(eventually(30, || dropped(&log) == generation + 1));
    }
    drop(device);
    driver.assert_finished();
}

#[test]
fn an_op_that_asked_for_no_plan_gets_none() {
    let driver = session();
    let device = device(1);
    let x = up(&device, [0.0f32; 4]);
    // Prepares nothing, and goes the ordinary way.
    let x = device.dispatch(AddOne::<PREPARED>::default(), (), (x,)).unwrap().await_result().unwrap();
    assert_eq!(down(&device, &x), [1.0; 4]);
    drop((x, device));
    driver.assert_finished();
}
