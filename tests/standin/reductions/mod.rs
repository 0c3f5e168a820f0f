//! Reductions on the CUDA engine: the stand-in runs the text of the kernels, both ways through a group, and the bits are those of the
//! definition and of the host.

#[path = "../../host/reductions/cases.rs"]
mod cases;
#[path = "../../host/reductions/ends.rs"]
mod ends;
mod folds;
#[path = "../../host/reductions/oracle.rs"]
mod oracle;
#[path = "../../host/reductions/scans.rs"]
mod scans;

use crate::common::{assert_back_at, holdings};
use crate::standin::{device, session};
use std::sync::atomic::Ordering;
use windlass::Device;
use windlass::reductions::THREADS_FROM;

#[test]
fn the_text_of_random_reductions_computes_what_they_say() {
    let driver = session();
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let (count, first) = (number("WINDLASS_TEST_REDUCTIONS").unwrap_or(400), number("WINDLASS_TEST_SEED").unwrap_or(0));
    let devices = [device(2), Device::host().unwrap()];
    let base = holdings(&devices[0]);
    // Few groups would all be given to warps.
    for threads in [0, usize::MAX] {
        THREADS_FROM.store(threads, Ordering::Relaxed);
        for seed in first..first + count / 2 {
            cases::run(&devices, seed, if seed.is_multiple_of(8) { 75_000 } else { 6_000 });
        }
    }
    assert_back_at(&devices[0], base);
    assert!(driver.ran_by_text() >= count / 2);
    drop(devices);
    driver.assert_finished();
}

#[test]
fn the_text_of_random_scans_computes_what_they_say() {
    let driver = session();
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let (count, first) = (number("WINDLASS_TEST_REDUCTIONS").unwrap_or(400), number("WINDLASS_TEST_SEED").unwrap_or(0));
    let devices = [device(2), Device::host().unwrap()];
    let base = holdings(&devices[0]);
    for seed in first..first + count {
        scans::run(&devices, seed, if seed.is_multiple_of(8) { 75_000 } else { 6_000 });
    }
    scans::complex(&devices);
    scans::side_by_side(&devices, 10_000);
    scans::neighbours(&devices, 40_000);
    assert_back_at(&devices[0], base);
    assert!(driver.ran_by_text() >= count / 2);
    drop(devices);
    driver.assert_finished();
}

#[test]
fn the_text_of_kernels_treats_infinities_and_ends_of_exponents_as_the_host_does() {
    let driver = session();
    let devices = [device(2)];
    let base = holdings(&devices[0]);
    for threads in [0, usize::MAX] {
        THREADS_FROM.store(threads, Ordering::Relaxed);
        ends::exponentials(&devices);
        ends::extremes_are_elements(&devices);
    }
    ends::quantiles(&devices);
    ends::counts(&devices);
    assert_back_at(&devices[0], base);
    assert!(driver.ran_by_text() > 100);
    drop(devices);
    driver.assert_finished();
}

#[test]
fn counts_of_no_elements_are_written() {
    let driver = session();
    let device = device(1);
    let none = device.tensor([0], [0i32; 0]).unwrap();
    let counts = device.bincount(&none, 3).unwrap().await_result().unwrap();
    assert_eq!(device.to_vec(counts.view()).unwrap(), [0; 3]);
    drop((none, counts, device));
    driver.assert_finished();
}
