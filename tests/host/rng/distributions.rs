//! Each distribution of each generator: its range, its moments, its distribution function.

use super::statistics::{assert_counts, assert_distribution, assert_moments, ln_factorials, normal};
use super::{GENERATORS, drawn, having};
use crate::common::{assert_same_bits, down};
use std::ops::Bound;
use windlass::rng::{
    Bernoulli, Between, Binomial, Distribution, Exponential, Generator, LogNormal, Normal, Poisson, Random, Stream,
    Uniform,
};
use windlass::{bf16, f16};

/// Numbers of a test.
const N: usize = 60_000;

/// The same bits on every device, as f64.
fn same<T: Random>(stream: &Stream, of: impl Distribution<T>, n: usize) -> Vec<T> {
    let mut first: Option<Vec<T>> = None;
    for device in having(stream) {
        let now = drawn::<T>(&device, stream, of, n);
        if let Some(first) = &first {
            assert_same_bits(&now, first, &format!("{device:?} {stream:?}"));
        }
        first.get_or_insert(now);
    }
    first.unwrap()
}

fn floats<T: Random + Into<f64>>(stream: &Stream, of: impl Distribution<T>, n: usize) -> Vec<f64> {
    same(stream, of, n).into_iter().map(Into::into).collect()
}

fn streams() -> impl Iterator<Item = (Stream, usize)> {
    GENERATORS.into_iter().map(|(generator, n)| (Stream::new(generator, 20_261_123), n.min(N)))
}

#[test]
fn uniform_numbers_are_uniform() {
    for (stream, n) in streams() {
        let cdf = |x: f64| x.clamp(0.0, 1.0);
        for (ends, what) in [(Uniform::above_zero(), "above_zero"), (Uniform::below_one(), "below_one")] {
            let [single, double] = [floats::<f32>(&stream, ends, n), floats::<f64>(&stream, ends, n)];
            for x in [&single, &double] {
                assert_distribution(x, cdf, &format!("{stream:?} {what}"));
                assert_moments(x, 0.5, 1.0 / 12.0, 1.8, what);
                let inside = |x: &f64| if what == "below_one" { (0.0..1.0).contains(x) } else { *x > 0.0 && *x <= 1.0 };
                assert!(x.iter().all(inside), "{what}");
            }
        }
    }
}

#[test]
fn halves_are_multiples_of_what_they_hold() {
    let stream = Stream::new(Generator::Philox, 4);
    for lower in [false, true] {
        let ends = if lower { Uniform::below_one() } else { Uniform::above_zero() };
        let halves: Vec<f64> = floats::<f16>(&stream, ends, N);
        let briefs: Vec<f64> = floats::<bf16>(&stream, ends, N);
        for (x, bits) in [(halves, 11), (briefs, 8)] {
            let classes = 1usize << bits;
            let mut counts = vec![0; classes];
            for x in x {
                let k = x * classes as f64;
                assert_eq!(k.fract(), 0.0);
                counts[k as usize - usize::from(!lower)] += 1;
            }
            assert_counts(&counts, |_| 1.0 / classes as f64, &format!("{bits} bits"));
        }
    }
}

#[test]
fn normal_numbers_are_normal() {
    for (stream, n) in streams() {
        let ways = [Normal::new(3.0, 0.5), Normal::new(3.0, 0.5).by_quantile()];
        for (way, of) in ways.into_iter().enumerate() {
            for x in [floats::<f32>(&stream, of, n), floats::<f64>(&stream, of, n)] {
                assert_distribution(&x, |x| normal((x - 3.0) / 0.5), &format!("{stream:?} {way}"));
                assert_moments(&x, 3.0, 0.25, 3.0, &format!("{stream:?} {way}"));
            }
        }
        let log = floats::<f64>(&stream, LogNormal::new(1.0, 0.75), n);
        assert_distribution(&log, |x| normal((x.ln() - 1.0) / 0.75), &format!("{stream:?} log"));
        let log = floats::<f32>(&stream, LogNormal::new(1.0, 0.75), n);
        assert_distribution(&log, |x| normal((x.ln() - 1.0) / 0.75), &format!("{stream:?} log"));
    }
}

#[test]
fn tails_of_normal_numbers_are_as_long_as_they_should_be() {
    let x = floats::<f32>(&Stream::new(Generator::Philox, 6), Normal::standard(), 1 << 21);
    for (bound, probability) in [(3.0, 2.699_796e-3), (4.0, 6.334_248e-5), (5.0, 5.733_03e-7)] {
        let expected = x.len() as f64 * probability;
        let count = x.iter().filter(|x| x.abs() > bound).count() as f64;
        assert!((count - expected).abs() < 5.0 * expected.sqrt() + 3.0, "{count} past {bound}, {expected} expected");
    }
}

