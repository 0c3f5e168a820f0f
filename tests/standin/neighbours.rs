//! Two devices on one GPU: what one does, opening and closing, holds up no work of the other.

use crate::common::{LONG, down, eventually, up};
use crate::standin::{Driver, device, endless, session};
use windlass::Device;

/// What holds up the launches of all other threads until the GPU is idle.
const DEAR: [&str; 3] = ["cuMemFreeHost", "cuMemHostUnregister", "cuMemFree"];

fn dear(driver: &Driver) -> [u64; 3] {
    DEAR.map(|call| driver.calls_of(call))
}

/// Has a few blocks of pinned memory.
fn used() -> Device {
    let device = device(2);
    let x = up(&device, vec![1.0f32; 3 << 20]);
    assert_eq!(down(&device, &x).len(), 3 << 20);
    device.synchronize(LONG).unwrap();
    device
}

/// Drops a device, and waits until all of it is gone.
#[track_caller]
fn close(driver: &Driver, device: Device) {
    let before = driver.calls_of("cuDevicePrimaryCtxRelease");
    drop(device);
    assert!(eventually(60, || driver.calls_of("cuDevicePrimaryCtxRelease") > before), "it never went");
}

#[test]
fn a_device_that_closes_beside_anothers_work_frees_no_pinned_memory_and_the_next_one_has_it() {
    let driver = session();
    let (stays, goes) = (device(2), used());
    let work = endless(&stays);
    let (pinned, freed) = (driver.live("pinned"), dear(&driver));
    close(&driver, goes);
    assert_eq!((driver.live("pinned"), dear(&driver)), (pinned, freed), "beside work in flight");
    let made = driver.calls_of("cuMemHostAlloc");
    let next = device(2);
    assert_eq!(driver.calls_of("cuMemHostAlloc"), made, "it has what the other left");
    assert_eq!(down(&next, &up(&next, vec![2.0f32; 3 << 20])), vec![2.0; 3 << 20]);
    assert_eq!(driver.calls_of("cuMemHostAlloc"), made, "also what it had for transfers");
    assert!(!work.is_ready());
    close(&driver, next);
    assert_eq!(dear(&driver), freed);
    driver.release();
    drop(work.await_result().unwrap());
    drop(stays);
    driver.assert_finished();
}

#[test]
fn a_rebuild_beside_anothers_work_frees_no_pinned_memory() {
    let driver = session();
    let (stays, again) = (device(2), used());
    let work = endless(&stays);
    let freed = dear(&driver);
    for _ in 0..3 {
        again.rebuild(LONG).unwrap();
        assert_eq!(down(&again, &up(&again, [3.0f32; 4])), [3.0; 4]);
    }
    assert_eq!(dear(&driver), freed);
    driver.release();
    drop((work.await_result().unwrap(), stays, again));
    driver.assert_finished();
}

#[test]
fn what_a_reset_took_along_is_not_handed_on() {
    let driver = session();
    let (stays, goes) = (device(2), used());
    close(&driver, goes);
    // Somebody frees it behind our back: the driver knows none of it any more.
    let left = driver.live("pinned");
    driver.fail("cuMemHostGetFlags", 0, 1);
    let next = used();
    assert!(driver.live("pinned") > left, "it made its own instead of the first");
    driver.clear();
    drop((next, stays));
    let until = eventually(60, || driver.left().iter().all(|(what, _)| *what == "pinned"));
    assert!(until, "{:?}", driver.left());
}

/// The driver's answer to the query then says nothing about the memory, which must neither be used nor forgotten.
#[test]
fn handed_on_memory_is_kept_and_freed_where_the_query_for_it_fails() {
    let driver = session();
    let (stays, goes) = (device(2), used());
    close(&driver, goes);
    let left = driver.live("pinned");
    driver.fail("cuMemHostGetFlags", 0, 2);
    let next = used();
    assert_eq!(driver.failed(), 1);
    assert!(driver.live("pinned") > left, "it made its own instead of the first");
    drop((next, stays));
    driver.assert_finished();
}

#[test]
fn the_last_device_frees_all_of_it() {
    let driver = session();
    let devices = [used(), used(), used()];
    for device in devices {
        close(&driver, device);
    }
    driver.assert_finished();
}
