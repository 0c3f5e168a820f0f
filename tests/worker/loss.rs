//! The ways to lose a worker.

use crate::common::{Asleep, assert_back_at, down, eventually, let_others_run, up, within};
use crate::ops::{Deed, submit};
use crate::{LONG, alone, isolated, kill, system, tells};
use std::time::{Duration, Instant};
use windlass::clock::{ManualClock, Timing};
use windlass::{Device, Error, FaultPlan, RestartPolicy, error::Stale, health::Phase};

/// The cause that a loss is reported with.
#[track_caller]
fn cause(error: &Error) -> String {
    match error {
        Error::ContextPoisoned { cause, .. } => cause.clone(),
        other => panic!("expected ContextPoisoned, got {other:?}"),
    }
}

/// Does the deed, and gives the error it ends with; the device must be healthy again after it.
#[track_caller]
fn suffer(device: &Device, deed: Deed) -> Error {
    let generation = device.generation();
    let pending = submit(device, deed).unwrap();
    let Ok(answer) = pending.await_timeout(LONG) else { panic!("in flight for {LONG:?}") };
    let error = answer.unwrap_err().error;
    let health = device.wait_healthy(LONG).unwrap();
    assert_eq!((health.phase, health.generation), (Phase::Healthy, generation + 1));
    assert_eq!(down(device, &up(device, [generation])), [generation]);
    error
}

#[test]
fn every_way_to_end_a_worker_is_named_and_recovered_from() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    let mut losses = 0;
    for (deed, want) in [
        (Deed::Abort, "SIGABRT"),
        (Deed::Segfault, "SIGSEGV"),
        (Deed::Exit(7), "exit status 7"),
        (Deed::Exit(0), "exit status 0"),
    ] {
        let told = (0..5).any(|_| {
            let pid = device.worker_pid().unwrap();
            let error = suffer(&device, deed.clone());
            losses += 1;
            assert!(tells(&cause(&error), want), "{deed:?}: {error}");
            assert!(error.is_retryable() && error.site().unwrap().last_ops().any(|op| op == "do"), "{error}");
            assert!(eventually(10, || system::is_gone(pid)) && device.worker_pid() != Some(pid));
            cause(&error).contains(want)
        });
        assert!(told, "{deed:?}: it is never told how it ended");
    }
    let stats = device.stats();
    assert_eq!((stats.faults, stats.rebuilds, stats.generation), (losses, losses, losses));
    assert!(tells(&stats.last_fault.unwrap(), "exit status 0") && stats.recovery.unwrap() < LONG);
    assert_back_at(&device, (0, 0, 0));
}

#[test]
fn a_kill_settles_what_is_in_flight_and_makes_old_buffers_stale() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    for made in 0..5 {
        let (x, shared) = (up(&device, [1.0f64]), up(&device, [2.0f64]).share());
        let slow = submit(&device, Deed::Sleep(600_000)).unwrap();
        let behind: Vec<_> = (0..100).map(|_| device.blas().nrm2(&x).unwrap()).collect();
        kill(&device);
        let error = slow.await_result().unwrap_err().error;
        assert!(tells(&cause(&error), "SIGKILL"), "{error}");
        for pending in behind {
            match pending.await_result() {
                Ok(norm) => assert_eq!(norm, 1.0),
                Err(rejected) => assert!(rejected.is_poisoning(), "{rejected}"),
            }
        }
        device.wait_healthy(LONG).unwrap();
        for error in [device.download(&x).unwrap_err(), device.blas().dot(&shared, &x).unwrap_err()] {
            let want = Stale::Generation { made, now: made + 1 };
            assert!(matches!(&error, Error::GpuRefStale { reason, .. } if *reason == want), "{error}");
        }
    }
}

