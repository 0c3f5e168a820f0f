//! Managed memory on the stand-in: what is asked of the driver, a GPU's end while a slice is out, and faults.

use crate::common;
use crate::standin;

use common::{down, eventually, up};
use standin::{Mode, launch, session};
use std::time::Duration;
use windlass::managed::{Advice, PagePlace};
use windlass::{Device, DeviceBuffer, Error, health::Phase};

const LIMIT: Duration = Duration::from_secs(60);
const MIB: usize = 1 << 20;

fn numbers(device: &Device, data: &[f32]) -> DeviceBuffer<f32> {
    let mut x = device.managed::<f32>(data.len()).unwrap().into_buffer();
    x.host_mut().unwrap().copy_from_slice(data);
    x
}

/// Whether the process can read a byte there, asked without a risk: a pipe refuses what cannot be read.
fn is_readable(at: *const f32) -> bool {
    let mut ends = [0; 2];
    // SAFETY: two descriptors are written; a write from an address that cannot be read fails with EFAULT.
    unsafe {
        assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
        let written = libc::write(ends[1], at.cast(), 1);
        libc::close(ends[0]);
        libc::close(ends[1]);
        written == 1
    }
}

#[test]
fn pages_come_to_the_host_before_a_slice_and_stay_there_beside_one_to_read() {
    let driver = session();
    let device = standin::device(2);
    driver.log_of_this_thread();
    let mut x = device.managed::<f32>(1000).unwrap().into_buffer();
    // The calls about pages, without their addresses.
    let calls = || {
        let about = |line: &String| line.contains("cuMemAdvise_v2") || line.contains("cuMemPrefetchAsync_v2");
        let all = driver.take_log().into_iter().filter(about);
        all.map(|line| {
            line.split_once(" bytes ")
                .unwrap()
                .1
                .split(['#', '-'])
                .next()
                .unwrap()
                .replace(" stream", "")
                .trim()
                .to_owned()
        })
        .collect::<Vec<_>>()
    };
    let log = driver.take_log();
    let made: Vec<_> = log.iter().filter(|line| line.contains("cuMemAllocManaged")).collect();
    assert!(made.len() == 1 && made[0].contains("2097152 bytes flags 1"), "blocks of its own: {made:?}");
    x.host_mut().unwrap().fill(1.0);
    assert_eq!(calls(), ["to host"], "kernels have the pages with them afterwards");
    drop(x.host().unwrap());
    assert_eq!(calls(), ["advice 3 of host", "advice 5 of device", "to host"]);
    drop(x.host().unwrap());
    assert_eq!(calls(), ["to host"], "once is enough");
    drop(x.host_mut().unwrap());
    assert_eq!(calls(), ["advice 4 of device", "advice 6 of device", "to host"]);
    drop(x.host().unwrap());
    x.advise(Advice::Prefer(PagePlace::Device)).unwrap();
    drop(x.host().unwrap());
    let kept = ["advice 3 of host", "advice 5 of device", "to host"];
    assert_eq!(calls(), [&kept[..], &["advice 3 of device"], &kept].concat(), "taken back, and given again");
    x.prefetch(PagePlace::Device).unwrap();
    assert_eq!(calls(), ["to device"]);
    let mut x = launch(&device, c"add_one_f32", x).into_output();
    assert_eq!(x.host().unwrap()[999], 2.0);
    // A refused move changes nothing.
    driver.fail("cuMemPrefetchAsync_v2", 0, 1);
    assert!(x.prefetch(PagePlace::Device).is_err());
    assert_eq!(x.host().unwrap()[999], 2.0);
    driver.fail("cuMemPrefetchAsync_v2", 0, 1);
    assert!(x.host_mut().is_err());
    assert_eq!(x.host_mut().unwrap()[999], 2.0);
    drop((x, device));
    driver.assert_finished();
}

/// It is freed by the housekeeping thread, while nothing is in flight, since a free may wait for the GPU.
#[test]
fn dropped_memory_is_freed_when_the_gpu_is_idle() {
    let driver = session();
    let device = standin::device(2);
    let x = numbers(&device, &[1.0; 8]);
    let other = up(&device, [1.0f32]);
    driver.mode(Mode::Manual);
    let x = launch(&device, c"add_one_f32", x).into_output();
    let other = launch(&device, c"add_one_f32", other).into_output();
    drop(x);
    common::let_others_run();
    assert_eq!((driver.calls_of("cuMemFree_v2"), driver.live("managed")), (0, 1));
    driver.mode(Mode::Background);
    assert!(eventually(60, || driver.live("managed") == 0));
    assert_eq!(driver.calls_of("cuMemFree_v2"), 1);
    drop((other, device));
    driver.assert_finished();
}