#[test]
fn quantiles_and_pairs_agree_with_the_library_within_their_bounds() {
    let stream = Stream::new(Generator::Philox, 8);
    let u = floats::<f64>(&stream, Uniform::above_zero(), 1000);
    let x = floats::<f64>(&stream, Normal::standard().by_quantile(), 1000);
    for (u, x) in u.iter().zip(&x) {
        assert!((normal(*x) - u).abs() < 3e-7, "{u} {x}");
    }
    // Of the same words, with the C library's functions.
    let device = windlass::Device::host().unwrap();
    let ours = drawn::<f64>(&device, &stream, Normal::standard(), 100_000);
    let theirs = drawn::<f64>(&device, &stream, Normal::standard().curand(), 100_000);
    let far = ours.iter().zip(&theirs).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
    assert!(far < 4e-15, "{far}");
    let ours = drawn::<f32>(&device, &stream, Normal::standard(), 100_000);
    let theirs = drawn::<f32>(&device, &stream, Normal::standard().curand(), 100_000);
    let far = ours.iter().zip(&theirs).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max);
    assert!(far < 3e-6, "{far}");
}

#[test]
fn exponential_numbers_are_exponential() {
    for (stream, n) in streams() {
        for x in [floats::<f32>(&stream, Exponential::new(4.0), n), floats::<f64>(&stream, Exponential::new(4.0), n)] {
            assert!(x.iter().all(|x| *x >= 0.0));
            assert_distribution(&x, |x| 1.0 - (-x / 4.0).exp(), &format!("{stream:?}"));
            assert_moments(&x, 4.0, 16.0, 9.0, "exponential");
        }
    }
}

#[test]
fn ranges_of_floats_are_filled_and_not_left() {
    for (stream, n) in streams() {
        let x = floats::<f32>(&stream, Between::new(-2.0..6.0), n);
        assert_distribution(&x, |x| ((x + 2.0) / 8.0).clamp(0.0, 1.0), "f32");
        assert!(x.iter().all(|x| (-2.0..6.0).contains(x)));
    }
    // Where rounding would reach the end.
    let stream = Stream::new(Generator::Philox, 1);
    let x = floats::<f32>(&stream, Between::new(1.0f32..1.000_000_2), 1000);
    assert!(x.iter().all(|x| *x >= 1.0 && *x < f64::from(1.000_000_2f32)));
    let x = floats::<f64>(&stream, Between::new(-1.0..-f64::MIN_POSITIVE), 1000);
    assert!(x.iter().all(|x| (-1.0..0.0).contains(x)));
    let x = same::<f16>(&stream, Between::new(f16::from_f32(-1.0)..f16::from_f32(0.0)), 1000);
    assert!(x.iter().all(|x| (-1.0..0.0).contains(&x.to_f64())));
}

#[test]
fn integers_are_without_bias() {
    for (stream, n) in streams() {
        let mut counts = [0; 7];
        same::<i8>(&stream, Between::new(-3..=3), n).iter().for_each(|x| counts[(x + 3) as usize] += 1);
        assert_counts(&counts, |_| 1.0 / 7.0, &format!("{stream:?}"));
        // A span that does not divide 2^64 at all: a third of it is rejected.
        let span = 3u64 << 62;
        let x = same::<u64>(&stream, Between::new(5..5 + span), n);
        assert!(x.iter().all(|x| (5..5 + span).contains(x)));
        let x: Vec<f64> = x.iter().map(|x| (x - 5) as f64 / span as f64).collect();
        assert_distribution(&x, |x| x, &format!("{stream:?} wide"));
    }
    let stream = Stream::new(Generator::Philox, 2);
    assert!(same::<u32>(&stream, Between::new(9..=9), 100).iter().all(|x| *x == 9));
    let all = same::<u8>(&stream, Between::new(..), N);
    let mut counts = [0; 256];
    all.iter().for_each(|x| counts[usize::from(*x)] += 1);
    assert_counts(&counts, |_| 1.0 / 256.0, "all of u8");
    let wide = same::<i64>(&stream, Between::new(..), 1000);
    let negative = wide.iter().filter(|x| **x < 0).count();
    assert!((400..600).contains(&negative), "{negative}");
}

