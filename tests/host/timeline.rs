//! Timelines: what is in them on every device, and how much of it is kept.

use crate::common;

use common::timeline::{Read, check_work, nanos, work};
use common::{LONG, builders, eventually, host, up};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use windlass::timeline::Timeline;
use windlass::{
    Device, FaultPlan, RestartPolicy,
    trace::{OpInfo, Trace},
};

/// A file for this test, and what its neighbours would be called.
fn file(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("windlass-timeline-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder.join("trace.json")
}

#[test]
fn calls_executions_and_the_arrows_between_them_are_there_on_every_device() {
    for builder in builders() {
        let name = builder.clone().open().unwrap().name().to_owned();
        let kind = name.split_inclusive(':').next().unwrap(); // another opening has another number
        check_work(&work(builder), kind);
    }
}

#[test]
fn what_runs_is_inside_of_the_time_from_its_call_to_its_end() {
    for builder in builders() {
        let read = work(builder);
        let (_, executions) = read.slices("gemm");
        for one in executions {
            let seen = read.kind("i").find(|m| m["name"] == "observed" && m["args"]["number"] == one["args"]["number"]);
            let call = read.kind("s").find(|arrow| arrow["id"] == one["args"]["number"]).unwrap();
            let (begin, end) = (nanos(one, "ts"), nanos(one, "ts") + nanos(one, "dur"));
            assert!(nanos(call, "ts") <= begin && end <= nanos(seen.unwrap(), "ts"));
        }
    }
}

/// Submits so many copies, and waits for the last.
fn copies(device: &Device, count: usize) {
    let x = up(device, vec![1.0f32; 8]);
    (0..count).for_each(|_| drop(device.copy(&x, device.uninit(8).unwrap()).unwrap().await_result().unwrap()));
}

#[test]
fn the_last_events_are_kept_and_the_others_counted() {
    let recorder = Timeline::keeping(50);
    let device = host(1).timeline(&recorder).open().unwrap();
    copies(&device, 100);
    let read = Read::of(&recorder);
    assert_eq!(read.0.iter().filter(|event| event["ph"] != "M").count(), 50);
    assert!(recorder.dropped() > 100, "{recorder:?}");
    assert!(eventually(LONG.as_secs(), || device.stats().in_flight == 0));
}

#[test]
fn a_stream_goes_from_file_to_file_and_each_can_be_read() {
    let path = file("rotated");
    let recorder = Timeline::to_files(&path, 8 << 10, 3).unwrap();
    let device = host(1).timeline(&recorder).open().unwrap();
    copies(&device, 200);
    let read = |text: &str| match serde_json::from_str::<Value>(text) {
        Ok(Value::Array(events)) => Read(events),
        other => panic!("{other:?}"),
    };
    recorder.flush().unwrap();
    let newest = std::fs::read_to_string(&path).unwrap();
    let so_far = read(&format!("{newest}]"));
    assert!(so_far.processes().values().any(|name| name.starts_with("host:")), "names begin each file");
    drop(device);
    drop(recorder);
    // Whoever tells of the last end may hold it a little longer.
    let folder = path.parent().unwrap();
    let names = ["trace.1.json", "trace.2.json", "trace.json"];
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    let is_closed = |name: &&str| serde_json::from_str::<Value>(&text(name)).is_ok();
    assert!(eventually(LONG.as_secs(), || names.iter().all(is_closed)));
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), names.len());
    for name in names {
        let text = text(name);
        assert!(text.len() < 16 << 10, "{name} has {} bytes", text.len());
        // The newest may have just been begun.
        let slices = read(&text).kind("X").count();
        assert!(name == "trace.json" || slices > 5, "{name} has {slices}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_loss_and_the_rebuild_after_it_are_in_the_timeline_of_the_device() {
    let recorder = Timeline::new();
    let plan = FaultPlan::new().poison(1);
    let builder = host(1).fault_plan(plan).restart_policy(RestartPolicy::unlimited());
    let device = builder.timeline(&recorder).open().unwrap();
    let x = up(&device, vec![1.0f32; 8]);
    assert!(device.blas().scal(2.0, x).unwrap().await_result().is_err());
    device.wait_healthy(LONG).unwrap();
    assert!(eventually(LONG.as_secs(), || Read::of(&recorder).kind("i").any(|m| m["name"] == "recovered")));
    let read = Read::of(&recorder);
    read.check();
    let lost = read.kind("i").find(|moment| moment["name"] == "lost").unwrap();
    assert!(lost["pid"] == 2 && lost["args"]["what"].as_str().unwrap().contains("fault plan"), "{lost}");
    assert!(read.kind("X").any(|slice| slice["name"] == "rebuild" && slice["pid"] == 2));
}

#[test]
fn devices_have_processes_and_a_trace_beside_the_recorder_is_told_as_well() {
    #[derive(Default)]
    struct Ended(AtomicU64, AtomicU64);
    impl Trace for Ended {
        fn after_complete(&self, op: &OpInfo, _: std::time::Duration) {
            self.0.fetch_add(1, SeqCst);
            self.1.fetch_add(u64::from(op.ran.is_some() && op.number > 0), SeqCst);
        }
    }
    let (recorder, ended) = (Timeline::new(), Arc::new(Ended::default()));
    let devices = [1, 2].map(|threads| host(threads).trace(ended.clone()).timeline(&recorder).open().unwrap());
    devices.iter().for_each(|device| copies(device, 1));
    assert!(eventually(LONG.as_secs(), || ended.0.load(SeqCst) == 4));
    assert_eq!(ended.1.load(SeqCst), 4, "one that wants times has them told to all");
    // The recorder is told behind the trace.
    assert!(eventually(LONG.as_secs(), || Read::of(&recorder).slices("copy").1.len() == 2));
    let read = Read::of(&recorder);
    read.check();
    assert_eq!(read.processes().len(), 3, "{:?}", read.processes());
    let (_, executions) = read.slices("copy");
    assert_ne!(executions[0]["pid"], executions[1]["pid"]);
}

/// Bytes of each label, as the newest event tells them.
fn labels(read: &Read) -> Vec<(String, u64)> {
    let newest = read.kind("C").filter(|level| level["name"] == "bytes by label").last();
    let parts = newest.map(|level| level["args"].as_object().unwrap().clone()).unwrap_or_default();
    parts.into_iter().map(|(label, bytes)| (label, bytes.as_u64().unwrap())).collect()
}

#[test]
fn allocations_are_in_the_timeline_by_their_labels() {
    for builder in builders() {
        let recorder = Timeline::new();
        let device = builder.timeline(&recorder).restart_policy(RestartPolicy::unlimited()).open().unwrap();
        copies(&device, 2);
        assert_eq!(labels(&Read::of(&recorder)), [], "nothing has a label");
        let part = |label: &'static str, len| device.labelled(label).uninit::<u8>(len).unwrap();
        let x = [part("x \"quoted\"", 100), part("y", 30), part("y", 20)];
        // They are there although no operation follows.
        let wanted = [("x \"quoted\"".to_owned(), 100), ("y".to_owned(), 50)];
        assert_eq!(labels(&Read::of(&recorder)), wanted);
        drop(x);
        // What is gone is told at the next completions, as zero, since a viewer keeps the last value of each.
        let none = |read: &Read| labels(read).iter().all(|(_, bytes)| *bytes == 0);
        assert!(eventually(LONG.as_secs(), || {
            copies(&device, 1);
            none(&Read::of(&recorder))
        }));
        let z = part("z", 7);
        assert_eq!(labels(&Read::of(&recorder)), [("z".to_owned(), 7)]);
        device.rebuild(LONG).unwrap();
        drop(z);
        assert!(eventually(LONG.as_secs(), || {
            copies(&device, 1);
            none(&Read::of(&recorder))
        }));
        Read::of(&recorder).check();
    }
}