#[test]
fn a_system_where_the_host_must_not_touch_it_beside_kernels_has_none() {
    let driver = session();
    for (attribute, words) in [(83, "no managed memory"), (89, "attribute 89")] {
        driver.set_attribute(attribute, 0);
        let device = standin::device(1);
        let error = device.managed::<f32>(4).map(drop).unwrap_err();
        assert!(matches!(&error, Error::Unsupported { reason, .. } if reason.contains(words)), "{error}");
        assert_eq!((driver.calls_of("cuMemAllocManaged"), device.stats().allocations), (0, 0));
        driver.set_attribute(attribute, 1);
        drop(device);
    }
    driver.assert_finished();
}

#[test]
fn there_is_never_more_than_the_gpu_has_free() {
    let driver = session();
    driver.set_total_memory(8 * MIB);
    let device = Device::builder().cuda(0).slots(2).memory_limit(64 * MIB as u64).open().unwrap();
    let bytes = |device: &Device, bytes: usize| device.managed::<u8>(bytes).map(|x| x.into_buffer());
    let first = bytes(&device.labelled("first"), 5 * MIB).unwrap();
    let error = bytes(&device, 4 * MIB).map(drop).unwrap_err();
    let Error::OutOfMemory { requested, free, largest, .. } = &error else { panic!("{error:?}") };
    assert!(*requested == 4 << 20 && *free < 4 << 20 && largest[0].bytes == 5 << 20, "{error}");
    assert_eq!(driver.calls_of("cuMemAllocManaged"), 1, "the driver would give it, and the GPU would thrash");
    drop(first);
    // What the pool hoards, and what was dropped, is given back first.
    drop(device.zeros::<u8>(6 * MIB).unwrap());
    let second = bytes(&device, 7 * MIB).expect("all of it came back");
    assert_eq!(second.host().unwrap()[7 * MIB - 1], 0);
    drop((second, device));
    driver.assert_finished();
}

#[test]
fn a_refusal_of_the_driver_climbs_the_ladder_and_ends_in_a_typed_error() {
    let driver = session();
    let device = standin::device(2);
    driver.fail("cuMemAllocManaged", 0, 2);
    let x = device.managed::<f32>(4).expect("the second attempt");
    assert!(driver.calls_of("cuMemPoolTrimTo") > 0);
    for call in ["cuMemAllocManaged", "cuDeviceGetAttribute"] {
        driver.fail(call, 0, 1);
        let error = device.managed::<f32>(4).map(drop).unwrap_err();
        assert!(matches!(&error, Error::LibraryError { site, .. } if site.code() == Some(1)), "{error:?}");
    }
    assert_eq!(device.stats().allocations, 1);
    for (call, code) in [("cuMemAdvise_v2", 1), ("cuMemPrefetchAsync_v2", 1)] {
        driver.fail(call, 0, code);
        assert!(x.host().is_err(), "{call}");
        assert_eq!(*x.host().unwrap(), [0.0; 4], "{call}: nothing is left of the refusal");
    }
    drop((x, device));
    driver.assert_finished();
}

/// The pages of a slice are on the host, and no work of the device takes them away: a fault leaves them alone.
#[test]
fn a_fault_of_the_device_leaves_a_slice_that_is_out() {
    let driver = session();
    let device = standin::device(2);
    let mut x = numbers(&device, &[1.0, 2.0, 3.0, 4.0]);
    // It was asked to have the pages before: the slice comes behind that.
    x.prefetch(PagePlace::Device).unwrap();
    let mut writable = numbers(&device, &[5.0; 4]);
    let read = x.host().unwrap();
    // Beside it the device reads it, where it is.
    assert_eq!(down(&device, &x), [1.0, 2.0, 3.0, 4.0]);
    let mut write = writable.host_mut().unwrap();
    driver.fault(700);
    assert!(device.upload([1.0f32]).and_then(|p| p.await_result().map_err(Into::into)).is_err());
    assert!(eventually(60, || device.health().phase == Phase::Lost));
    assert_eq!(*read, [1.0, 2.0, 3.0, 4.0]);
    write.fill(6.0);
    assert_eq!(*write, [6.0; 4]);
    drop((read, write));
    assert!(x.host().is_err_and(|error| error.is_poisoning()));
    drop((x, writable));
    drop(device);
}

