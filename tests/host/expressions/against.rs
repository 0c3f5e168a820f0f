//! Random expressions over random views against the evaluator from the definition, bit for bit, on every device under test.
//!
//! `WINDLASS_TEST_EXPRESSIONS=100000` sets how many; a failure prints its seed, with which `WINDLASS_TEST_SEED` begins.

use super::compare::compare;
use super::functions::Functions;
use super::random::Random;
use crate::common::devices;

fn count(default: u64) -> u64 {
    std::env::var("WINDLASS_TEST_EXPRESSIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

#[test]
fn random_expressions_equal_their_definition() {
    let (devices, functions) = (devices(), Functions::new());
    let first = std::env::var("WINDLASS_TEST_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    for seed in first..first + count(600) {
        let mut random = Random::new(seed);
        let extents = random.shape();
        let size = 2 + random.below(24);
        let expr = random.expr(size, extents.len(), true);
        compare(&devices, &functions, &expr, &extents, &mut random, seed);
    }
}

#[test]
fn long_expressions_equal_their_definition() {
    let (devices, functions) = (devices(), Functions::new());
    for seed in 0..1 + count(600) / 600 {
        let mut random = Random::new(1 << 40 | seed);
        let expr = random.expr(700, 1, false);
        assert!(expr.nodes().len() > 500);
        compare(&devices, &functions, &expr, &[70], &mut random, seed);
    }
}

/// Rows that begin and end inside of vectors, broadcast ones beside them.
#[test]
fn expressions_over_long_rows_equal_their_definition() {
    let (devices, functions) = (devices(), Functions::new());
    let shapes: [&[usize]; 8] =
        [&[3, 127], &[3, 128], &[2, 130], &[3, 192], &[2, 1024], &[2, 1087], &[2, 2, 1025], &[70, 128]];
    for seed in 0..count(600) / 10 {
        let mut random = Random::new(1 << 41 | seed);
        let extents = random.pick(&shapes);
        let size = 2 + random.below(12);
        let expr = random.expr(size, extents.len(), true);
        compare(&devices, &functions, &expr, extents, &mut random, seed);
    }
}
