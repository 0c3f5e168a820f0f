//! Rebuilds that are asked for, and rebuilds that fail.

use super::{LONG, SELF_TEST, suffer, suffer_and_recover, suffering};
use crate::common::{
    Asleep, Gate, assert_back_at, down, eventually, host, lasts_an_hour, let_others_run, map, up, within,
};
use std::sync::{Arc, Barrier};
use std::time::Duration;
use windlass::clock::{ManualClock, Timing};
use windlass::{Error, FaultPlan, RestartPolicy, health::Phase};

#[test]
fn a_rebuild_lets_what_is_in_flight_end_first() {
    let device = host(2).open().unwrap();
    let gate = Gate::default();
    let x = gate.hold(&device, up(&device, [1.0f64])).into_output();
    let ((x,), verdict) = map(&device, x, |x| x[0] = 5.0).into_parts();
    let read = device.download(&x).unwrap();
    let asleep = Asleep::default();
    std::thread::scope(|scope| {
        let rebuild = scope.spawn(|| {
            asleep.here();
            device.rebuild(LONG)
        });
        asleep.wait();
        assert!(!rebuild.is_finished());
        gate.open();
        rebuild.join().unwrap().unwrap();
    });
    assert!(read.is_ready());
    verdict.await_result().unwrap();
    assert_eq!(read.await_result().unwrap(), [5.0], "work admitted before the rebuild ended well");
    assert_eq!((device.generation(), device.stats().rebuilds, device.stats().faults), (1, 1, 0));
    assert_eq!(device.health().phase, Phase::Healthy);
}

#[test]
fn a_rebuild_that_runs_out_of_time_changes_nothing() {
    let clock = ManualClock::new();
    let device = host(2).timing(Timing::by(clock)).open().unwrap();
    let gate = Gate::default();
    let held = gate.hold(&device, up(&device, [1.0f64]));
    let x = up(&device, [2.0f64]);
    let error = lasts_an_hour(clock, |hour| device.rebuild(hour).unwrap_err());
    assert!(matches!(error, Error::Timeout { waited, .. } if waited.as_secs() == 3600), "{error}");
    assert_eq!((device.generation(), device.stats().rebuilds), (0, 0));
    assert_eq!(device.health().phase, Phase::Healthy);
    assert_eq!(down(&device, &x), [2.0], "its buffers are good and it admits");
    gate.open();
    assert_eq!(down(&device, &held.await_result().unwrap()), [1.0], "its work went on");
    device.rebuild(LONG).unwrap();
    assert_eq!(device.generation(), 1);
}

#[test]
fn while_it_drains_new_work_is_refused_for_now() {
    let device = host(2).open().unwrap();
    let gate = Gate::default();
    let held = gate.hold(&device, up(&device, [1.0f64]));
    let x = up(&device, [2.0f64]);
    std::thread::scope(|scope| {
        let rebuild = scope.spawn(|| device.rebuild(LONG));
        let mut refusal = None;
        assert!(eventually(10, || {
            refusal = device.upload([1u8]).err();
            refusal.is_some()
        }));
        assert!(matches!(refusal, Some(Error::ContextPoisoned { .. })) && refusal.unwrap().is_retryable());
        let rejected = device.blas().scal(2.0, x).unwrap_err();
        assert!(rejected.error.is_retryable() && rejected.back.is_some());
        assert!(device.rebuild(LONG).is_err(), "one rebuild at a time");
        gate.open();
        rebuild.join().unwrap().unwrap();
    });
    drop(held.await_result().unwrap());
    assert_eq!(device.generation(), 1);
}

#[test]
fn fifty_rebuilds_in_a_row_each_make_one_generation() {
    let device = host(2).restart_policy(RestartPolicy::never()).open().unwrap();
    for generation in 1..=50 {
        let x = up(&device, [1.0f64; 100]);
        device.rebuild(LONG).unwrap();
        assert_eq!((device.generation(), device.health().generation), (generation, generation));
        assert!(matches!(device.download(&x), Err(Error::GpuRefStale { .. })));
        assert_eq!(down(&device, &up(&device, [generation])), [generation]);
    }
    assert_eq!(device.stats().bytes_used, 0);
}

