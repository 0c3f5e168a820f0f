//! The timeline of a device in a worker.

use crate::common::timeline::{Read, check_work, work};
use crate::common::{LONG, down, eventually, up};
use crate::{alone, isolated, kill};
use windlass::timeline::Timeline;

#[test]
fn what_a_worker_does_lies_between_the_call_and_its_answer() {
    let _alone = alone();
    let read = work(isolated());
    check_work(&read, "host:");
    assert!(read.processes()[&2].contains(", in a worker process"), "{:?}", read.processes());
    let (_, executions) = read.slices("gemm");
    assert!(executions.iter().all(|slice| slice["pid"] == 2));
}

#[test]
fn a_worker_that_is_killed_is_a_loss_and_a_rebuild() {
    let _alone = alone();
    let recorder = Timeline::new();
    let device = isolated().timeline(&recorder).open().unwrap();
    drop(up(&device, vec![1.0f32; 8]));
    kill(&device);
    let there = |name: &str| Read::of(&recorder).kind("i").any(|moment| moment["name"] == name);
    assert!(eventually(LONG.as_secs(), || there("recovered")) && there("lost"));
    device.wait_healthy(LONG).unwrap();
    let x = up(&device, vec![1.0f32; 8]);
    assert_eq!(down(&device, &x), [1.0; 8]);
    // The test of the new life downloads as well, something smaller.
    let ended = |read: &Read| read.slices("download").1.iter().any(|one| one["args"]["bytes"] == 32);
    assert!(eventually(LONG.as_secs(), || ended(&Read::of(&recorder))));
    Read::of(&recorder).check();
}
