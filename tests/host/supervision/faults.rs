//! What a fault does to work in flight, to later work, to memory and to threads.

use super::{LONG, SELF_TEST, suffer, suffer_and_recover, suffering};
use crate::common::{Asleep, Gate, assert_back_at, down, host, let_others_run, up, within};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use windlass::clock::{ManualClock, Timing};
use windlass::{
    Error, FaultPlan, RestartPolicy,
    error::Stale,
    health::Phase,
    trace::{OpInfo, Trace},
};

#[test]
fn a_fault_poisons_what_is_in_flight_with_its_cause_and_the_last_operations() {
    let device = suffering(FaultPlan::new().poison(3)).open().unwrap();
    let x = up(&device, [1.0f64]);
    let x = device.labelled("layer 3").blas().scal(2.0, x).unwrap().into_buffer();
    let x = device.fill(x, 3.0).unwrap().into_output();
    let error = device.blas().nrm2(&x).unwrap().await_result().unwrap_err();
    assert!(matches!(&error, Error::ContextPoisoned { cause, .. } if cause.contains("fault plan")), "{error}");
    assert!(error.is_poisoning() && error.is_retryable());
    let site = error.site().unwrap();
    assert_eq!((site.device(), site.generation()), (Some(&*device.name()), Some(0)));
    assert_eq!(site.last_ops().collect::<Vec<_>>(), ["upload", "scal [layer 3]", "fill", "nrm2"]);
    let health = device.wait_healthy(LONG).unwrap();
    assert_eq!((health.phase, health.generation), (Phase::Healthy, 1));
    assert!(health.reason.unwrap().contains("fault plan"));
}

#[test]
fn the_ring_of_last_operations_keeps_the_newest_eight() {
    let device = suffering(FaultPlan::new().poison(20)).open().unwrap();
    let mut x = up(&device, [1.0f64]);
    for _ in 0..18 {
        x = device.fill(x, 3.0).unwrap().into_buffer();
    }
    x = device.blas().scal(1.0, x).unwrap().into_buffer();
    let error = device.blas().nrm2(&x).unwrap().await_result().unwrap_err();
    let last: Vec<_> = error.site().unwrap().last_ops().map(str::to_string).collect();
    assert_eq!((last.len(), &*last[5], &*last[6], &*last[7]), (8, "fill", "scal", "nrm2"), "{last:?}");
}

#[test]
fn buffers_of_the_life_before_are_stale_and_the_handle_is_as_good_as_new() {
    let device = suffering(FaultPlan::new().poison(2)).open().unwrap();
    let (blas, x, shared) = (device.blas(), up(&device, [1.0f64]), up(&device, [2.0f64]).share());
    suffer_and_recover(&device);
    for error in [device.download(&x).unwrap_err(), blas.dot(&shared, &x).unwrap_err()] {
        let reason = Stale::Generation { made: 0, now: 1 };
        assert!(matches!(&error, Error::GpuRefStale { reason: r, .. } if *r == reason), "{error}");
        assert!(!error.is_retryable() && !error.is_poisoning());
    }
    assert!(device.fill(x, 1.0).unwrap_err().back.is_some());
    let x = blas.scal(2.0, up(&device, [4.0f64])).unwrap().into_buffer();
    assert_eq!((down(&device, &x), x.generation()), (vec![8.0], 1));
}

#[test]
fn every_follower_of_work_that_died_with_the_device_says_that_the_device_died() {
    for _ in 0..20 {
        let device = suffering(FaultPlan::new().poison(4)).open().unwrap();
        let gate = Gate::default();
        let ((x,), head) = gate.hold(&device, up(&device, [1.0f64])).into_parts();
        let ((x,), middle) = device.blas().scal(2.0, x).unwrap().into_parts();
        let tail = device.download(&x).unwrap();
        suffer(&device); // operation 4
        let errors = [head.await_result().err(), middle.await_result().err(), tail.await_result().err()];
        for error in errors.into_iter().flatten() {
            assert!(error.is_poisoning() && error.is_retryable(), "{error:?}");
        }
    }
}

fn upstream(error: &Error) -> bool {
    matches!(error, Error::Upstream { .. })
}