#[test]
fn rebuilds_asked_for_while_threads_submit_lose_nobody() {
    let device = host(2).open().unwrap();
    let asked = device.clone();
    within(60, move || {
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..4u32)
                .map(|thread| {
                    let device = &device;
                    scope.spawn(move || {
                        let mut done = 0;
                        while done < 300 {
                            let attempt = || -> Result<f64, Error> {
                                let x = device.upload([f64::from(thread)])?.into_output();
                                device.blas().nrm2(&x)?.await_result()
                            };
                            match attempt() {
                                Ok(norm) => {
                                    assert_eq!(norm, f64::from(thread));
                                    done += 1;
                                }
                                Err(Error::ContextPoisoned { .. } | Error::GpuRefStale { .. }) => {}
                                Err(error) => panic!("{error:?}"),
                            }
                        }
                    })
                })
                .collect();
            let mut rebuilds = 0;
            while workers.iter().any(|worker| !worker.is_finished()) {
                rebuilds += u64::from(asked.rebuild(LONG).is_ok());
                std::thread::yield_now();
            }
            assert_eq!((asked.generation(), asked.stats().rebuilds, asked.stats().faults), (rebuilds, rebuilds, 0));
        });
    });
}

#[test]
fn a_rebuild_asked_for_of_a_poisoned_device_waits_for_its_recovery() {
    let in_time = || {
        let (asleep, gate) = (Asleep::default(), Arc::new(Barrier::new(2)));
        let (waiter, begun) = (asleep.clone(), gate.clone());
        let device = suffering(FaultPlan::new().poison(0))
            .before_admission(move |device| {
                if device.generation() == 1 {
                    begun.wait();
                    waiter.wait();
                }
                Ok(())
            })
            .open()
            .unwrap();
        suffer(&device);
        gate.wait();
        asleep.here();
        device.rebuild(LONG).unwrap();
        assert_eq!(device.stats().rebuilds, device.generation());
        device.generation() == 1
    };
    // A thread that was held up finds it healthy, and another life is made.
    assert!((0..20).any(|_| in_time()), "it was rebuilt once more each time");
}

/// The generation and the number of rebuilds once they have not changed for a while.
fn settled(device: &windlass::Device) -> (u64, u64) {
    let mut last = (u64::MAX, 0);
    while last != (device.generation(), device.stats().rebuilds) {
        last = (device.generation(), device.stats().rebuilds);
        let_others_run();
    }
    last
}

#[test]
fn a_fault_in_the_self_test_is_one_failed_attempt_and_no_second_rebuild() {
    for at in 1..=SELF_TEST {
        let device = suffering(FaultPlan::new().poison(0).poison(at)).open().unwrap();
        suffer(&device);
        device.wait_healthy(LONG).unwrap();
        let x = up(&device, [7.0f64]);
        assert_eq!(settled(&device), (1, 1), "the fault at {at} brought about another rebuild");
        assert_eq!((device.health().phase, down(&device, &x)), (Phase::Healthy, vec![7.0]));
    }
}

#[test]
fn a_fault_in_a_hook_is_one_failed_attempt_and_no_second_rebuild() {
    let device = suffering(FaultPlan::new().poison(0).poison(1 + SELF_TEST))
        .before_admission(|device| device.upload([1u8])?.await_result().map(drop).map_err(Error::from))
        .open()
        .unwrap();
    suffer(&device);
    device.wait_healthy(LONG).unwrap();
    assert_eq!(settled(&device), (1, 1));
    assert_eq!(device.health().phase, Phase::Healthy);
}

#[test]
fn a_failed_self_test_is_tried_again_until_the_policy_is_used_up() {
    let policy = RestartPolicy { restarts: 3, backoff: Duration::from_millis(1), ..RestartPolicy::default() };
    let plan = (1..=9).fold(FaultPlan::new().poison(0), FaultPlan::fail);
    let device = host(1).fault_plan(plan).restart_policy(policy).open().unwrap();
    suffer(&device);
    assert!(matches!(device.wait_healthy(LONG), Err(Error::DeviceLost { .. })));
    assert_eq!((device.generation(), device.health().phase), (0, Phase::Lost));
}