#[test]
fn an_excluded_beginning_is_never_drawn() {
    let stream = Stream::new(Generator::Philox, 2);
    let above = |low, high| Between::new((Bound::Excluded(low), high));
    let x = same::<i32>(&stream, above(1, Bound::Included(3)), N);
    let mut counts = [0; 2];
    x.iter().for_each(|x| counts[*x as usize - 2] += 1);
    assert_counts(&counts, |_| 0.5, "2 and 3");
    assert!(same::<u8>(&stream, Between::new((Bound::Excluded(254), Bound::Unbounded)), 9).iter().all(|x| *x == 255));
    // Two numbers of the range are left.
    let low = -1.0f32;
    let end = low.next_up().next_up().next_up();
    let x = same::<f32>(&stream, Between::new((Bound::Excluded(low), Bound::Excluded(end))), 1000);
    assert!(x.iter().all(|x| *x > low && *x < end));
    let x = same::<f64>(&stream, Between::new((Bound::Excluded(0.0), Bound::Excluded(1e-322))), 1000);
    assert!(x.iter().all(|x| *x > 0.0 && *x < 1e-322));
    let (low, end) = (f16::from_f32(0.0), f16::from_f32(1.0));
    let x = same::<f16>(&stream, Between::new((Bound::Excluded(low), Bound::Excluded(end))), N);
    assert!(x.iter().all(|x| *x > low && *x < end));
}

#[test]
fn of_mean_zero_all_numbers_are_zero_and_none_is_minus_zero() {
    for (stream, n) in streams() {
        assert!(same::<u32>(&stream, Poisson::new(0.0), n.min(1000)).iter().all(|x| *x == 0));
        let zero = |x: &[f64]| x.iter().all(|x| x.to_bits() == 0);
        assert!(zero(&floats::<f32>(&stream, Exponential::new(0.0), n.min(1000))));
        assert!(zero(&floats::<f64>(&stream, Exponential::new(-0.0), n.min(1000))));
    }
    // A word that gives the uniform number 1.
    let (stream, at) = (Stream::new(Generator::Philox, 1), 24_539_888);
    assert_eq!(floats::<f32>(&stream.clone().at(at), Uniform::above_zero(), 1), [1.0]);
    for device in having(&stream) {
        let out = device.rng_of(stream.clone()).fill_from(at, Exponential::new(2.0), device.uninit::<f32>(1).unwrap());
        assert_eq!(down(&device, &out.unwrap().into_output())[0].to_bits(), 0);
    }
}

#[test]
fn bernoulli_numbers_have_their_probability() {
    for (stream, n) in streams() {
        for p in [0.0, 1e-3, 0.25, 0.999, 1.0] {
            let x = same::<u8>(&stream, Bernoulli::new(p), n);
            assert!(x.iter().all(|x| *x <= 1));
            let ones = x.iter().filter(|x| **x == 1).count() as f64;
            let (mean, spread) = (n as f64 * p, (n as f64 * p * (1.0 - p)).sqrt());
            assert!((ones - mean).abs() <= 5.0 * spread, "{stream:?}: {ones} instead of {mean}");
        }
    }
}

#[test]
fn poisson_numbers_are_those_of_their_mean() {
    for (stream, n) in streams() {
        let few = n.min(30_000);
        for lambda in [0.1, 3.0, 9.99, 10.0, 64.0] {
            let x = same::<u32>(&stream, Poisson::new(lambda), few);
            let ln = ln_factorials(300);
            let mut counts = vec![0; 300];
            x.iter().for_each(|x| counts[*x as usize] += 1);
            let probability = |k: usize| (k as f64 * lambda.ln() - lambda - ln[k]).exp();
            assert_counts(&counts, probability, &format!("{stream:?} {lambda}"));
        }
    }
    let stream = Stream::new(Generator::Philox, 3);
    for lambda in [1e-12, 1999.0, 2001.0, 4e5, f64::from(1 << 30)] {
        let x: Vec<f64> = same::<u32>(&stream, Poisson::new(lambda), N).into_iter().map(f64::from).collect();
        assert_moments(&x, lambda, lambda, 3.0 + 1.0 / lambda, &format!("{lambda}"));
        if lambda > 1000.0 {
            let cdf = |x: f64| normal((x + 0.5 - lambda) / lambda.sqrt());
            let far = x.iter().filter(|x| cdf(**x) < 0.1).count() as f64 / x.len() as f64;
            assert!((far - 0.1).abs() < 0.02, "{lambda}: {far}");
        }
    }
}

