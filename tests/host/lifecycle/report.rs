//! What a device's memory is used for: the report, and what a lack of memory names.

use crate::common::{assert_back_at, builders, devices, eventually, host, up};
use std::sync::{Arc, Mutex};
use windlass::{
    Device, DeviceBuffer, Error, FaultPlan, RestartPolicy,
    memory_report::MemoryReport,
    trace::{AllocationInfo, Trace},
};

const MIB: usize = 1 << 20;

/// Bytes and number of what has this label.
fn share(report: &MemoryReport, label: Option<&str>) -> (u64, u64) {
    let share = report.labels.iter().find(|share| share.label.as_deref() == label);
    share.map_or((0, 0), |share| (share.bytes, share.buffers))
}

/// What it names: bytes and labels, in its order.
fn named(largest: &[windlass::error::LivingBuffer]) -> Vec<(u64, Option<&str>)> {
    largest.iter().map(|one| (one.bytes, one.label.as_deref())).collect()
}

fn largest(error: &Error) -> Vec<(u64, Option<&str>)> {
    match error {
        Error::OutOfMemory { largest, .. } => named(largest),
        other => panic!("{other:?}"),
    }
}

fn bytes(device: &Device, label: &'static str, bytes: usize) -> DeviceBuffer<u8> {
    device.labelled(label).zeros(bytes).unwrap().into_buffer()
}

#[test]
fn buffers_are_reported_by_label_and_the_largest_first() {
    for device in devices() {
        assert_eq!(device.memory_report().largest, [], "{device:?}");
        let weights = [bytes(&device, "weights", 3000), bytes(&device, "weights", 5000)];
        let cache = bytes(&device, "the \"cache\"", 7000);
        let (small, large) = (device.zeros::<u8>(9999).unwrap(), device.uninit::<u8>(2 * MIB).unwrap());
        let empty = bytes(&device, "nothing", 0);
        let report = device.memory_report();
        assert_eq!((report.used, report.allocations), (24_999 + 2 * MIB as u64, 6));
        assert_eq!(report.limit, device.stats().bytes_limit);
        assert_eq!(share(&report, Some("weights")), (8000, 2));
        assert_eq!(share(&report, Some("the \"cache\"")), (7000, 1));
        assert_eq!(share(&report, Some("nothing")), (0, 0));
        // Those without a label, with the empty one, of which there is nothing to say.
        assert_eq!(share(&report, None), (9999 + 2 * MIB as u64, 3));
        assert_eq!(report.labels.iter().map(|share| share.bytes).sum::<u64>(), report.used);
        let all = named(&report.largest);
        let cache_too = Some("the \"cache\"");
        assert_eq!(
            all,
            [(2 * MIB as u64, None), (7000, cache_too), (5000, Some("weights")), (3000, Some("weights"))],
            "a small one without a label is not known by itself"
        );
        let text = report.to_string();
        assert!(text.contains("\"weights\", 2 buffers") && text.contains("without a label"), "{text}");
        // A part keeps all of it, and so does a shared handle.
        let (left, right) = cache.split_at(10).unwrap();
        drop(left);
        let shared = right.share();
        assert_eq!(share(&device.memory_report(), cache_too), (7000, 1));
        drop((weights, shared, small, large, empty));
        assert_back_at(&device, (0, 0, 0));
        let report = device.memory_report();
        assert_eq!((report.used, report.labels, report.largest), (0, vec![], vec![]));
    }
}

/// Memory of a dropped buffer is handed out again, under the new label or under none.
#[test]
fn memory_that_is_used_again_has_the_label_of_its_new_buffer() {
    for device in devices() {
        for _ in 0..20 {
            for label in ["a", "b"] {
                let x = bytes(&device, label, 4096);
                assert!(share(&device.memory_report(), Some(label)).0 >= 4096);
                drop(x);
            }
            let x = device.zeros::<u8>(4096).unwrap();
            assert!(share(&device.memory_report(), None).0 >= 4096);
            drop(x);
        }
        assert_back_at(&device, (0, 0, 0));
        assert_eq!(device.memory_report().labels, []);
    }
}

/// Whatever call makes it: an upload, an operation that allocates its result, one that finds out how large that is.
#[test]
fn what_calls_make_has_the_label_of_their_handle() {
    for device in devices() {
        if device.is_isolated() {
            continue; // operations that make buffers while they run are refused there
        }
        let labelled = device.labelled("made");
        let x = labelled.upload([3.0f32, 1.0, 3.0]).unwrap().into_output();
        assert_eq!(share(&device.memory_report(), Some("made")), (12, 1));
        let copy = labelled.duplicate(&x).unwrap().into_output();
        assert_eq!(share(&device.memory_report(), Some("made")), (24, 2));
        let found = labelled.unique(&x).unwrap().await_result().unwrap();
        let (bytes, buffers) = share(&device.memory_report(), Some("made"));
        assert!(bytes > 24 && buffers > 2, "{bytes} bytes of {buffers} buffers");
        drop((x, copy, found));
        assert_back_at(&device, (0, 0, 0));
    }
}

