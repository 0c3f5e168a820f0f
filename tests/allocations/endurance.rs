//! A thousand times over: what a process holds does not grow.
//!
//! In a binary of its own and one test at a time, because memory and threads are counted for the whole process.

use crate::{alone, common};

use common::{assert_back_at, builders, eventually, footprint, host, up, within};
use std::time::Duration;
use windlass::{DeviceBuilder, Error, FaultPlan, RestartPolicy};

const LONG: Duration = Duration::from_secs(60);

/// The self-test of a rebuild is an upload, a fill and a download: they count as operations of the device.
const SELF_TEST: u64 = 3;

/// Runs `round` until the process has warmed up and then as often again, and asserts that nothing grew.
fn assert_no_growth(rounds: u64, mut round: impl FnMut(u64)) {
    (0..rounds / 4).for_each(&mut round);
    let (bytes, threads) = footprint();
    (rounds / 4..rounds).for_each(&mut round);
    assert!(eventually(10, || footprint().1 <= threads), "{} threads, {threads} before", footprint().1);
    let grown = footprint().0.saturating_sub(bytes);
    assert!(grown < 4 << 20, "{grown} bytes more");
}

fn suffering(plan: FaultPlan) -> DeviceBuilder {
    host(2).fault_plan(plan).restart_policy(RestartPolicy::unlimited())
}

fn died_with_the_device(error: &Error) -> bool {
    error.is_poisoning() || matches!(error, Error::Upstream { .. })
}

#[test]
fn a_thousand_faults_in_a_row_resolve_everything_and_nothing_grows() {
    let _alone = alone();
    within(300, || {
        // Five operations of ours and the self-test make a round; the last of ours is the fault.
        let device = suffering(FaultPlan::new().poison_every(5 + SELF_TEST)).open().unwrap();
        for _ in 0..SELF_TEST {
            drop(up(&device, [0u8])); // in the place of the self-test that the first round lacks
        }
        assert_no_growth(1000, |fault| {
            let x = up(&device, vec![1.0f64; 1000]);
            let x = device.blas().scal(2.0, x).unwrap().into_buffer();
            let sum = device.blas().dot(&x, &x).unwrap();
            let read = device.download(&x).unwrap();
            let fatal = device.upload([0u8]).unwrap().await_result().expect_err("a fault was ordered").error;
            assert!(fatal.is_poisoning());
            // Done before the fault or ended by it: either way there is an answer.
            assert!(eventually(5, || sum.is_ready() && read.is_ready()));
            match sum.await_result() {
                Ok(sum) => assert_eq!(sum, 4000.0),
                Err(rejected) => assert!(died_with_the_device(&rejected), "{rejected}"),
            }
            drop(read);
            assert_eq!(device.wait_healthy(LONG).unwrap().generation, fault + 1);
        });
        let stats = device.stats();
        assert_eq!((stats.faults, stats.rebuilds, stats.generation), (1000, 1000, 1000));
        assert_back_at(&device, (0, 0, 0));
    });
}

#[test]
fn rebuilds_that_are_asked_for_leave_nothing_behind() {
    let _alone = alone();
    for builder in builders() {
        let device = builder.open().unwrap();
        let rounds = if common::is_host(&device) { 1000 } else { 20 };
        let mut stale = Vec::new();
        assert_no_growth(rounds, |_| {
            let x = up(&device, vec![1.0f64; 4096]);
            drop(device.blas().nrm2(&x).unwrap());
            stale.push(x);
            stale.truncate(4); // some outlive their generation
            device.rebuild(LONG).unwrap();
        });
        stale.clear();
        assert_back_at(&device, (0, 0, 0));
    }
}

#[test]
fn a_device_opened_and_dropped_leaves_no_thread_and_no_memory() {
    let _alone = alone();
    assert_no_growth(200, |i| {
        let device = host(3).open().unwrap();
        let x = up(&device, vec![1.0f64; 4096]);
        let read = device.download(&x).unwrap();
        if i % 2 == 0 {
            read.await_result().unwrap();
        }
    });
}

#[test]
fn a_hundred_thousand_awaited_dispatches_leave_nothing_behind() {
    let _alone = alone();
    for builder in builders() {
        let device = builder.open().unwrap();
        let x = up(&device, [3.0f64, 4.0]).share();
        assert_no_growth(100_000, |_| assert_eq!(device.blas().nrm2(&x).unwrap().await_result().unwrap(), 5.0));
    }
}