#[test]
fn a_wait_that_sleeps_is_woken_by_the_loss() {
    let _alone = alone();
    for wait in [windlass::Wait::Block, windlass::Wait::Adaptive, windlass::Wait::Yield] {
        let device = isolated().wait(wait).open().unwrap();
        for _ in 0..3 {
            let slow = submit(&device, Deed::Sleep(600_000)).unwrap();
            let asleep = Asleep::default();
            let here = asleep.clone();
            let waiter = std::thread::spawn(move || {
                here.here();
                slow.await_result().is_err()
            });
            if wait == windlass::Wait::Yield {
                let_others_run()
            } else {
                asleep.wait()
            }
            kill(&device);
            assert!(within(60, move || waiter.join().unwrap()), "{wait:?}");
            device.wait_healthy(LONG).unwrap();
        }
    }
}

/// Lets the time of a worker's parent pass, in steps that its watch does not take for a time in which it stood still, until
/// `done`.
#[track_caller]
fn pass_until(clock: ManualClock, step: Duration, mut done: impl FnMut() -> bool) {
    assert!(eventually(60, || {
        clock.advance(step);
        let_others_run();
        done()
    }));
}

#[test]
fn the_watchdog_ends_an_operation_that_runs_too_long() {
    let _alone = alone();
    let (clock, limit) = (ManualClock::new(), Duration::from_secs(800));
    let device = isolated().watchdog(limit).heartbeat(Duration::MAX).timing(Timing::by(clock)).open().unwrap();
    let pending = submit(&device, Deed::Sleep(600_000)).unwrap();
    let_others_run();
    assert!(!pending.is_ready(), "no time has passed");
    pass_until(clock, limit / 16, || pending.is_ready());
    let error = pending.await_result().unwrap_err().error;
    assert!(cause(&error).contains("watchdog: `do`"), "{error}");
}

#[test]
#[ignore = "timed: `.ci/deep timed`, for the worker lives by the system's clock"]
fn the_watchdog_ends_an_operation_that_runs_too_long_and_no_other() {
    let _alone = alone();
    let limit = Duration::from_secs(8);
    let device = isolated().watchdog(limit).open().unwrap();
    // Longer in flight than allowed, but no single one runs for long, on a machine that is busy either.
    let mut x = device.zeros::<f64>(1).unwrap().into_buffer();
    for _ in 0..6 {
        x = device.dispatch(crate::common::InPlace(Deed::Sleep(1_600)), (), (x,)).unwrap().into_output();
    }
    assert_eq!(down(&device, &x), [0.0]);
    assert_eq!(device.generation(), 0);
    let start = Instant::now();
    let error = suffer(&device, Deed::Sleep(600_000));
    assert!(cause(&error).contains("watchdog: `do`"), "{error}");
    assert!(start.elapsed() >= limit && start.elapsed() < LONG);
}

#[test]
fn a_worker_without_a_heart_beat_is_replaced() {
    let _alone = alone();
    let (clock, limit) = (ManualClock::new(), Duration::from_secs(300));
    let device = isolated().heartbeat(limit).timing(Timing::by(clock)).open().unwrap();
    let pid = device.worker_pid().unwrap();
    let pending = submit(&device, Deed::Sleep(600_000)).unwrap();
    system::signal(pid, libc::SIGSTOP);
    pass_until(clock, limit / 8, || pending.is_ready());
    let error = pending.await_result().unwrap_err().error;
    assert!(cause(&error).contains("no heartbeat"), "{error}");
    device.wait_healthy(LONG).unwrap();
    assert!(eventually(5, || system::is_gone(pid)), "killed, and reaped beside the recovery");
}

#[test]
fn an_idle_worker_that_is_lost_is_replaced_as_well() {
    let _alone = alone();
    let mut timing = Timing::default();
    timing.watch.restless = Duration::ZERO; // its monitor goes to sleep at once
    let device = isolated().timing(timing).open().unwrap();
    let_others_run();
    kill(&device);
    assert!(eventually(20, || device.generation() == 1));
    assert_eq!(down(&device, &up(&device, [1u8])), [1]);
}

