//! Choices by weights, multinomial counts, and random orders, against exact distributions.

use super::statistics::{assert_counts, assert_moments, ln_factorials};
use crate::common::{devices, refused};
use windlass::rng::{Generator, Stream};
use windlass::{Device, Element, Error, Tensor};

fn all<T: Element>(device: &Device, x: &Tensor<T>) -> Vec<T> {
    device.download(x).unwrap().await_result().unwrap()
}

fn counts(drawn: &[u32], n: usize) -> Vec<u64> {
    let mut counts = vec![0; n];
    drawn.iter().for_each(|i| counts[*i as usize] += 1);
    counts
}

fn weights(kind: usize) -> Vec<f64> {
    match kind {
        0 => vec![3.0],
        1 => vec![0.0, 1.0],
        2 => vec![1.0, 0.0],
        3 => vec![0.0, 0.0, 2.0, 0.0, 0.0],
        4 => vec![1.0, 2.0, 3.0, 4.0],
        5 => vec![0.0, 1e-300, 2e-300, 0.0, 1e-300, 0.0],
        8 => vec![5e-324, 5e-324],
        9 => vec![5e-324, 0.0, 1.5e-323, 1e-323],
        10 => vec![2e-308, 5e-324, 3e-308],
        6 => vec![1e300, 3e300, 1e-300],
        _ => (0..97).map(|i| f64::from(i % 7)).collect(),
    }
}

#[test]
fn choices_have_the_frequencies_of_their_weights() {
    for device in devices() {
        for kind in 0..11 {
            let weights = weights(kind);
            let sum: f64 = weights.iter().sum();
            let of = device.tensor([weights.len()], weights.clone()).unwrap();
            let drawn = all(&device, &device.rng(7).weighted_choice(&of, 30_000).unwrap());
            assert!(drawn.iter().all(|i| weights[*i as usize] > 0.0), "a weight of zero is never drawn");
            let counts = counts(&drawn, weights.len());
            if weights.iter().filter(|w| **w > 1e-200 * sum).count() > 1 {
                assert_counts(&counts, |i| weights[i] / sum, &format!("weights {kind}"));
            }
        }
        let of = device.tensor([2], [1.0, 1.0]).unwrap();
        assert_eq!(device.rng(7).weighted_choice(&of, 0).unwrap().shape(), [0]);
        assert_eq!(device.rng(7).weighted_sample(&of, 0).unwrap().shape(), [0]);
    }
}

#[test]
fn every_device_chooses_the_same() {
    let devices = devices();
    let drawn = |device: &Device| {
        let of = device.tensor([97], weights(7)).unwrap();
        let mut rng = device.rng(5);
        let with = all(device, &rng.weighted_choice(&of, 1000).unwrap());
        let without = all(device, &rng.weighted_sample(&of, 40).unwrap());
        let counted = all(device, &rng.multinomial(1000, &of, 20).unwrap());
        (with, without, counted, rng.stream().clone())
    };
    let first = drawn(&devices[0]);
    assert!(devices.iter().skip(1).all(|device| drawn(device) == first));
}

#[test]
fn samples_without_replacement_come_in_their_exact_order_of_probabilities() {
    let device = Device::host().unwrap();
    let weights = [1.0, 2.0, 0.0, 4.0];
    let of = device.tensor([4], weights).unwrap();
    let (mut pairs, mut rng) = (vec![0u64; 16], device.rng(21));
    for _ in 0..1500 {
        let drawn = all(&device, &rng.weighted_sample(&of, 3).unwrap());
        assert!(drawn[0] != drawn[1] && drawn[1] != drawn[2] && drawn[0] != drawn[2] && !drawn.contains(&2));
        pairs[(4 * drawn[0] + drawn[1]) as usize] += 1;
    }
    let probability = |pair: usize| {
        let (first, second) = (weights[pair / 4], weights[pair % 4]);
        if pair / 4 == pair % 4 { 0.0 } else { first / 7.0 * second / (7.0 - first) }
    };
    assert_counts(&pairs, probability, "the first two of three");
}

#[test]
fn the_order_of_a_sample_is_that_of_weights_at_the_ends_of_exponents() {
    let device = Device::host().unwrap();
    // The time of a small one is beyond `f64`.
    for weights in [[5e-324, 5e-324, 1.0], [5e-324, 5e-324, 1.5e-323], [1e-310, 1e-310, 1e308]] {
        let of = device.tensor([3], weights).unwrap();
        let (mut firsts, mut rng) = (vec![0u64; 3], device.rng(5));
        for _ in 0..1500 {
            let drawn = all(&device, &rng.weighted_sample(&of, 3).unwrap());
            let (one, other) = (drawn.iter().position(|i| *i == 0), drawn.iter().position(|i| *i == 1));
            firsts[usize::from(one > other)] += 1;
            firsts[2] += u64::from(weights[2] > 1e-300 && drawn[0] != 2);
        }
        assert_eq!(firsts.pop(), Some(0), "the large one comes first");
        assert_counts(&firsts, |_| 0.5, &format!("which of two equal ones comes first: {weights:?}"));
    }
}

