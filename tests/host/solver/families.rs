//! Matrices of seeded numbers that `lapack.py` makes as well, to the last bit.

use super::check::Dense;

/// One matrix of each family.
pub fn family(n: usize, seed: u64) -> Vec<(&'static str, Dense)> {
    let mut state = seed * 7919 + n as u64;
    let mut draw = || {
        state = (1_103_515_245 * state + 12_345) % (1 << 31);
        ((state >> 16) % 2001) as f64 / 1024.0 - 1000.0 / 1024.0
    };
    let rows: Vec<f64> = (0..n * n).map(|_| draw()).collect();
    let r = |i: usize, j: usize| rows[i * n + j];
    let power = |exponent: i32| 2f64.powi(exponent);
    let same = |i: usize, j: usize| f64::from(i == j);
    let of = |f: &dyn Fn(usize, usize) -> f64| Dense::real(n, n, f);
    vec![
        ("random", of(&r)),
        ("graded", of(&|i, j| r(i, j) * power(-((i + 2 * j) as i32)))),
        ("nearly singular", of(&|i, j| if i + 1 == n { r(0, j) + r(i, j) * power(-30) } else { r(i, j) })),
        ("triangular", of(&|i, j| if i <= j { r(i, j) } else { 0.0 })),
        ("repeated", of(&|i, j| 2.0 * same(i, j) + r(0, i) * r(0, j))),
        ("clustered", of(&|i, j| same(i, j) + (r(i, j) + r(j, i)) * power(-20))),
        ("near overflow", of(&|i, j| r(i, j) * power(1000))),
        ("near underflow", of(&|i, j| r(i, j) * power(-1000))),
    ]
}
