//! Tests of distributions, at levels that a right one fails once in more than a million seeds; the seeds are fixed.

/// `sup |F_n - F| sqrt(n)` is below this with probability 1 - 2e-6 (Kolmogorov).
const KOLMOGOROV: f64 = 2.63;

/// The numbers have this distribution function.
#[track_caller]
pub(super) fn assert_distribution(x: &[f64], cdf: impl Fn(f64) -> f64, what: &str) {
    let mut x = x.to_vec();
    x.sort_by(f64::total_cmp);
    let n = x.len() as f64;
    let mut worst = 0f64;
    for (i, x) in x.iter().enumerate() {
        let f = cdf(*x);
        worst = worst.max((f - i as f64 / n).abs()).max(((i + 1) as f64 / n - f).abs());
    }
    assert!(worst * n.sqrt() < KOLMOGOROV, "{what}: Kolmogorov-Smirnov {}", worst * n.sqrt());
}

/// The counts are those of these probabilities (chi-square; classes below 10 are put together).
#[track_caller]
pub(super) fn assert_counts(counts: &[u64], probability: impl Fn(usize) -> f64, what: &str) {
    let n: u64 = counts.iter().sum();
    let (mut chi, mut classes) = (0.0, 0u32);
    let (mut few, mut seen, mut all) = (0.0, 0, 0.0);
    let mut add = |expected: f64, count: u64| {
        chi += (count as f64 - expected).powi(2) / expected;
        classes += 1;
    };
    for (i, count) in counts.iter().enumerate() {
        let expected = n as f64 * probability(i);
        all += expected;
        if expected >= 10.0 {
            add(expected, *count);
        } else {
            (few, seen) = (few + expected, seen + count);
        }
    }
    few += (n as f64 - all).max(0.0);
    if few >= 10.0 {
        add(few, seen);
    } else {
        assert!((seen as f64) < few + 6.0 * few.sqrt() + 8.0, "{what}: {seen} rare ones, {few} expected");
    }
    // Wilson and Hilferty's approximation.
    let k = f64::from(classes - 1);
    let z = ((chi / k).cbrt() - (1.0 - 2.0 / (9.0 * k))) / (2.0 / (9.0 * k)).sqrt();
    assert!(z < 5.0, "{what}: chi-square {chi} of {k} degrees, z {z}");
}

/// Mean and variance are these, within five deviations; `fourth` is the fourth central moment over the variance squared.
#[track_caller]
pub(super) fn assert_moments(x: &[f64], mean: f64, variance: f64, fourth: f64, what: &str) {
    let n = x.len() as f64;
    let m = x.iter().sum::<f64>() / n;
    assert!((m - mean).abs() < 5.0 * (variance / n).sqrt(), "{what}: mean {m} instead of {mean}");
    let v = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    let spread = variance * ((fourth - 1.0).max(0.0) / n).sqrt();
    assert!((v - variance).abs() < 5.0 * spread + 1e-12, "{what}: variance {v} instead of {variance}");
}

/// The distribution function of standard normal numbers, to 1e-7 (Abramowitz and Stegun 7.1.26).
pub(super) fn normal(x: f64) -> f64 {
    let z = x.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let p = ((((1.061_405_429 * t - 1.453_152_027) * t + 1.421_413_741) * t - 0.284_496_736) * t + 0.254_829_592) * t;
    let upper = 0.5 * p * (-z * z).exp();
    if x > 0.0 { 1.0 - upper } else { upper }
}

/// The logarithms of the factorials up to `n`.
pub(super) fn ln_factorials(n: usize) -> Vec<f64> {
    let mut all = vec![0.0];
    for k in 1..=n {
        all.push(all[k - 1] + (k as f64).ln());
    }
    all
}
