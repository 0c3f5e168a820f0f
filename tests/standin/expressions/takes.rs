//! Slices by number: the text of the kernels, with one unit a thread and with several, and what it says of an index out of range.

use crate::common::{assert_back_at, holdings};
use crate::standin::{device, session};
use windlass::Device;

#[test]
fn slices_are_those_of_the_host() {
    let driver = session();
    let devices = [device(2), Device::host().unwrap()];
    let base = holdings(&devices[0]);
    let mut state = 3u64;
    let mut next = move |below: usize| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 33) as usize % below
    };
    // With the last numbers a thread has four units, and the last of them not all.
    for (rows, width, count) in
        [(5, 1, 0), (5, 1, 1), (5, 3, 2), (7, 8, 100), (64, 7, 1000), (1000, 4, 270_001), (40, 1, 300_000)]
    {
        let x: Vec<f32> = (0..rows * width).map(|k| k as f32).collect();
        let indices: Vec<i32> = (0..count).map(|_| next(2 * rows) as i32 - rows as i32).collect();
        let [gpu, host] = devices.each_ref().map(|device| {
            let (x, at) = (device.tensor([rows, width], &x).unwrap(), device.tensor([count], &indices).unwrap());
            let y = device.take(&x, &at, 0).unwrap().await_result().unwrap();
            device.download(&y).unwrap().await_result().unwrap()
        });
        assert!(gpu == host, "{count} of {rows} rows of {width}");
    }
    // The first one that is out of range, among as many as have several units a thread.
    for (count, bad) in [(1, vec![0]), (3, vec![1, 2]), (300_000, vec![299_999, 70_001]), (300_000, vec![0, 5])] {
        let [gpu, host] = devices.each_ref().map(|device| {
            let mut indices = vec![1i64; count];
            bad.iter().for_each(|at| indices[*at] = if at % 2 == 0 { 4 } else { -5 });
            let (x, at) = (device.tensor([4], [1.0f32; 4]).unwrap(), device.tensor([count], indices).unwrap());
            device.take(&x, &at, 0).unwrap().await_result().unwrap_err().to_string()
        });
        let place = format!("number {} of them", bad.iter().min().unwrap());
        assert!(gpu.contains(&place) && host.contains(&place), "{gpu}, {host}");
    }
    assert_back_at(&devices[0], base);
    drop(devices);
    driver.assert_finished();
}
