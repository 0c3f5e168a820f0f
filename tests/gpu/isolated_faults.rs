//! Real device faults of a GPU in a worker process: each costs a worker, and the program goes on, in one run.
//!
//! Runs where `WINDLASS_TEST_DEVICE` names a GPU; `WINDLASS_TEST_ROUNDS=20` sets how often each fault is suffered.
//! `tests/standin/isolated` has faults of the stand-in driver.

use crate::common;
use crate::faulty;

use common::child::gpu;
use common::{InPlace, down, eventually, up};
use faulty::{Faulty, KINDS};
use std::time::{Duration, Instant};
use windlass::{Device, DeviceBuilder, Error, RestartPolicy, health::Phase};

const LONG: Duration = Duration::from_secs(60);
const WATCHDOG: Duration = Duration::from_millis(700);

/// What free memory may differ by: pools of the driver and code of kernels come in these sizes.
const SLACK: u64 = 64 << 20;

/// The GPU in a worker, if there is one.
fn isolated(ordinal: usize) -> Option<DeviceBuilder> {
    if gpu().is_none() || ordinal >= Device::cuda_count() {
        eprintln!("skipped: WINDLASS_TEST_DEVICE names no GPU, or this machine has no GPU {ordinal}");
        return None;
    }
    Some(Device::builder().cuda(ordinal).isolated().watchdog(WATCHDOG).restart_policy(RestartPolicy::unlimited()))
}

/// Some of everything, with known answers.
fn works(device: &Device) {
    let x = up(device, vec![2.0f32; 1 << 20]);
    let y = device.blas().axpy(1.0, &x, device.zeros(1 << 20).unwrap()).unwrap().into_buffer();
    assert_eq!(device.blas().dot(&x, &y).unwrap().await_result().unwrap(), (4 << 20) as f32);
    assert!(down(device, &device.fill(y, 3.0).unwrap().into_output()).iter().all(|y| *y == 3.0));
}

/// How long until the fault shows, with 64 operations in flight behind it.
fn suffer(device: &Device, kind: usize) -> Duration {
    let x = up(device, vec![1.0f32; 1 << 10]);
    let ready = device.dispatch(InPlace(Faulty(0)), (), (x,)).unwrap().await_result().unwrap(); // loaded
    let start = Instant::now();
    let ((y,), faulty) = device.dispatch(InPlace(Faulty(kind as u32)), (), (ready,)).unwrap().into_parts();
    let behind: Vec<_> = (0..64).map(|_| device.blas().nrm2(&y).unwrap()).collect();
    let error = faulty.await_result().expect_err(KINDS[kind]);
    let shown = start.elapsed();
    assert!(matches!(error, Error::ContextPoisoned { .. }) && error.is_retryable(), "{}: {error:?}", KINDS[kind]);
    let site = error.site().expect("a place");
    assert!(site.op() == Some("faulty") && site.last_ops().any(|op| op == "faulty" || op == "nrm2"), "{site}");
    assert_eq!(kind == 7, error.to_string().contains("watchdog"), "{}: {error}", KINDS[kind]);
    let after = Instant::now();
    for pending in behind {
        let answer =
            pending.await_timeout(Duration::from_secs(1)).unwrap_or_else(|_| panic!("a pending never resolved"));
        assert!(answer.is_err(), "it waited for the fault");
    }
    assert!(after.elapsed() < Duration::from_secs(1), "{:?}", after.elapsed());
    let stale = device.blas().nrm2(&y).expect_err("its generation is over");
    assert!(matches!(stale, Error::GpuRefStale { .. } | Error::ContextPoisoned { .. }), "{stale:?}");
    shown
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

#[test]
fn every_kind_of_fault_is_recovered_from_again_and_again() {
    let Some(builder) = isolated(0) else { return };
    let rounds = std::env::var("WINDLASS_TEST_ROUNDS").map_or(2, |n| n.parse().unwrap());
    let device = builder.open().unwrap();
    works(&device);
    drop(
        device
            .dispatch(InPlace(Faulty(0)), (), (device.zeros(1).unwrap().into_buffer(),))
            .unwrap()
            .await_result()
            .unwrap(),
    );
    let level = device.memory().unwrap().free;
    println!("fault: shown after, recovered within (medians of {rounds})");
    for (kind, name) in KINDS.into_iter().enumerate().skip(1) {
        let (mut shown, mut recovered) = (Vec::new(), Vec::new());
        for round in 0..rounds {
            let before = device.stats();
            shown.push(suffer(&device, kind));
            device.wait_healthy(LONG).unwrap();
            works(&device);
            let stats = device.stats();
            assert_eq!(
                (stats.generation, stats.faults, device.health().phase),
                (before.generation + 1, before.faults + 1, Phase::Healthy),
                "{name} in round {round}"
            );
            recovered.push(stats.recovery.unwrap());
            // What the dead worker held is back when it is reaped.
            let free = || device.memory().unwrap().free;
            assert!(eventually(10, || free() + SLACK >= level), "{} bytes free, {level} before", free());
        }
        println!("{name}: {:.1?}, {:.1?}", median(shown), median(recovered));
    }
    common::assert_back_at(&device, (0, 0, 0));
}

#[test]
fn a_fault_in_one_worker_leaves_another_gpu_alone() {
    let (Some(one), Some(two)) = (isolated(0), isolated(1)) else { return };
    let (bad, good) = (one.open().unwrap(), two.open().unwrap());
    assert_ne!(bad.info().uuid, good.info().uuid);
    let (left, kept) = (up(&good, vec![1.0f32; 1 << 22]), up(&good, vec![2.0f32; 1 << 22]));
    for (kind, name) in KINDS.into_iter().enumerate().skip(1) {
        let work: Vec<_> = (0..200).map(|_| good.blas().dot(&left, &kept).unwrap()).collect();
        suffer(&bad, kind);
        bad.wait_healthy(LONG).unwrap();
        works(&bad);
        assert!(work.into_iter().all(|dot| dot.await_result().unwrap() == (2 << 22) as f32), "{name}");
    }
    assert_eq!((bad.generation(), good.generation(), good.stats().faults), (7, 0, 0));
    works(&good);
}

#[test]
fn a_standby_takes_over_at_once() {
    let Some(builder) = isolated(0) else { return };
    let device = builder.standby(true).open().unwrap();
    let mut times = Vec::new();
    for kind in [1, 4, 1, 5, 1] {
        assert!(eventually(20, || device.stats().standby.is_some()), "no standby came up");
        suffer(&device, kind);
        device.wait_healthy(LONG).unwrap();
        works(&device);
        times.push(device.stats().recovery.unwrap());
    }
    println!("recovered with a standby within {times:.1?}");
    assert_eq!((device.generation(), device.stats().faults), (5, 5));
}