#[test]
fn a_fault_plan_poisons_the_worker() {
    let _alone = alone();
    let device = isolated().fault_plan(FaultPlan::new().poison(3).fail(1)).open().unwrap();
    let x = up(&device, [1.0f64]);
    let failed = device.blas().scal(2.0, x).unwrap().await_result().unwrap_err();
    assert!(matches!(failed.error, Error::LibraryError { .. }), "{failed}");
    drop(up(&device, [1.0f64]));
    let error = device.upload([1.0f64]).unwrap().await_result().unwrap_err().error;
    assert!(cause(&error).contains("poisoned by the fault plan"), "{error}");
    assert_eq!(error.site().unwrap().last_ops().collect::<Vec<_>>(), ["upload", "scal", "upload", "upload"]);
    device.wait_healthy(LONG).unwrap();
    assert_eq!((device.generation(), device.stats().faults), (1, 1));
}

#[test]
fn past_the_policy_the_device_is_lost() {
    let _alone = alone();
    let policy = RestartPolicy { restarts: 1, backoff: Duration::from_millis(1), ..RestartPolicy::default() };
    let device = isolated().restart_policy(policy).open().unwrap();
    suffer(&device, Deed::Abort);
    let pending = submit(&device, Deed::Abort).unwrap();
    assert!(pending.await_result().unwrap_err().error.is_poisoning());
    let error = device.wait_healthy(LONG).unwrap_err();
    assert!(matches!(error, Error::DeviceLost { .. }), "{error}");
    assert!(matches!(device.upload([1u8]).unwrap_err(), Error::DeviceLost { .. }));
}

#[test]
fn a_rebuild_that_is_asked_for_replaces_the_worker() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    let pid = device.worker_pid().unwrap();
    let x = up(&device, [1.0f64]);
    device.rebuild(LONG).unwrap();
    assert!(device.generation() == 1 && device.worker_pid() != Some(pid));
    assert!(matches!(device.download(&x), Err(Error::GpuRefStale { .. })));
    assert!(eventually(10, || system::is_gone(pid)));
    assert_eq!((device.stats().faults, down(&device, &up(&device, [5u8]))), (0, vec![5]));
}

#[test]
fn hooks_put_data_back_before_anybody_sees_the_new_life() {
    let _alone = alone();
    let slot = std::sync::Arc::new(std::sync::Mutex::new(None));
    let put = slot.clone();
    let device = isolated()
        .before_admission(move |device| {
            *put.lock().unwrap() = Some(device.upload([4.0f64, 2.0])?.await_result()?);
            Ok(())
        })
        .open()
        .unwrap();
    suffer(&device, Deed::Abort);
    let x = slot.lock().unwrap().take().expect("put back");
    assert_eq!(down(&device, &x), [4.0, 2.0]);
}

/// With no watchdog nobody ends it for the operation's sake: it goes because its generation came to nothing.
#[test]
fn a_worker_that_hangs_before_it_is_admitted_does_not_stay() {
    let _alone = alone();
    let hung = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = hung.clone();
    let device = isolated()
        .before_admission(move |device| {
            let mut seen = seen.lock().unwrap();
            if seen.is_empty() {
                seen.push(device.worker_pid().unwrap());
                let pending = submit(device, Deed::Sleep(600_000))?;
                assert!(pending.await_timeout(Duration::from_millis(50)).is_err());
                return Err(Error::library("no answer"));
            }
            Ok(())
        })
        .open()
        .unwrap();
    suffer(&device, Deed::Abort);
    let pid = *hung.lock().unwrap().first().expect("the hook ran");
    assert!(eventually(10, || system::is_gone(pid)), "it still hangs");
    assert!(eventually(10, || system::children() == 1), "nobody reaped it");
    assert_eq!(down(&device, &up(&device, [5u8])), [5]);
}