#[test]
fn binomial_numbers_are_those_of_their_trials() {
    for (stream, n) in streams() {
        let few = n.min(30_000);
        for (trials, p) in [(1, 0.3), (20, 0.5), (100, 0.02), (100, 0.98), (300, 0.4), (500, 0.9)] {
            let x = same::<u32>(&stream, Binomial::new(trials, p), few);
            let ln = ln_factorials(trials as usize);
            let mut counts = vec![0; trials as usize + 1];
            x.iter().for_each(|x| counts[*x as usize] += 1);
            let probability = |k: usize| {
                let n = trials as usize;
                (ln[n] - ln[k] - ln[n - k] + k as f64 * p.ln() + (n - k) as f64 * (1.0 - p).ln()).exp()
            };
            assert_counts(&counts, probability, &format!("{stream:?} {trials} {p}"));
        }
    }
    let stream = Stream::new(Generator::Philox, 3);
    for (trials, p) in [(0, 0.5), (7, 0.0), (7, 1.0), (u32::MAX, 0.0), (u32::MAX, 1.0)] {
        let sure = if p == 1.0 { trials } else { 0 };
        assert!(same::<u32>(&stream, Binomial::new(trials, p), 100).iter().all(|x| *x == sure));
    }
    for (trials, p) in [(u32::MAX, 0.5), (u32::MAX, 1e-9), (1 << 20, 0.001)] {
        let x: Vec<f64> = same::<u32>(&stream, Binomial::new(trials, p), N).into_iter().map(f64::from).collect();
        let (mean, variance) = (f64::from(trials) * p, f64::from(trials) * p * (1.0 - p));
        assert_moments(&x, mean, variance, 3.0 + 1.0 / variance, &format!("{trials} {p}"));
    }
}

#[test]
fn permutations_have_every_number_once_and_no_favourites() {
    for (generator, _) in GENERATORS {
        let stream = Stream::new(generator, 12);
        for device in having(&stream) {
            let mut rng = device.rng_of(stream.clone());
            let sizes: &[usize] =
                if generator == Generator::Philox { &[1, 2, 3, 100, 4096, 4097, 65_536, 100_003] } else { &[3] };
            for n in sizes {
                let mut x = down(&device, &rng.permutation(*n).unwrap().into_output());
                x.sort_unstable();
                assert!(x.iter().enumerate().all(|(i, x)| i == *x as usize), "{n}");
            }
        }
    }
    let device = windlass::Device::host().unwrap();
    let mut rng = device.rng(5);
    let mut counts = [0u64; 24];
    for _ in 0..4800 {
        let x = down(&device, &rng.permutation(4).unwrap().into_output());
        let rank = |i: usize| x[i + 1..].iter().filter(|y| **y < x[i]).count();
        counts[rank(0) * 6 + rank(1) * 2 + rank(2)] += 1;
    }
    assert_counts(&counts, |_| 1.0 / 24.0, "orders of four");
    // Where a number goes, and where its neighbour goes then.
    let (n, cells) = (5000, 50);
    let (mut first, mut next) = (vec![0u64; cells], vec![0u64; cells]);
    for _ in 0..4000 {
        let x = down(&device, &rng.choice(n, 2).unwrap().into_output());
        first[x[0] as usize * cells / n as usize] += 1;
        next[((x[1] + n as u32 - x[0]) % n as u32) as usize * cells / n as usize] += 1;
    }
    assert_counts(&first, |_| 1.0 / cells as f64, "first places");
    assert_counts(&next, |_| 1.0 / cells as f64, "neighbours");
}

#[test]
fn choices_are_different_and_begin_a_permutation() {
    let stream = Stream::new(Generator::Philox, 12);
    for device in having(&stream) {
        for n in [10u64, 4096, 1 << 20, 1 << 32] {
            let count = n.min(1000) as usize;
            let x = down(&device, &device.rng(3).choice(n, count).unwrap().into_output());
            let different: std::collections::HashSet<_> = x.iter().collect();
            assert_eq!(different.len(), count);
            assert!(x.iter().all(|x| u64::from(*x) < n));
            let half = down(&device, &device.rng(3).choice(n, count / 2).unwrap().into_output());
            assert_eq!(half, x[..count / 2]);
        }
    }
}

#[test]
fn a_sequence_fills_space_evenly() {
    // Every dyadic box of 2^-10 by 2^-2 in two dimensions holds one of 4096 points.
    let n = 4096;
    let x = floats::<f64>(&Stream::sobol(2), Uniform::below_one(), 2 * n);
    let mut boxes = vec![0; n];
    for i in 0..n {
        boxes[(x[i] * 64.0) as usize * 64 + (x[n + i] * 64.0) as usize] += 1;
    }
    assert!(boxes.iter().all(|count| *count == 1));
    for generator in [Generator::Sobol32, Generator::Sobol64] {
        let stream = Stream::new(generator, 0).dimensions(2).at(1);
        let x = floats::<f32>(&stream, Normal::standard(), 2 * 4095);
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        assert!(mean.abs() < 0.002, "{mean}");
        assert_distribution(&x, normal, "normal");
        let x = floats::<f64>(&stream, Exponential::new(1.0), 2 * 4095);
        assert_distribution(&x, |x| 1.0 - (-x).exp(), "exponential");
    }
}
