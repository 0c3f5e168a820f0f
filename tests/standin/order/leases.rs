//! Slots that somebody holds: who wants one, who asks about one, and who wants to end it.

use crate::common::{Asleep, LONG, down, eventually, let_others_run, up};
use crate::standin::{Launch, Mode, device, launch, session};
use std::sync::mpsc::channel;
use std::time::Duration;
use windlass::clock::Timing;
use windlass::{Device, DeviceBuffer, Error};

/// Who comes while every slot is leased waits for the first that is given back, not for one that it picked.
#[test]
fn a_slot_that_is_held_for_long_keeps_nobody_from_the_others() {
    let driver = session();
    for first in 0..3 {
        let device = device(3);
        let buffers: Vec<_> = (0..3).map(|_| up(&device, vec![1.0f32; 4])).collect();
        device.synchronize(LONG).unwrap();
        std::thread::scope(|scope| {
            // One operation stands on each slot.
            let mut holds: Vec<_> = buffers
                .into_iter()
                .map(|x| {
                    let ((op, hold), device) = (Launch::held(c"add_one_f32"), &device);
                    scope.spawn(move || drop(device.dispatch(op, (), (x,))));
                    hold.await_arrival();
                    hold
                })
                .collect();
            let ((done, seen), device) = (channel(), &device);
            scope.spawn(move || {
                let x = device.zeros::<f32>(8).unwrap();
                let x = device.fill(x, 2.0).unwrap().into_output();
                done.send(down(device, &x)).unwrap();
            });
            assert!(seen.recv_timeout(Duration::from_millis(20)).is_err(), "no slot is free");
            holds.remove(first).go_on(true);
            let came = seen.recv_timeout(Duration::from_secs(30));
            holds.iter().for_each(|hold| hold.go_on(true));
            assert_eq!(came.expect("it waits for another slot than that which is free"), [2.0; 8]);
        });
        drop(device);
        driver.assert_finished();
    }
}

/// Its drain sees who was admitted and has nothing in flight yet: his work is finished, not lost.
#[test]
fn a_rebuild_waits_for_who_holds_a_slot() {
    let driver = session();
    let device = device(1);
    let x = up(&device, vec![1.0f32; 4]);
    device.synchronize(LONG).unwrap();
    let (op, hold) = Launch::held(c"add_one_f32");
    std::thread::scope(|scope| {
        let device = &device;
        let submitter = scope.spawn(move || device.dispatch(op, (), (x,)).unwrap());
        hold.await_arrival();
        let error = device.rebuild(Duration::from_millis(20)).unwrap_err();
        assert!(matches!(error, Error::Timeout { .. }), "{error}");
        let asleep = Asleep::default();
        let here = asleep.clone();
        let rebuild = scope.spawn(move || {
            here.here();
            device.rebuild(LONG)
        });
        asleep.wait();
        hold.go_on(true);
        let pending = submitter.join().unwrap();
        rebuild.join().unwrap().unwrap();
        drop(pending.await_result().expect("it was admitted before"));
    });
    assert_eq!(device.health().generation, 1);
    assert_eq!(device.stats().leaked, 0);
    drop(device);
    driver.assert_finished();
}

/// Who was admitted, and comes to a slot after a rebuild has begun, looks once more and enqueues nothing: what it enqueued
/// would be of a life that may be over.
#[test]
fn who_comes_to_a_slot_after_a_rebuild_began_is_refused_and_has_called_nothing() {
    let driver = session();
    let mut timing = Timing::default();
    timing.staging.one_wait = Duration::from_secs(3600); // it sleeps until the slot is given back
    let device = Device::builder().cuda(0).slots(1).timing(timing).open().unwrap();
    let (x, y) = (up(&device, vec![1.0f32; 4]), up(&device, vec![2.0f32; 4]));
    device.synchronize(LONG).unwrap();
    let (op, hold) = Launch::held(c"add_one_f32");
    std::thread::scope(|scope| {
        let (driver, device, asleep) = (&driver, &device, Asleep::default());
        let holder = scope.spawn(move || drop(device.dispatch(op, (), (x,)).unwrap()));
        hold.await_arrival();
        let here = asleep.clone();
        let late = scope.spawn(move || {
            let before = driver.calls_here();
            here.here();
            let answer = device.dispatch(Launch::of(c"add_one_f32"), (), (y,)).map(drop);
            (answer, driver.calls_here() - before)
        });
        asleep.wait(); // admitted, and without a slot
        let rebuild = scope.spawn(|| device.rebuild(LONG));
        assert!(eventually(30, || device.uninit::<f32>(0).is_err()), "it has begun");
        hold.go_on(true);
        let (answer, calls) = late.join().unwrap();
        let rejected = answer.expect_err("it was enqueued after the rebuild had begun");
        let known = matches!(rejected.error, Error::ContextPoisoned { .. } | Error::GpuRefStale { .. });
        assert!(known && rejected.back.is_some(), "{rejected}");
        assert_eq!(calls, 0, "{rejected}");
        holder.join().unwrap();
        rebuild.join().unwrap().unwrap();
    });
    drop(device);
    driver.assert_finished();
}

