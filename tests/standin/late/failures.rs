//! What fails after its submission: through the completion, along data edges, with the buffers back.

use super::ops::{AddOne, BLOCKING, Hold, Trouble};
use crate::common::{buffer, down, up};
use crate::standin::{Mode, device, endless, session};
use windlass::{Device, DeviceBuffer, Error, PendingDispatch};

const TROUBLES: [(Option<Trouble>, Option<Trouble>); 4] = [
    (Some(Trouble::Fails), None),
    (Some(Trouble::Panics), None),
    (None, Some(Trouble::Fails)),
    (None, Some(Trouble::Panics)),
];

/// One that stands, and then fails.
fn failing(
    device: &Device,
    x: DeviceBuffer<f32>,
    (before, after): (Option<Trouble>, Option<Trouble>),
) -> (PendingDispatch<DeviceBuffer<f32>>, Hold) {
    let (op, hold) = AddOne::<BLOCKING>::held();
    (device.dispatch(AddOne { before, after, ..op }, (), (x,)).unwrap(), hold)
}

fn is_as_wanted(error: &Error) -> bool {
    matches!(error, Error::Unsupported { .. } | Error::Panicked { .. })
}

#[test]
fn a_failure_flows_along_data_and_what_overwrites_heals() {
    let driver = session();
    for trouble in TROUBLES {
        driver.reset();
        let device = device(2);
        let [x, y, z] = [1.0f32, 10.0, 100.0].map(|value| up(&device, [value; 4]));
        let (pending, hold) = failing(&device, x, trouble);
        let (x, verdict) = pending.into_parts();
        let reader = buffer(device.blas().axpy(1.0, &x.0, y)).unwrap();
        let updated = buffer(device.blas().scal(2.0, x.0)).unwrap();
        hold.go_on();
        assert!(is_as_wanted(&verdict.await_result().unwrap_err()));
        let reader = reader.await_result().unwrap_err();
        assert!(matches!(reader.error, Error::Upstream { .. }), "{reader:?}");
        let updated = updated.await_result().unwrap_err();
        assert!(matches!(updated.error, Error::Upstream { .. }), "{updated:?}");
        let (x, y) = (updated.back.unwrap().0, reader.back.unwrap().0);
        // Known by now: told at the submission, and the buffers come back.
        let refused = buffer(device.blas().axpy(1.0, &x, z)).unwrap_err();
        assert!(matches!(refused.error, Error::Upstream { .. }), "{refused:?}");
        let z = refused.back.unwrap().0;
        assert!(matches!(device.download(&y).unwrap_err(), Error::Upstream { .. }));
        let x = device.copy(&z, x).unwrap().into_output();
        let y = device.fill(y, 5.0).unwrap().into_output();
        assert_eq!((down(&device, &x), down(&device, &y)), (vec![100.0; 4], vec![5.0; 4]));
        assert_eq!(device.health().generation, 0);
        drop((x, y, z, device));
        driver.assert_finished();
    }
}

/// A reader that came to nothing, for another of its operands, is no writer of what it was to read: not for late work that
/// writes that afterwards either.
#[test]
fn what_failed_and_was_only_to_read_leaves_the_data_as_it_is() {
    let driver = session();
    for trouble in TROUBLES {
        driver.reset();
        let device = device(2);
        let (x, y) = (up(&device, [1.0f32; 4]), up(&device, [10.0f32; 4]));
        let (y, hold) = failing(&device, y, trouble);
        let reader = device.blas().axpy(1.0, &x, y.into_output()).unwrap();
        hold.go_on();
        let failed = reader.await_result().unwrap_err();
        assert!(matches!(failed.error, Error::Upstream { .. }), "{failed:?}");
        device.synchronize(crate::common::LONG).unwrap(); // known to be over, all of it
        let x = device.dispatch(AddOne::<BLOCKING>::default(), (), (x,)).unwrap().await_result().unwrap();
        let x = device.blas().scal(3.0, x).expect("it holds what it should").into_buffer();
        assert_eq!(down(&device, &x), [6.0; 4]);
        drop((x, failed, device));
        driver.assert_finished();
    }
}