/// With no limit and no pause in the policy.
#[test]
fn a_rebuild_that_always_fails_is_tried_at_a_bearable_rate_and_no_longer_than_there_is_a_device() {
    let clock = ManualClock::new();
    let tries = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let counted = tries.clone(); // for as long as there is a device
    let device = suffering(FaultPlan::new().poison(0))
        .before_admission(move |_| {
            counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            Err(Error::library("never"))
        })
        .timing(Timing::by(clock))
        .open()
        .unwrap();
    suffer(&device);
    let counter = tries;
    let tries = || counter.load(std::sync::atomic::Ordering::SeqCst);
    // The pauses double from a millisecond up to a second.
    let pauses = (0..11).map(|n| Duration::from_millis(1 << n)).chain([Duration::from_millis(1024); 3]);
    for (tried, pause) in (1..).zip(pauses) {
        assert!(eventually(10, || clock.sleepers() == 1), "nobody pauses before the next try");
        clock.advance(pause - Duration::from_nanos(1));
        let_others_run();
        assert_eq!((tries(), clock.sleepers()), (tried, 1), "tried again before {pause:?} were over");
        clock.advance(Duration::from_nanos(1));
        assert!(eventually(10, || tries() == tried + 1), "not tried again after {pause:?}");
    }
    drop(device);
    clock.advance(Duration::from_secs(2));
    assert!(eventually(10, || std::sync::Arc::strong_count(&counter) == 1), "somebody tries on, for nobody");
}

#[test]
fn a_rebuild_finds_room_again_after_memory_ran_out_during_it() {
    let device = suffering(FaultPlan::new().poison(0).out_of_memory(1)).open().unwrap();
    suffer_and_recover(&device);
    assert_eq!(device.stats().rebuilds, 1);
}

#[test]
fn two_devices_fail_alone() {
    let (one, other) = (suffering(FaultPlan::new().poison(0)).open().unwrap(), host(1).open().unwrap());
    let x = up(&other, [3.0f64]);
    suffer_and_recover(&one);
    assert_eq!((other.generation(), other.health().phase, down(&other, &x)), (0, Phase::Healthy, vec![3.0]));
}

/// The memory of the life before is this process's: it goes before as much is asked for again.
#[test]
fn a_mirror_of_more_than_half_the_memory_is_put_back() {
    let device = suffering(FaultPlan::new().poison(1)).memory_limit(1 << 20).open().unwrap();
    let data = vec![7u8; 600 << 10];
    let table = device.mirrored(data.clone()).unwrap();
    suffer_and_recover(&device);
    assert!(down(&device, table.get()) == data);
    device.rebuild(LONG).unwrap();
    assert!(down(&device, table.get()) == data);
    assert_eq!((table.get().len(), table.get().generation(), device.stats().bytes_used), (600 << 10, 2, 600 << 10));
    drop(table);
    assert_back_at(&device, (0, 0, 0));
}

#[test]
fn a_mirror_that_finds_no_room_is_stale_and_says_so_in_its_own_length() {
    let policy = RestartPolicy { restarts: 1, ..RestartPolicy::default() };
    let device = host(2).restart_policy(policy).memory_limit(1 << 20).open().unwrap();
    let table = device.mirrored(vec![7u8; 600 << 10]).unwrap();
    let kept = table.get(); // its bytes are held here
    assert!(matches!(device.rebuild(LONG), Err(Error::OutOfMemory { .. })));
    assert_eq!((table.get().len(), table.get().generation(), kept.len()), (600 << 10, 0, 600 << 10));
    assert!(device.download(table.get()).unwrap_err().is_poisoning());
    assert!(device.duplicate(table.get()).is_err_and(|rejected| rejected.is_poisoning()));
}

#[test]
fn a_refusal_tells_what_there_is_and_what_is_allowed() {
    let device = suffering(FaultPlan::new()).memory_limit(1 << 20).open().unwrap();
    let kept = device.zeros::<u8>(1 << 19).unwrap();
    let error = device.zeros::<u8>(1 << 20).unwrap_err();
    let Error::OutOfMemory { requested, free, total, limit, .. } = error else { panic!("{error:?}") };
    assert_eq!((requested, free, limit), (1 << 20, 1 << 19, 1 << 20));
    assert_eq!(total, device.info().total_memory);
    drop(kept);
}
