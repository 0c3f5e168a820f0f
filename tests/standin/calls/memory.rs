//! What memory costs: to be made, dropped and had again.

use super::device;
use super::{ALLOCATE, GET, RECORD, STATE, warm};
use crate::common::{down, eventually};
use crate::standin::{Current, Mode, session};

#[test]
fn zeros_are_an_allocation_a_memset_and_a_record_and_no_length_is_nothing() {
    let driver = session();
    let current = Current::of(0);
    let device = device(2);
    warm(&driver, &device);
    driver.mode(Mode::Eager);
    let (kept, calls) = driver.calls_in(|| device.zeros::<f32>(1000).unwrap());
    assert_eq!(calls, [GET, STATE, ALLOCATE, GET, STATE, "cuMemsetD8Async", RECORD]);
    let (bare, calls) = driver.calls_in(|| device.uninit::<f32>(1000).unwrap());
    assert_eq!(calls, [GET, STATE, ALLOCATE]);
    let before = driver.calls_of("cuMemAllocFromPoolAsync");
    let empty = driver.silently("an empty buffer", || device.uninit::<f32>(0).unwrap());
    let (x, y) = (device.zeros::<f32>(0).unwrap(), device.upload([0f32; 0]).unwrap().into_output());
    let y = device.blas().axpy(1.0, &x, y).unwrap().into_buffer();
    assert_eq!(down(&device, &y), [0f32; 0]);
    assert_eq!(driver.calls_of("cuMemAllocFromPoolAsync"), before, "zero bytes never reach the driver");
    // Its result lies in memory of its slot, which may be one that has made none yet.
    assert_eq!(device.blas().dot(&x, &y).unwrap().await_result().unwrap(), 0.0);
    drop((kept, bare, empty, x, y, device, current));
    driver.assert_finished();
}

#[test]
fn memory_that_was_dropped_is_had_again_by_who_asks_for_as_much() {
    // The housekeeping thread may come between, and free it.
    assert!((0..20).any(|_| drop_and_ask_again()), "never had again");
}

/// False where the memory was freed first.
fn drop_and_ask_again() -> bool {
    let driver = session();
    let current = Current::of(0);
    let device = device(1);
    warm(&driver, &device);
    driver.mode(Mode::Manual);
    let x = device.uninit::<f32>(1000).unwrap();
    let used = device.stats().bytes_used;
    // Its last work is still in flight when it is dropped, and what comes next follows it on the stream.
    let (x, _first) = device.fill(x, 1.0).unwrap().into_parts();
    drop(x);
    let (y, calls) = driver.calls_in(|| device.uninit::<f32>(1000).unwrap());
    let had = calls == [STATE];
    assert_eq!(device.stats().bytes_used, used);
    assert!(device.download(&y).is_err(), "what was there before is not to be read");
    let ((y,), _second) = device.fill(y, 2.0).unwrap().into_parts();
    let z = device.uninit::<f32>(500).unwrap();
    drop(z);
    let (z, calls) = driver.calls_in(|| device.uninit::<f32>(1000).unwrap());
    assert!(calls.iter().any(|call| call == ALLOCATE), "half as much is no use: {calls:?}");
    driver.mode(Mode::Eager);
    assert_eq!(down(&device, &y), [2.0; 1000]);
    drop((y, z));
    assert!(eventually(4, || device.stats().allocations == 0), "freed by nobody");
    drop((device, current));
    driver.assert_finished();
    had
}

/// Also where its halves had owners of their own.
#[test]
fn memory_that_is_had_again_is_parted_and_freed_like_any() {
    let driver = session();
    let device = device(2);
    let mut last = None;
    for turn in 0..20 {
        let x = device.fill(device.uninit::<f32>(1000).unwrap(), turn as f32).unwrap().into_output();
        let (left, right) = x.into_buffer().split_at(400).unwrap();
        let left = device.fill(left, -1.0).unwrap().into_output();
        let right = device.blas().axpy(1.0, left.buffer().as_in().slice(0..8).unwrap(), right.narrow(0..8).unwrap());
        let right = right.unwrap().into_buffer().widen();
        last = Some((down(&device, &left), down(&device, &right)));
    }
    let (left, right) = last.unwrap();
    assert_eq!((left, &right[..8], &right[8..]), (vec![-1.0; 400], &[18.0; 8][..], &[19.0; 592][..]));
    assert!(driver.calls_of(ALLOCATE) < 20, "{} allocations", driver.calls_of(ALLOCATE));
    assert!(eventually(4, || device.stats().allocations == 0), "freed by nobody");
    drop(device);
    driver.assert_finished();
}
