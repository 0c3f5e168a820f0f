//! Timelines of the CUDA engine: slots as threads, with the device's own times.

use crate::common;
use crate::standin;

use common::timeline::{Read, check_work, place, work};
use common::{LONG, eventually, up};
use standin::{Mode, session};
use windlass::Device;
use windlass::timeline::Timeline;

#[test]
fn slots_are_threads_and_nothing_on_one_overlaps() {
    for mode in [Mode::Auto, Mode::Background] {
        let driver = session();
        driver.set_total_memory(8 << 20);
        driver.mode(mode);
        let read = work(Device::builder().cuda(0).slots(2));
        check_work(&read, "cuda:0");
        let (_, executions) = read.slices("gemm");
        assert!(executions.iter().all(|slice| (1..=2).contains(&place(slice).1)), "{executions:?}");
        assert!(read.kind("M").any(|name| name["args"]["name"] == "slot 0" || name["args"]["name"] == "slot 1"));
        driver.assert_finished();
    }
}

#[test]
fn two_events_a_dispatch_and_an_anchor_are_all_that_a_recorder_asks_of_the_device() {
    let driver = session();
    let recorder = Timeline::new();
    let mut kept = Vec::new();
    let mut calls = |timed: bool| {
        let builder = Device::builder().cuda(0).slots(1);
        let device = if timed { builder.timeline(&recorder) } else { builder }.open().unwrap();
        let mut x = up(&device, vec![1.0f32; 64]);
        let mut last = Vec::new();
        for _ in 0..4 {
            device.synchronize(LONG).unwrap();
            let (y, calls) = driver.calls_in(|| device.fill(x, 2.0).unwrap().into_output());
            (x, last) = (y.into_buffer(), calls);
        }
        kept.push((device, x));
        last.iter().filter(|call| *call == "cuEventRecord").count()
    };
    assert_eq!((calls(false), calls(true)), (1, 3));
    assert!(eventually(LONG.as_secs(), || Read::of(&recorder).slices("fill").1.len() == 4));
    let read = Read::of(&recorder);
    read.check();
    drop(kept);
    assert!(read.slices("fill").1.iter().any(|slice| slice["dur"].as_f64() > Some(0.0)));
    driver.assert_finished();
}