#[test]
fn two_devices_fail_alone() {
    let _alone = alone();
    within(60, || {
        let (one, other) = (isolated().open().unwrap(), isolated().open().unwrap());
        let x = up(&other, [3.0f64]);
        suffer(&one, Deed::Segfault);
        assert_eq!((other.generation(), down(&other, &x)), (0, vec![3.0]));
    });
}

#[test]
fn dropping_a_device_ends_its_worker_once_its_work_is_done_and_leaves_nothing() {
    let _alone = alone();
    drop(isolated().open().unwrap()); // what is made once a process
    let base = system::quiet();
    let device = isolated().open().unwrap();
    let pid = device.worker_pid().unwrap();
    let pending = submit(&device, Deed::Sleep(300)).unwrap();
    let x = up(&device, [1.0f64]);
    drop(device);
    assert!(pending.await_result().is_ok(), "what is in flight goes on");
    drop(x);
    assert!(eventually(10, || system::is_gone(pid)));
    system::assert_back_at(base);
}

#[test]
fn a_standby_takes_over_and_is_followed_by_another() {
    let _alone = alone();
    let base = system::quiet();
    let device = isolated().standby(true).open().unwrap();
    let mut seen = vec![device.worker_pid().unwrap()];
    for _ in 0..5 {
        assert!(eventually(20, || device.stats().standby.is_some()), "no standby came");
        let next = device.stats().standby.unwrap();
        suffer(&device, Deed::Abort);
        assert_eq!(device.worker_pid(), Some(next));
        assert!(!seen.contains(&next));
        seen.push(next);
    }
    // One that dies while it waits is no help, and no harm: another takes its place.
    for _ in 0..2 {
        assert!(eventually(20, || device.stats().standby.is_some()));
        let standby = device.stats().standby.unwrap();
        system::signal(standby, libc::SIGKILL);
        assert!(eventually(20, || device.stats().standby.is_some_and(|next| next != standby)));
        assert!(device.worker_pid() != Some(standby) && device.generation() == 5);
    }
    let next = device.stats().standby.unwrap();
    suffer(&device, Deed::Abort);
    assert_eq!(device.worker_pid(), Some(next));
    drop(device);
    system::assert_back_at(base);
}

/// What a trace was told.
#[derive(Default)]
struct Told(std::sync::Mutex<Vec<String>>, std::sync::Mutex<Vec<(u64, Duration)>>);

impl windlass::trace::Trace for Told {
    fn lost(&self, loss: &windlass::trace::Loss<'_>) {
        assert!(loss.orders > 2 && loss.bytes_crossed > 1 << 20, "{loss:?}");
        self.0.lock().unwrap().push(format!("{} {} {}", loss.device, loss.generation, loss.cause));
    }
    fn recovered(&self, recovery: &windlass::trace::Recovery<'_>) {
        self.1.lock().unwrap().push((recovery.generation, recovery.time));
    }
}

#[test]
fn a_trace_is_told_of_each_loss_and_of_what_came_after() {
    let _alone = alone();
    let told = std::sync::Arc::new(Told::default());
    let device = isolated().trace(told.clone()).open().unwrap();
    drop(up(&device, vec![1u8; 1 << 20]));
    device.rebuild(LONG).unwrap(); // no loss
    for generation in 1..4u64 {
        drop(suffer(&device, Deed::Abort));
        let is_told = || told.1.lock().unwrap().len() as u64 == generation;
        assert!(eventually(10, is_told));
        let last = *told.1.lock().unwrap().last().unwrap();
        assert_eq!(last, (generation + 1, device.stats().recovery.unwrap()));
    }
    let losses = told.0.lock().unwrap();
    for (loss, generation) in losses.iter().zip(1..) {
        assert!(loss.starts_with(&format!("{} {generation} ", device.name())) && tells(loss, "SIGABRT"), "{loss}");
    }
    assert_eq!(losses.len(), 3, "{losses:?}");
}