/// It stands in the buffer in place of what it was to follow.
#[test]
fn what_enqueued_nothing_hands_on_the_ends_of_all_that_it_was_to_follow() {
    let driver = session();
    for trouble in TROUBLES {
        driver.reset();
        let device = device(3);
        let source = up(&device, [1.0f32; 4]);
        let x = up(&device, [2.0f32; 4]);
        device.synchronize(crate::common::LONG).unwrap();
        driver.mode(Mode::Manual);
        let x = device.blas().axpy(1.0, &source, x).unwrap().into_buffer(); // not yet over when the failure is known
        let (pending, hold) = failing(&device, x, trouble);
        hold.go_on();
        if trouble.1.is_some() {
            driver.mode(Mode::Auto); // what it did enqueue is waited for
        }
        let failed = pending.await_result().unwrap_err();
        assert!(is_as_wanted(&failed.error), "{failed:?}");
        // Comes behind the first: else the first writes over it.
        let x = device.fill(failed.back.unwrap().0, 7.0).unwrap();
        let mut steps = 0;
        while !x.is_ready() && steps < 1000 {
            driver.step(1);
            steps += 1;
        }
        driver.mode(Mode::Auto);
        assert_eq!(down(&device, &x.await_result().unwrap()), [7.0; 4]);
        drop((source, device));
        driver.assert_finished();
    }
}

/// Its data is none of theirs.
#[test]
fn a_failed_reader_is_nothing_to_the_next_writer() {
    let driver = session();
    let device = device(2);
    let (x, y) = (up(&device, [1.0f32; 4]), up(&device, [1.0f32; 4]));
    let (pending, hold) = failing(&device, y, TROUBLES[0]);
    let (y, verdict) = pending.into_parts();
    let reads_both = device.blas().axpy(1.0, &x, y.0).unwrap();
    let x = device.blas().scal(3.0, x).unwrap(); // behind a reader that will fail
    hold.go_on();
    assert_eq!(down(&device, &x.await_result().unwrap()), [3.0; 4]);
    assert!(matches!(reads_both.await_result().unwrap_err().error, Error::Upstream { .. }));
    assert!(verdict.await_result().is_err());
    drop(device);
    driver.assert_finished();
}

#[test]
fn a_window_that_is_overwritten_leaves_the_rest_failed() {
    let driver = session();
    let device = device(2);
    let (pending, hold) = failing(&device, up(&device, [1.0f32; 8]), TROUBLES[0]);
    let (x, verdict) = pending.into_parts();
    let x = device.fill(x.0.narrow(0..4).unwrap(), 2.0).unwrap();
    hold.go_on();
    assert!(verdict.await_result().is_err());
    let x = match x.await_result() {
        Ok(x) => x,
        Err(rejected) => rejected.back.unwrap().0,
    };
    let x = x.into_buffer().widen();
    assert!(matches!(device.download(&x).unwrap_err(), Error::Upstream { .. }));
    // In parts and joined again, it has failed as a whole.
    let (left, right) = x.split_at(4).unwrap();
    let left = device.fill(left, 1.0).unwrap().into_output();
    assert_eq!(down(&device, &left), [1.0; 4]);
    let x = left.into_buffer().join(right).unwrap();
    assert!(matches!(device.download(&x).unwrap_err(), Error::Upstream { .. }));
    let x = device.fill(x, 3.0).unwrap().into_output();
    assert_eq!(down(&device, &x), [3.0; 8]);
    drop((x, device));
    driver.assert_finished();
}

/// Also behind work of the device that never ends.
#[test]
fn a_late_operation_behind_an_endless_kernel_is_enqueued_and_not_waited_for() {
    let driver = session();
    let device = device(2);
    driver.mode(Mode::Auto);
    let x = endless(&device).into_output();
    let (op, hold) = AddOne::<BLOCKING>::held();
    let late = device.dispatch(op, (), (x,)).unwrap();
    hold.go_on();
    let (x, verdict) = late.into_parts();
    let last = device.blas().scal(2.0, x.0).unwrap();
    assert!(!verdict.is_ready() && !last.is_ready());
    driver.release();
    assert_eq!(down(&device, &last.await_result().unwrap()), [2.0; 4]);
    verdict.await_result().unwrap();
    drop(device);
    driver.assert_finished();
}
