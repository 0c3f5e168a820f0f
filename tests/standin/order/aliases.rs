//! Work on two parts of one buffer, submitted through aliases by two threads at once.

use crate::common::up;
use crate::standin::{Launch, Mode, session};
use std::time::Duration;
use windlass::{Device, DeviceBuffer};

/// Adds one to the left half; between its look at the buffer and its end, `meanwhile` is done with the right half.
/// Gives the whole, while nothing has run.
fn beside<R>(
    device: &Device,
    whole: DeviceBuffer<f32>,
    meanwhile: impl FnOnce(DeviceBuffer<f32>) -> R,
) -> (DeviceBuffer<f32>, R) {
    // SAFETY: the two halves are apart, and whoever uses both comes after both.
    let alias = unsafe { whole.alias() };
    let (op, hold) = Launch::held(c"add_one_f32");
    std::thread::scope(|scope| {
        let left = whole.narrow(0..4).unwrap();
        let left = scope.spawn(move || device.dispatch(op, (), (left,)).unwrap().into_output());
        hold.await_arrival();
        let done = meanwhile(alias.narrow(4..8).unwrap());
        hold.go_on(true);
        (left.join().unwrap().widen(), done)
    })
}

fn device() -> (Device, DeviceBuffer<f32>) {
    let device = Device::builder().cuda(0).slots(2).open().unwrap();
    let whole = up(&device, vec![1.0f32; 8]);
    device.synchronize(Duration::from_secs(60)).unwrap();
    (device, whole)
}

#[test]
fn who_reads_the_whole_follows_the_writers_of_both_parts() {
    // Also where the alias is gone when the one that looked first has come to its end.
    for keep in [true, false] {
        let driver = session();
        let (device, whole) = device();
        driver.mode(Mode::Manual);
        let (whole, alias) = beside(&device, whole, |right| {
            let right = device.fill(right, 5.0).unwrap().into_output();
            keep.then_some(right)
        });
        let read = device.download(&whole).unwrap();
        driver.mode(Mode::Auto);
        assert_eq!(read.await_result().unwrap(), [2.0, 2.0, 2.0, 2.0, 5.0, 5.0, 5.0, 5.0]);
        drop((whole, alias, device));
        driver.assert_finished();
    }
}

#[test]
fn who_writes_the_whole_follows_the_readers_of_a_part() {
    for keep in [true, false] {
        let driver = session();
        let (device, whole) = device();
        driver.mode(Mode::Manual);
        let (whole, (read, alias)) = beside(&device, whole, |right| {
            let read = device.download(&right).unwrap();
            (read, keep.then_some(right))
        });
        let whole = device.fill(whole, 9.0).unwrap().into_output();
        driver.mode(Mode::Auto);
        let after = device.download(&whole).unwrap();
        assert_eq!((after.await_result().unwrap(), read.await_result().unwrap()), (vec![9.0; 8], vec![1.0; 4]));
        drop((whole, alias, device));
        driver.assert_finished();
    }
}

/// The memory goes back behind both.
#[test]
fn memory_of_two_owners_is_not_had_again_before_the_work_of_both() {
    let driver = session();
    let (device, whole) = device();
    driver.mode(Mode::Manual);
    let (whole, ()) = beside(&device, whole, |right| drop(device.fill(right, 5.0).unwrap()));
    drop(whole);
    let again: Vec<_> = (0..3).map(|_| device.zeros::<f32>(8).unwrap()).collect();
    driver.mode(Mode::Auto);
    for zeros in &again {
        assert_eq!(crate::common::down(&device, zeros), [0.0; 8]);
    }
    drop((again, device));
    driver.assert_finished();
}