/// The same after a slice to write that was refused half-way: what the driver was told before does not count any more.
#[test]
fn a_refused_advice_leaves_no_slice_without_its_pages() {
    let driver = session();
    let device = standin::device(2);
    for refused in [0, 1] {
        let mut x = numbers(&device, &[1.0, 2.0, 3.0, 4.0]);
        drop(x.host().unwrap());
        driver.fail("cuMemAdvise_v2", refused, 1);
        assert!(x.host_mut().is_err());
        let slice = x.host().unwrap();
        assert_eq!(device.blas().dot(&x, &x).unwrap().await_result().unwrap(), 30.0);
        assert_eq!(*slice, [1.0, 2.0, 3.0, 4.0]);
        drop(slice);
        // The other way round: nothing stays told.
        let mut y = numbers(&device, &[5.0]);
        driver.fail("cuMemAdvise_v2", refused, 1);
        assert!(y.host().is_err());
        driver.log_of_this_thread();
        driver.take_log();
        y.host_mut().unwrap().fill(6.0);
        assert_eq!(driver.take_log().iter().filter(|line| line.contains("cuMemAdvise_v2")).count(), 2);
    }
    let mut x = numbers(&device, &[1.0, 2.0]);
    drop(x.host().unwrap());
    driver.fail("cuMemAdvise_v2", 1, 1);
    assert!(x.host_mut().is_err());
    let slice = x.host().unwrap();
    assert_eq!(down(&device, &x), [1.0, 2.0]);
    driver.fault(700);
    assert!(device.upload([1.0f32]).and_then(|p| p.await_result().map_err(Into::into)).is_err());
    assert!(eventually(60, || device.health().phase == Phase::Lost));
    assert!(is_readable(slice.as_ptr()) && *slice == [1.0, 2.0]);
    drop(slice);
    drop((x, device));
}

/// The same without a slice: the device has the pages, and the host has lost them. So the test above can fail.
#[test]
fn a_fault_takes_pages_that_the_device_has() {
    let driver = session();
    let device = standin::device(2);
    let mut x = numbers(&device, &[1.0, 2.0]);
    let at = x.host().unwrap().as_ptr();
    x.prefetch(PagePlace::Device).unwrap();
    let x = launch(&device, c"add_one_f32", x).await_result().unwrap();
    assert!(is_readable(at));
    driver.fault(700);
    assert!(device.upload([1.0f32]).and_then(|p| p.await_result().map_err(Into::into)).is_err());
    assert!(eventually(60, || device.health().phase == Phase::Lost));
    assert!(!is_readable(at));
    assert!(x.host().is_err());
    drop((x, device));
}

#[test]
fn a_rebuild_waits_for_slices_and_frees_what_stale_handles_hold() {
    let driver = session();
    let device = standin::device(2);
    let mut x = numbers(&device, &[1.0, 2.0]);
    let slice = x.host_mut().unwrap();
    let error = device.rebuild(Duration::from_millis(30)).unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error:?}");
    assert_eq!((device.generation(), &*slice), (0, &[1.0, 2.0][..]));
    drop(slice);
    device.rebuild(LIMIT).unwrap();
    assert_eq!((driver.live("managed"), device.stats().leaked), (0, 0));
    driver.silently("a stale slice", || assert!(matches!(x.host(), Err(Error::GpuRefStale { .. }))));
    let y = numbers(&device, &[3.0]);
    driver.silently("dropping what was freed", || drop(x));
    assert_eq!(*y.host().unwrap(), [3.0]);
    drop((y, device));
    driver.assert_finished();
}

#[test]
fn a_rebuild_goes_on_when_the_last_slice_ends() {
    let driver = session();
    let device = standin::device(2);
    let x = numbers(&device, &[1.0, 2.0]);
    let slice = x.host().unwrap();
    let asleep = common::Asleep::default();
    std::thread::scope(|scope| {
        let rebuilding = scope.spawn(|| {
            asleep.here();
            device.rebuild(LIMIT)
        });
        asleep.wait();
        common::let_others_run();
        assert!(!rebuilding.is_finished());
        assert!(x.host().is_err(), "the device admits nothing any more");
        assert_eq!(*slice, [1.0, 2.0]);
        drop(slice);
        rebuilding.join().unwrap().unwrap();
    });
    drop((x, device));
    driver.assert_finished();
}

#[test]
fn a_device_that_is_dropped_while_a_slice_is_out_is_torn_down_after_it() {
    let driver = session();
    let device = standin::device(2);
    let x = numbers(&device, &[1.0, 2.0]);
    let slice = x.host().unwrap();
    drop(device);
    common::let_others_run();
    assert!(driver.live("contexts") > 0 && driver.live("managed") == 1);
    assert_eq!(*slice, [1.0, 2.0]);
    drop(slice);
    drop(x);
    driver.assert_finished();
}

/// A slice that is leaked keeps the context, and nothing else hangs: the program goes on, and may exit.
#[test]
fn a_slice_that_is_leaked_keeps_the_device_from_a_rebuild_and_no_more() {
    let driver = session();
    let device = standin::device(2);
    let x = numbers(&device, &[1.0, 2.0]);
    std::mem::forget(x.host().unwrap());
    assert!(matches!(device.rebuild(Duration::from_millis(20)), Err(Error::Timeout { .. })));
    let x = launch(&device, c"add_one_f32", x).await_result().unwrap();
    assert_eq!(*x.host().unwrap(), [2.0, 3.0]);
    driver.fault(700);
    assert!(x.host().is_err());
    assert!(eventually(60, || device.health().phase == Phase::Lost));
}
