//! Random reductions against their definition, bit for bit, on every device under test.
//!
//! `WINDLASS_TEST_REDUCTIONS=100000` sets how many; a failure prints its seed, with which `WINDLASS_TEST_SEED` begins.

use super::cases::run;
use crate::common::devices;

#[test]
fn random_reductions_equal_their_definition() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let (devices, first) = (devices(), number("WINDLASS_TEST_SEED").unwrap_or(0));
    for seed in first..first + number("WINDLASS_TEST_REDUCTIONS").unwrap_or(400) {
        run(&devices, seed, 80_000);
    }
}

#[test]
fn random_scans_equal_their_definition() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let (devices, first) = (devices(), number("WINDLASS_TEST_SEED").unwrap_or(0));
    for seed in first..first + number("WINDLASS_TEST_REDUCTIONS").unwrap_or(400) {
        super::scans::run(&devices, seed, 80_000);
    }
    super::scans::complex(&devices);
    super::scans::side_by_side(&devices, usize::MAX);
    super::scans::neighbours(&devices, usize::MAX);
}