#[test]
fn past_the_policys_window_the_device_is_lost_and_says_what_would_help() {
    let policy = RestartPolicy { restarts: 2, backoff: Duration::from_millis(1), ..RestartPolicy::default() };
    let plan = FaultPlan::new().poison(0).poison(1 + SELF_TEST).poison(2 + 2 * SELF_TEST);
    let device = host(2).fault_plan(plan).restart_policy(policy).open().unwrap();
    assert_eq!(device.health().restarts_left, 2);
    suffer_and_recover(&device);
    assert_eq!(device.health().restarts_left, 1);
    suffer_and_recover(&device);
    assert_eq!(device.health().restarts_left, 0);
    let kept = device.clone();
    assert!(suffer(&device).is_poisoning());
    let error = device.wait_healthy(LONG).unwrap_err();
    assert!(matches!(error, Error::DeviceLost { .. }), "{error}");
    assert_eq!((device.health().phase, device.health().generation), (Phase::Lost, 2));
    assert!(device.health().reason.unwrap().contains("2 restarts"));
    for device in [device, kept] {
        let error = device.upload([1u8]).unwrap_err();
        assert!(error.is_poisoning() && !error.is_retryable(), "{error}");
        let Error::DeviceLost { cause, remedy, .. } = &error else { panic!("{error}") };
        assert!(cause.contains("fault plan") && !remedy.is_empty(), "{error}");
        assert!(!remedy.contains("GPU"), "what helps a CUDA device does not help a host device: {remedy}");
        assert!(matches!(device.rebuild(Duration::from_millis(50)), Err(Error::DeviceLost { .. })));
    }
}

#[test]
fn restarts_come_back_when_the_window_has_passed() {
    let (window, clock) = (Duration::from_secs(500), ManualClock::new());
    let policy = RestartPolicy { restarts: 1, window, ..RestartPolicy::default() };
    let plan = FaultPlan::new().poison(0).poison(1 + SELF_TEST);
    let device = host(1).fault_plan(plan).restart_policy(policy).timing(Timing::by(clock)).open().unwrap();
    for _ in 0..2 {
        suffer_and_recover(&device);
        clock.advance(window - Duration::from_nanos(1));
        assert_eq!(device.health().restarts_left, 0, "before its time");
        clock.advance(Duration::from_nanos(1));
        assert_eq!(device.health().restarts_left, 1);
    }
}

#[test]
fn a_policy_of_no_restarts_loses_the_device_at_the_first_fault() {
    let device = host(1).fault_plan(FaultPlan::new().poison(0)).restart_policy(RestartPolicy::never()).open().unwrap();
    assert!(suffer(&device).is_poisoning());
    assert!(matches!(device.wait_healthy(LONG), Err(Error::DeviceLost { .. })));
    assert_eq!(device.stats().rebuilds, 0);
}

#[test]
fn a_fault_while_eight_threads_submit_gives_each_of_them_an_answer_for_everything() {
    within(60, || {
        for round in 0..20u64 {
            let device = suffering(FaultPlan::new().poison(200 + 37 * round)).open().unwrap();
            let (answers, refusals) = (AtomicUsize::new(0), AtomicUsize::new(0));
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        for i in 0..100u32 {
                            let value = f64::from(i);
                            let attempt = || -> Result<f64, Error> {
                                let x = device.upload([value])?.into_output();
                                device.blas().nrm2(&x)?.await_result()
                            };
                            match attempt() {
                                Ok(norm) => assert_eq!(norm, value),
                                Err(
                                    Error::GpuRefStale { .. } | Error::ContextPoisoned { .. } | Error::Upstream { .. },
                                ) => {
                                    refusals.fetch_add(1, Ordering::Relaxed);
                                    device.wait_healthy(LONG).unwrap();
                                }
                                Err(error) => panic!("{error:?}"),
                            }
                            answers.fetch_add(1, Ordering::Relaxed);
                        }
                    });
                }
            });
            assert_eq!(answers.into_inner(), 800);
            assert!((1..=100).contains(&refusals.into_inner()));
            assert_eq!((device.stats().faults, device.generation()), (1, 1));
            assert_back_at(&device, (0, 0, 0));
        }
    });
}

/// Keeps the moment between the claim of an answer and its announcement long.
struct SlowToTell;

impl Trace for SlowToTell {
    fn before_complete(&self, _: &OpInfo) {
        let_others_run();
    }
}

#[test]
fn a_wait_that_has_not_run_out_is_not_given_up_when_the_device_dies() {
    within(60, || {
        for _ in 0..20 {
            let device = suffering(FaultPlan::new().poison(2)).trace(Arc::new(SlowToTell)).open().unwrap();
            let (gate, asleep) = (Gate::default(), Asleep::default());
            let slow = gate.hold(&device, up(&device, [1u8]));
            std::thread::scope(|scope| {
                let waiter = scope.spawn(|| {
                    asleep.here();
                    slow.wait_timeout(LONG)
                });
                scope.spawn(|| {
                    while !slow.is_ready() {
                        std::hint::spin_loop();
                    }
                });
                asleep.wait();
                drop(device.upload([0u8]).unwrap()); // the fault
                assert!(waiter.join().unwrap(), "gave up long before its time was over");
            });
        }
    });
}

