//! The CUDA engine in workers, on the stand-in driver. Its NCCL knows the ranks of one process only: so one rank, or ranks
//! that never come together.

use super::losses::assert_lost;
use super::{assert_sums, signal, ups, watching};
use crate::model::{World, all_moves};
use crate::{LONG, Rng};
use std::time::Instant;
use windlass::collective::{Combine, Communicator, Members};
use windlass::{Device, Error, RestartPolicy};

const INSIDE: &str = "WINDLASS_TEST_COLLECTIVE_INSIDE";

/// Runs `body` in a process whose children find the stand-in as well: this very test, started again.
fn inside(test: &str, body: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return body();
    }
    if std::env::var_os("WINDLASS_TEST_DEVICE").is_some() {
        return;
    }
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args([&format!("isolated::standin::{test}"), "--exact", "--nocapture"]);
    let environment = crate::standin::driver().environment();
    let output = command.envs(environment).env("WINDLASS_STANDIN_DEVICES", "2").env(INSIDE, "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("1 passed"), "{text}");
}

fn gpu(ordinal: usize) -> Device {
    let builder = Device::builder().cuda(ordinal).isolated().restart_policy(RestartPolicy::unlimited());
    builder.heartbeat(LONG).open().unwrap()
}

#[test]
fn a_gpu_in_a_worker_is_a_rank() {
    inside("a_gpu_in_a_worker_is_a_rank", || {
        let devices = [gpu(0)];
        let comm = Communicator::new(&devices).unwrap();
        let world = World { comm: &comm, devices: &devices };
        all_moves(&world, 5, &mut Rng::new(3));
        assert_sums(&devices, &comm, 1000);
        drop(comm);
        let comm = Communicator::new(&devices).unwrap();
        let pending = comm.all_reduce_in_place(Combine::Sum, ups(&devices, 1000)).unwrap();
        signal(&devices[0], libc::SIGKILL);
        assert_lost(Ok(pending), &[0]);
        comm.rebuild(Members::Replaced, LONG).unwrap();
        assert_sums(&devices, &comm, 1000);
    });
}

#[test]
fn a_worker_that_is_killed_while_the_ranks_come_together_ends_the_attempt() {
    inside("a_worker_that_is_killed_while_the_ranks_come_together_ends_the_attempt", || {
        let devices = [gpu(0), gpu(1)];
        std::thread::scope(|scope| {
            let made = scope.spawn(|| Communicator::new(&devices).map(drop));
            let end = Instant::now() + LONG;
            while watching(&devices) < 2 {
                assert!(Instant::now() < end && !made.is_finished());
                std::thread::yield_now();
            }
            signal(&devices[1], libc::SIGKILL);
            let error = made.join().unwrap().unwrap_err();
            assert!(matches!(&error, Error::CollectiveLost { ranks, .. } if **ranks == [1]), "{error}");
        });
    });
}
