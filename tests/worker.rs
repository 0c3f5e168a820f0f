//! Devices in a child process: the same answers, and what is left when the child is lost.
#![cfg(all(feature = "host", target_os = "linux"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod common;

use common::{down, host, up};
use windlass::Gemm;

#[test]
fn smoke() {
    let device = host(2).isolated().open().unwrap();
    println!("{device:?} {:?}", device.worker_pid());
    let x = up(&device, [1.0f64, 2.0, 3.0]);
    assert_eq!(down(&device, &x), [1.0, 2.0, 3.0]);
    assert_eq!(device.blas().dot(&x, &x).unwrap().await_result().unwrap(), 14.0);
    let a = up(&device, [1.0f32, 3.0, 2.0, 4.0]);
    let c = device.blas().gemm(Gemm::new(2, 2, 2), &a, &a, device.uninit(4).unwrap()).unwrap().into_output();
    assert_eq!(down(&device, &c), [7.0, 15.0, 10.0, 22.0]);
    println!("{:?}", device.stats());
}