/// The driver can be asked about what is in flight on a slot while somebody enqueues there.
#[test]
fn what_is_over_is_seen_to_be_also_on_a_slot_that_is_held() {
    let driver = session();
    let device = device(1);
    let (x, y) = (up(&device, vec![1.0f32; 4]), up(&device, vec![1.0f32; 4]));
    device.synchronize(LONG).unwrap();
    driver.mode(Mode::Manual);
    let pending = launch(&device, c"add_one_f32", x);
    std::thread::scope(|scope| {
        let ((op, hold), device) = (Launch::held(c"add_one_f32"), &device);
        scope.spawn(move || drop(device.dispatch(op, (), (y,)).unwrap()));
        hold.await_arrival();
        driver.mode(Mode::Auto);
        let synchronized = device.synchronize(Duration::from_secs(10));
        hold.go_on(true);
        synchronized.expect("what was submitted before is over");
    });
    assert_eq!(down(&device, &pending.await_result().unwrap()), [2.0; 4]);
    drop(device);
    driver.assert_finished();
}

/// Two devices with one slot each, at rest: on the first a buffer of threes and one of zeros, on the second one of zeros.
/// A copy has gone from one to the other before.
fn two_gpus() -> ([Device; 2], [DeviceBuffer<f32>; 3]) {
    let [one, two] = [0, 1].map(|n| Device::builder().cuda(n).slots(1).open().unwrap());
    let warm = two.copy_peer(&up(&one, vec![0.0f32; 4]), two.zeros(4).unwrap()).unwrap();
    drop(warm.await_result().unwrap()); // the path is checked
    let buffers = [up(&one, vec![3.0f32; 4]), one.zeros(4).unwrap().into_buffer(), two.zeros(4).unwrap().into_buffer()];
    [&one, &two].into_iter().for_each(|device| device.synchronize(LONG).unwrap());
    ([one, two], buffers)
}

/// A copy takes a slot of each device before it enqueues anything. If one of them begins to end meanwhile, it is refused.
#[test]
fn a_peer_copy_that_waits_for_a_slot_while_one_of_its_devices_ends_is_refused() {
    let driver = session();
    for ends in 0..2 {
        driver.reset();
        let ([one, two], [x, other, y]) = two_gpus();
        let asleep = Asleep::default();
        std::thread::scope(|scope| {
            let ((op, hold), one, two, x, asleep) = (Launch::held(c"add_one_f32"), &one, &two, &x, &asleep);
            scope.spawn(move || drop(one.dispatch(op, (), (other,))));
            hold.await_arrival();
            let copy = scope.spawn(move || {
                asleep.here();
                two.copy_peer(x, y).map(drop).unwrap_err()
            });
            asleep.wait();
            let_others_run();
            let ending = [one, two][ends];
            let rebuild = scope.spawn(|| ending.rebuild(LONG));
            assert!(
                eventually(30, || ending.health().generation > 0 || ending.uninit::<f32>(0).is_err()),
                "it has begun"
            );
            let copies = driver.calls_of("cuMemcpyPeerAsync");
            hold.go_on(false);
            let rejected = copy.join().unwrap();
            let stale = matches!(rejected.error, Error::GpuRefStale { .. });
            assert!((rejected.error.is_poisoning() || stale) && rejected.back.is_some(), "{rejected}");
            rebuild.join().unwrap().unwrap();
            assert_eq!(driver.calls_of("cuMemcpyPeerAsync"), copies);
        });
        drop((x, one, two));
        driver.assert_finished();
    }
}

/// Whichever event cannot be recorded: the source is as it was, and nothing is left behind that it would wait for.
#[test]
fn a_peer_copy_whose_end_was_not_recorded_leaves_its_source_as_it_was() {
    let driver = session();
    let mut failures = 0;
    for nth in 0..6 {
        driver.reset();
        let ([one, two], [x, other, y]) = two_gpus();
        driver.await_rest();
        driver.fail("cuEventRecord", nth, 2);
        let answer = two.copy_peer(&x, y).map(|pending| pending.into_output());
        driver.clear();
        let y = match answer {
            Ok(y) => y,
            Err(rejected) => {
                failures += 1;
                assert!(matches!(rejected.error, Error::OutOfMemory { .. }), "{rejected}");
                two.fill(rejected.back.expect("the target comes back").0, 3.0).unwrap().into_output()
            }
        };
        assert_eq!(down(&two, &y), [3.0; 4]);
        assert_eq!(down(&one, &x), [3.0; 4]);
        let x = one.fill(x, 5.0).expect("it waits for nothing").into_output();
        assert_eq!(down(&one, &x), [5.0; 4]);
        drop((x, y, other, one, two));
        driver.assert_finished();
    }
    assert!(failures >= 3, "{failures}");
}