#[test]
fn downloads_awaited_by_many_threads_when_the_device_dies_all_name_the_fault() {
    within(60, || {
        for _ in 0..60 {
            let device = suffering(FaultPlan::new().poison(34)).trace(Arc::new(SlowToTell)).open().unwrap();
            let (gate, asleep) = (Gate::default(), Asleep::default());
            let x = gate.hold(&device, up(&device, [1u8])).into_output();
            let reads: Vec<_> = (0..32).map(|_| device.download(&x).unwrap()).collect();
            std::thread::scope(|scope| {
                let wait = |read: windlass::PendingDispatch<_, windlass::Verdict>| {
                    let asleep = asleep.clone();
                    scope.spawn(move || {
                        asleep.here();
                        read.await_result()
                    })
                };
                let waiters: Vec<_> = reads.into_iter().map(wait).collect();
                asleep.wait(); // the last that began
                drop(device.upload([0u8]));
                gate.open();
                for waiter in waiters {
                    match waiter.join().unwrap() {
                        Ok(data) => assert_eq!(data, [1]),
                        Err(r) => assert!(r.is_poisoning() || upstream(&r), "{:?}", r),
                    }
                }
            });
        }
    });
}

#[test]
fn errors_are_counted_by_kind() {
    let device = suffering(FaultPlan::new().fail(1).poison(3)).memory_limit(1 << 20).open().unwrap();
    let x = up(&device, [1.0f64]);
    let x = device.blas().scal(2.0, x).unwrap().await_result().unwrap_err().back.unwrap().0; // LibraryError
    assert!(device.blas().nrm2(&x).unwrap().await_result().is_err()); // Upstream
    assert!(device.blas().axpy(1.0, &device.uninit(2).unwrap(), x).is_err()); // InvalidArgument
    assert!(device.zeros::<u8>(2 << 20).is_err()); // OutOfMemory
    suffer(&device); // ContextPoisoned
    device.wait_healthy(LONG).unwrap();
    let errors: Vec<_> = device.stats().errors.into_iter().collect();
    let once = ["ContextPoisoned", "InvalidArgument", "LibraryError", "OutOfMemory", "Upstream"];
    assert_eq!(errors, once.map(|kind| (kind, 1)));
}

/// Whoever looks while a generation is made and admitted never hears that the one before is well.
#[test]
fn health_is_of_one_moment() {
    use std::sync::atomic::{AtomicBool, AtomicU64};
    let device = suffering(FaultPlan::new().poison_every(SELF_TEST + 2)).open().unwrap();
    let (least, looks, done) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        // Several, so that they wait for each other in the middle of it.
        for _ in 0..4 {
            scope.spawn(|| {
                while !done.load(Ordering::SeqCst) {
                    let least = least.load(Ordering::SeqCst);
                    let health = device.health();
                    looks.fetch_add(1, Ordering::Relaxed);
                    if health.phase == Phase::Healthy && health.generation < least {
                        done.store(true, Ordering::SeqCst);
                        panic!("{health:?} after generation {least} was on its way");
                    }
                }
            });
        }
        // A generation may take long where others want the processors, and is looked at the more often then.
        let enough = |generation| generation >= 300 || generation >= 20 && looks.load(Ordering::Relaxed) > 1_000_000;
        while !enough(device.generation()) && !done.load(Ordering::SeqCst) {
            let generation = device.generation();
            if device.upload([0u8]).is_ok_and(|pending| pending.await_result().is_ok()) {
                continue;
            }
            least.store(generation + 1, Ordering::SeqCst);
            device.wait_healthy(LONG).unwrap();
        }
        done.store(true, Ordering::SeqCst);
    });
}

#[test]
fn devices_of_one_plan_count_for_themselves() {
    let builder = suffering(FaultPlan::new().out_of_memory(0));
    for _ in 0..2 {
        let device = builder.clone().open().unwrap();
        let refused = device.zeros::<f32>(1).unwrap_err();
        assert!(matches!(refused, Error::OutOfMemory { .. }), "{refused}");
    }
    let builder = suffering(FaultPlan::new().fail(1));
    for _ in 0..2 {
        let device = builder.clone().open().unwrap();
        let x = device.upload([1.0f32]).unwrap().await_result().unwrap();
        let failed = device.fill(x, 2.0).unwrap().await_result().unwrap_err();
        assert!(matches!(failed.error, Error::LibraryError { .. }), "{}", failed.error);
    }
}