#[test]
fn multinomial_counts_are_those_of_binomial_ones_and_of_their_covariances() {
    for device in devices() {
        let weights = [1.0, 0.0, 3.0, 4.0];
        let of = device.tensor([4], weights).unwrap();
        let drawn = device.rng(3).multinomial(20, &of, 20_000).unwrap();
        assert_eq!(drawn.shape(), [20_000, 4]);
        let drawn = all(&device, &drawn);
        let column = |j: usize| drawn.iter().skip(j).step_by(4).copied();
        assert!(drawn.chunks(4).all(|row| row.iter().sum::<u32>() == 20) && column(1).all(|x| x == 0));
        let ln = ln_factorials(20);
        for j in [0, 2, 3] {
            let p: f64 = weights[j] / 8.0;
            let probability =
                |k: usize| (ln[20] - ln[k] - ln[20 - k] + k as f64 * p.ln() + (20 - k) as f64 * (1.0 - p).ln()).exp();
            assert_counts(&counts(&column(j).collect::<Vec<_>>(), 21), probability, &format!("outcome {j}"));
        }
        // The sum of two outcomes is binomial as well.
        let both: Vec<f64> = column(0).zip(column(3)).map(|(a, b)| f64::from(a + b)).collect();
        let p = 5.0 / 8.0;
        let variance = 20.0 * p * (1.0 - p);
        assert_moments(&both, 20.0 * p, variance, 3.0 + (1.0 - 6.0 * p * (1.0 - p)) / variance, "two outcomes");
        for (trials, count) in [(0, 3), (5, 0)] {
            let x = device.rng(3).multinomial(trials, &of, count).unwrap();
            assert!(x.shape() == [count, 4] && all(&device, &x).iter().all(|x| *x == 0));
        }
        let one = device.rng(3).multinomial(7, &device.tensor([1], [0.5]).unwrap(), 2).unwrap();
        assert_eq!((one.shape(), all(&device, &one)), (&[2, 1][..], vec![7, 7]));
    }
}

#[test]
fn weights_that_are_none_are_named() {
    for device in devices() {
        let says = |weights: &[f64], what: &str| {
            let of = device.tensor([weights.len()], weights.to_vec()).unwrap();
            let mut rng = device.rng(1);
            let before = rng.stream().clone();
            let errors = [
                rng.weighted_choice(&of, 5).unwrap_err(),
                rng.weighted_sample(&of, 1).unwrap_err(),
                rng.multinomial(5, &of, 5).unwrap_err(),
            ];
            for error in errors {
                let (argument, reason) = refused(&error);
                assert!(argument == "weights" && reason.contains(what), "{argument}: {reason}, not {what}");
            }
            assert_eq!(rng.stream(), &before, "the stream did not move");
        };
        says(&[], "zero");
        says(&[0.0, -0.0], "all 2 are zero");
        says(&[1.0, -1e-300], "element 1 is -");
        says(&[1.0, 2.0, f64::NAN], "element 2 is NaN");
        says(&[f64::INFINITY], "element 0 is inf");
        says(&[1.7e308, 1.7e308], "overflows");
        let matrix = device.tensor([2, 2], [1.0; 4]).unwrap();
        assert!(refused(&device.rng(1).weighted_choice(&matrix, 1).unwrap_err()).1.contains("no vector"));
        let of = device.tensor([3], [1.0, 0.0, 1.0]).unwrap();
        assert_eq!(refused(&device.rng(1).weighted_sample(&of, 3).unwrap_err()).0, "count");
        let other = device.rng_of(Stream::new(Generator::Mrg32k3a, 1)).multinomial(1, &of, 1);
        assert!(matches!(other, Err(Error::Unsupported { .. })));
        // Of other generators too.
        assert!(device.rng_of(Stream::new(Generator::Mrg32k3a, 1)).weighted_choice(&of, 10).is_ok());
    }
}

#[test]
fn shuffled_slices_stay_whole_and_every_order_comes() {
    for device in devices() {
        let x = device.tensor([4, 3], (0..12).collect::<Vec<i32>>()).unwrap();
        for axis in [0, -1, 1] {
            let y = all(&device, &device.rng(9).shuffled(&x, axis).unwrap().await_result().unwrap());
            let mut rows: Vec<Vec<i32>> = match axis {
                0 => y.chunks(3).map(<[i32]>::to_vec).collect(),
                _ => (0..3).map(|j| y.iter().skip(j).step_by(3).copied().collect()).collect(),
            };
            rows.sort();
            let wanted: Vec<Vec<i32>> = match axis {
                0 => (0..4).map(|i| (3 * i..3 * i + 3).collect()).collect(),
                _ => (0..3).map(|j| (0..4).map(|i| 3 * i + j).collect()).collect(),
            };
            assert_eq!(rows, wanted);
        }
        assert_eq!(refused(&device.rng(9).shuffled(&x, 2).map(drop).unwrap_err()).0, "axis");
        assert_eq!(refused(&device.rng(9).shuffled(&x, -3).map(drop).unwrap_err()).0, "axis");
        let none = device.zeros::<f32>([0, 3]).unwrap();
        assert_eq!(device.rng(9).shuffled(&none, 0).unwrap().await_result().unwrap().shape(), [0, 3]);
    }
    let device = Device::host().unwrap();
    let (x, mut rng, mut orders) = (device.tensor([3], [0u32, 1, 2]).unwrap(), device.rng(4), vec![0u64; 27]);
    for _ in 0..1500 {
        let y = all(&device, &rng.shuffled(&x, 0).unwrap().await_result().unwrap());
        orders[(9 * y[0] + 3 * y[1] + y[2]) as usize] += 1;
    }
    let is_order = |code: usize| (code / 9) != (code / 3 % 3) && (code / 3 % 3) != code % 3 && code / 9 != code % 3;
    assert_counts(&orders, |code| if is_order(code) { 1.0 / 6.0 } else { 0.0 }, "orders of three");
}
