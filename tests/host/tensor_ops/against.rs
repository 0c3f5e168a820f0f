//! Random expressions against the loops, on every device under test.
//!
//! `WINDLASS_TEST_EINSUM=10000` sets how many; a failure prints its seed, with which `WINDLASS_TEST_SEED` begins.

use super::cases::run;
use crate::common::devices;

#[test]
fn random_expressions_equal_the_loops() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let (devices, first) = (devices(), number("WINDLASS_TEST_SEED").unwrap_or(0));
    for seed in first..first + number("WINDLASS_TEST_EINSUM").unwrap_or(500) {
        run(&devices, seed);
    }
}