#[test]
fn a_lack_of_memory_names_at_most_eight_the_largest_first() {
    for builder in builders() {
        let device = builder.memory_limit(4 * MIB as u64).open().unwrap();
        let kept: Vec<_> =
            (1..=12).map(|n| bytes(&device, if n % 2 == 0 { "even" } else { "odd" }, n * 1000)).collect();
        let large = device.zeros::<u8>(MIB).unwrap();
        let error = device.zeros::<u8>(5 * MIB).map(drop).unwrap_err();
        let found = largest(&error);
        let mut wanted = vec![(MIB as u64, None)];
        wanted.extend((6..=12).rev().map(|n| (n * 1000, Some(if n % 2 == 0 { "even" } else { "odd" }))));
        assert_eq!(found, wanted, "{device:?}");
        let text = error.to_string();
        assert!(text.contains("; the largest living: 1048576 bytes, 12000 bytes \"even\", 11000"), "{text}");
        drop((kept, large));
        assert_back_at(&device, (0, 0, 0));
        let error = device.labelled("much").zeros::<u8>(5 * MIB).map(drop).unwrap_err();
        assert_eq!(largest(&error), [], "nothing lives, and what was refused was never there");
    }
}

/// The plan makes an allocation fail: the error is that of a real lack.
#[test]
fn an_allocation_that_a_fault_plan_refuses_names_what_lives() {
    for builder in [host(1), host(1).isolated()] {
        let isolated = builder.clone();
        let device = isolated.fault_plan(FaultPlan::new().out_of_memory(1)).open().unwrap();
        let kept = bytes(&device, "kept", 100);
        let error = device.labelled("refused").uninit::<u8>(50).map(drop).unwrap_err();
        assert_eq!(largest(&error), [(100, Some("kept"))], "{device:?}");
        let second = bytes(&device, "second", 50);
        assert_eq!(share(&device.memory_report(), Some("second")), (50, 1));
        drop((kept, second));
    }
}

/// What stale handles hold is memory of this process on the host, and gone with its worker elsewhere.
#[test]
fn after_a_rebuild_the_report_tells_what_is_still_used() {
    for device in devices() {
        let old = bytes(&device, "old", 3000);
        device.rebuild(crate::common::LONG).unwrap();
        let new = bytes(&device, "new", 2000);
        let report = device.memory_report();
        let expected = if device.is_isolated() || !crate::common::is_host(&device) { (0, 0) } else { (3000, 1) };
        assert_eq!((share(&report, Some("old")), share(&report, Some("new"))), (expected, (2000, 1)), "{device:?}");
        drop(old);
        assert!(eventually(10, || device.memory_report().used == 2000));
        drop(new);
        assert_back_at(&device, (0, 0, 0));
    }
}

#[test]
fn after_a_fault_the_report_is_that_of_the_generation_that_follows() {
    let plan = FaultPlan::new().poison(0);
    let device = host(1).fault_plan(plan).restart_policy(RestartPolicy::unlimited()).open().unwrap();
    let x = device.labelled("before").zeros::<f64>(10).unwrap();
    assert!(device.blas().scal(2.0, x).unwrap().await_result().is_err());
    device.wait_healthy(crate::common::LONG).unwrap();
    let y = bytes(&device, "after", 1000);
    assert!(eventually(10, || device.memory_report().used == 1000));
    assert_eq!(named(&device.memory_report().largest), [(1000, Some("after"))]);
    drop(y);
}

#[test]
fn many_threads_allocate_and_drop_and_the_report_adds_up() {
    for device in devices() {
        std::thread::scope(|scope| {
            for thread in 0..4usize {
                let device = &device;
                scope.spawn(move || {
                    for i in 0..200usize {
                        let label = ["a", "b", "c"][(thread + i) % 3];
                        let x = bytes(device, label, 1 + (i * 37 + thread) % 500);
                        let report = device.memory_report();
                        assert!(share(&report, Some(label)).1 >= 1);
                        drop(x);
                    }
                });
            }
        });
        assert_back_at(&device, (0, 0, 0));
        assert_eq!(device.memory_report().labels, []);
    }
}

/// Writes down the buffers that it is told of.
#[derive(Default)]
struct Allocated(Mutex<Vec<(u64, Option<&'static str>)>>);

impl Trace for Allocated {
    fn allocated(&self, buffer: &AllocationInfo) {
        self.0.lock().unwrap().push((buffer.bytes, buffer.label));
        assert!(buffer.label != Some("panics"), "the hook panics");
    }
}

#[test]
fn a_trace_is_told_of_each_buffer_with_its_label() {
    for builder in builders() {
        let trace = Arc::new(Allocated::default());
        let device = builder.trace(trace.clone()).memory_limit(MIB as u64).open().unwrap();
        let x = [bytes(&device, "x", 10), bytes(&device, "panics", 20), device.zeros::<u8>(30).unwrap().into_buffer()];
        let y = up(&device, [1.0f64; 4]);
        assert!(device.zeros::<u8>(2 * MIB).is_err());
        assert_eq!(*trace.0.lock().unwrap(), [(10, Some("x")), (20, Some("panics")), (30, None), (32, None)]);
        drop((x, y));
    }
}
