//! Every way of waiting, on every device.

use super::LONG;
use crate::common::{
    Gate, beside_work, builders, busy, concurrent_devices, devices, down, host, lasts_an_hour, up, within,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use windlass::clock::{ManualClock, Timing};
use windlass::{Device, DeviceBuffer, PendingDispatch, Verdict, Wait};

const POLICIES: [Wait; 5] = [Wait::Adaptive, Wait::Spin, Wait::Yield, Wait::Block, Wait::Rayon];

/// A buffer, a scalar and host data, each awaited after some work.
fn await_each(device: &Device) {
    let x = busy(device, up(device, [3.0f64, 4.0]), 2);
    assert_eq!(device.blas().nrm2(&x).unwrap().await_result().unwrap(), 5.0);
    let x = device.blas().scal(2.0, busy(device, x, 2)).unwrap().await_result().unwrap().into_buffer();
    let (buffers, verdict) = device.blas().scal(2.0, busy(device, x, 2)).unwrap().into_parts();
    verdict.await_result().unwrap();
    assert_eq!(
        device.download(&busy(device, buffers.0.into_buffer(), 2)).unwrap().await_result().unwrap(),
        [12.0, 16.0]
    );
}

#[test]
fn every_policy_waits_for_every_kind_of_answer() {
    for policy in POLICIES {
        for builder in builders() {
            let device = builder.clone().wait(policy).open().unwrap();
            within(20, move || await_each(&device));
            let device = builder.open().unwrap().waiting(policy);
            within(20, move || await_each(&device));
        }
    }
}

#[test]
fn a_policy_can_be_chosen_for_one_wait() {
    for device in devices() {
        for policy in POLICIES {
            let x = busy(&device, up(&device, [3.0f64, 4.0]), 2);
            let device = device.clone();
            within(20, move || {
                assert_eq!(device.blas().nrm2(&x).unwrap().waiting(policy).await_result().unwrap(), 5.0);
            });
        }
    }
}

#[test]
fn a_timed_wait_ends_in_time_and_gives_the_pending_back_under_every_policy() {
    for device in concurrent_devices() {
        let device = &device;
        for policy in POLICIES {
            // All three waits are over before the work is.
            beside_work(250, |ms| {
                let x = busy(device, up(device, [3.0f64, 4.0]), ms);
                let pending = device.blas().nrm2(&x).unwrap().waiting(policy);
                let early = pending.wait_timeout(Duration::from_millis(5)) || pending.is_ready();
                let Err(pending) = pending.await_timeout(Duration::from_millis(5)) else { return false };
                if early || pending.wait_timeout(Duration::ZERO) {
                    return false;
                }
                assert_eq!(pending.await_timeout(LONG).expect("done in time").unwrap(), 5.0);
                true
            });
        }
    }
}

#[test]
fn a_timed_wait_does_not_end_before_its_time_under_any_policy() {
    let clock = ManualClock::new();
    let device = host(2).timing(Timing::by(clock)).open().unwrap();
    let gate = Gate::default();
    let x = gate.hold(&device, up(&device, [3.0f64, 4.0])).into_output();
    for policy in POLICIES {
        let pending = device.blas().nrm2(&x).unwrap().waiting(policy);
        assert!(!pending.wait_timeout(Duration::ZERO));
        assert!(!lasts_an_hour(clock, |hour| pending.wait_timeout(hour)), "{policy:?}");
        assert!(!pending.is_ready());
    }
    gate.open();
    assert_eq!(device.blas().nrm2(&x).unwrap().await_result().unwrap(), 5.0);
}

#[test]
fn a_verdict_gives_itself_back_when_time_runs_out() {
    let device = host(1).open().unwrap();
    let gate = Gate::default();
    let ((x,), verdict) = gate.hold(&device, up(&device, [1u8])).into_parts();
    let verdict = verdict.await_timeout(Duration::ZERO).expect_err("still in flight");
    assert!(!verdict.is_ready());
    gate.open();
    verdict.await_timeout(LONG).expect("done").unwrap();
    assert_eq!(down(&device, &x), [1]);
}

#[test]
fn the_longest_timeout_is_no_timeout() {
    for device in devices() {
        let pending = device.upload([1u8]).unwrap();
        assert!(pending.wait_timeout(Duration::MAX));
        assert!(pending.await_timeout(Duration::MAX).is_ok());
        assert!(device.synchronize(Duration::MAX).is_ok());
    }
}

#[test]
fn a_timed_call_says_how_long_the_device_took_and_others_do_not() {
    for device in devices() {
        let x = up(&device, vec![1.0f64; 100_000]);
        let timed = device.timed().blas().dot(&x, &x).unwrap().await_timed().unwrap();
        assert_eq!(timed.output, 100_000.0);
        let took = timed.device.expect("it was asked for");
        assert!(took > Duration::ZERO && took < LONG, "{took:?}");
        assert_eq!(device.blas().dot(&x, &x).unwrap().await_timed().unwrap().device, None);
        let ((), verdict) = device.timed().blas().dot(&x, &x).unwrap().into_parts();
        let timed = verdict.await_timed().unwrap();
        assert_eq!(timed.output, 100_000.0);
        assert!(timed.device.expect("it was asked for") > Duration::ZERO);
    }
    let clock = ManualClock::new();
    let device = host(1).timing(Timing::by(clock)).open().unwrap();
    let timed = crate::common::map(&device.timed(), up(&device, [1u8]), move |_| {
        clock.advance(Duration::from_millis(20));
    });
    assert_eq!(timed.await_timed().unwrap().device, Some(Duration::from_millis(20)));
}

/// In a pool of one thread: that another job runs while that thread waits for `wait`.
fn assert_another_job_runs(device: &Device, wait: fn(&Device, &DeviceBuffer<f64>)) {
    beside_work(50, |ms| {
        let (device, ran) = (device.waiting(Wait::Rayon), Arc::new(AtomicBool::new(false)));
        let flag = ran.clone();
        within(20, move || {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
            pool.install(|| {
                let x = busy(&device, up(&device, [2.0f64]), ms);
                rayon::spawn(move || flag.store(true, Ordering::SeqCst));
                wait(&device, &x);
                ran.load(Ordering::SeqCst)
            })
        })
    });
}

#[test]
fn a_rayon_wait_runs_other_jobs_of_the_callers_pool() {
    for device in concurrent_devices() {
        assert_another_job_runs(&device, |device, x| {
            assert_eq!(device.blas().dot(x, x).unwrap().await_result().unwrap(), 4.0);
        });
    }
}

#[test]
fn a_rayon_wait_for_a_download_runs_other_jobs_too() {
    for device in concurrent_devices() {
        assert_another_job_runs(&device, |device, x| {
            assert_eq!(device.download(x).unwrap().await_result().unwrap(), [2.0]);
        });
    }
}

#[test]
fn a_wait_inside_a_job_that_a_rayon_wait_runs_ends() {
    for device in devices() {
        let device = device.waiting(Wait::Rayon);
        within(20, move || {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
            pool.install(|| {
                rayon::scope(|scope| {
                    for _ in 0..50 {
                        scope.spawn(|_| await_each(&device));
                    }
                    await_each(&device);
                });
            });
        });
    }
}

#[test]
fn many_threads_wait_each_for_its_own() {
    for policy in POLICIES {
        for device in devices() {
            let device = device.waiting(policy);
            within(30, move || {
                std::thread::scope(|scope| {
                    for thread in 0..8u32 {
                        let device = &device;
                        scope.spawn(move || {
                            for i in 0..50 {
                                let value = f64::from(thread * 1000 + i);
                                let x = up(device, [value]);
                                assert_eq!(device.blas().nrm2(&x).unwrap().await_result().unwrap(), value);
                            }
                        });
                    }
                });
            });
        }
    }
}

#[test]
fn an_answer_that_is_there_is_not_waited_for() {
    for device in devices() {
        let pending: PendingDispatch<f64, Verdict> = device.blas().nrm2(&up(&device, [3.0f64, 4.0])).unwrap();
        assert!(crate::common::eventually(10, || pending.is_ready()), "looking is enough for the answer to come");
        assert!(pending.wait_timeout(Duration::ZERO));
        assert_eq!(pending.await_result().unwrap(), 5.0);
    }
}
