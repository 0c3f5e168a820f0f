//! Rows that are reduced and spread: softmax beside its definition, and the same bits on all devices.

use crate::sample::{Laid, Number, Rng, read, same_bits, typed};
use windlass::reductions::SoftmaxElement;
use windlass::{Device, bf16, f16};

fn softmax<T: Number + SoftmaxElement>(devices: &[Device], rng: &mut Rng, extents: &[usize], axis: i32, what: &str) {
    let scale = rng.among(&[1.0, 30.0]);
    let special = rng.below(6) == 0;
    let x = Laid::<T>::random(rng, extents, |rng| match rng.below(if special { 50 } else { 1 << 30 }) {
        0 => f64::NEG_INFINITY,
        1 => f64::NAN,
        2 => -0.0,
        _ => rng.unit() * scale,
    });
    let dy = Laid::<T>::random(rng, extents, |rng| rng.unit());
    let (mut ways, mut logs, mut slopes, mut log_slopes) = (vec![], vec![], vec![], vec![]);
    for device in devices {
        let (x, dy, dnn) = (x.up(device), dy.up(device), device.dnn());
        let y = device.softmax(typed::<T>(&x), axis).unwrap().await_result().unwrap();
        ways.push(read(device, &y));
        let dx = dnn.softmax_gradient(&y, typed::<T>(&dy), axis).unwrap().await_result().unwrap();
        slopes.push(read(device, &dx));
        let y = device.log_softmax(typed::<T>(&x), axis).unwrap().await_result().unwrap();
        logs.push(read(device, &y));
        let dx = dnn.log_softmax_gradient(&y, typed::<T>(&dy), axis).unwrap().await_result().unwrap();
        log_slopes.push(read(device, &dx));
    }
    same_bits(&slopes, what);
    same_bits(&log_slopes, what);
    same_bits(&ways, what);
    same_bits(&logs, what);
    let axis = axis.rem_euclid(extents.len() as i32) as usize;
    let (n, inner): (usize, usize) = (extents[axis], extents[axis + 1..].iter().product());
    let outer: usize = extents[..axis].iter().product();
    for row in 0..outer * inner {
        let at = |k: usize| (row / inner * n + k) * inner + row % inner;
        let numbers: Vec<f64> = (0..n).map(|k| x.elements[at(k)].number()).collect();
        let largest = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = numbers.iter().map(|x| (x - largest).exp()).sum();
        gradients(row_of(&ways[0], n, at), row_of(&dy.elements, n, at), &row_of(&slopes[0], n, at), false, what);
        gradients(row_of(&logs[0], n, at), row_of(&dy.elements, n, at), &row_of(&log_slopes[0], n, at), true, what);
        for (k, x) in numbers.iter().enumerate() {
            let want = (x - largest).exp() / sum;
            let got = ways[0][at(k)].number();
            let near = T::of(want).number() - want;
            let allowed = 2.0 * near.abs() + want * if size_of::<T>() == 8 { 1e-14 } else { 1e-5 } + 1e-8;
            assert!((got - want).abs() <= allowed || (want.is_nan() && got.is_nan()), "{what}: {got}, not {want}");
        }
    }
}

fn row_of<T: Number>(all: &[T], n: usize, at: impl Fn(usize) -> usize) -> Vec<T> {
    (0..n).map(|k| all[at(k)]).collect()
}

/// That gradients of a row are those of the definition, by its results.
fn gradients<T: Number>(y: Vec<T>, dy: Vec<T>, got: &[T], logarithm: bool, what: &str) {
    let pairs = || y.iter().zip(&dy).map(|(y, dy)| (y.number(), dy.number()));
    let sum: f64 = pairs().map(|(y, dy)| if logarithm { dy } else { y * dy }).sum();
    let terms: f64 = pairs().map(|(y, dy)| if logarithm { dy.abs() } else { (y * dy).abs() }).sum();
    for ((y, dy), got) in pairs().zip(got) {
        let factor = if logarithm { y.exp() } else { y };
        let want = if logarithm { dy - factor * sum } else { y * (dy - sum) };
        let eps = if size_of::<T>() == 8 { 1e-13 } else { 2e-6 };
        let allowed =
            2.0 * (T::of(want).number() - want).abs() + eps * factor.abs() * (terms + dy.abs() + 1.0) + eps * dy.abs();
        let got = got.number();
        let fits = (got - want).abs() <= allowed || (want.is_nan() && got.is_nan());
        assert!(fits, "{what}: gradient {got}, not {want}, logarithm {logarithm}");
    }
}

/// Random rows, of seeds from `first` on.
pub(crate) fn cases(devices: &[Device], first: u64, count: u64) {
    for seed in first..first + count {
        let mut rng = Rng::new(seed + 77);
        let long = [
            1, 2, 3, 4, 5, 16, 31, 63, 64, 65, 100, 128, 192, 256, 260, 1000, 1023, 1024, 1025, 1028, 2048, 2052, 3000,
        ];
        let n = rng.among(&long);
        let mut extents: Vec<usize> = (0..rng.below(3)).map(|_| rng.among(&[0, 1, 2, 3, 5])).collect();
        if seed % 23 == 0 {
            extents = vec![];
        }
        let rank = extents.len();
        let axis = if rng.below(4) == 0 { rng.below(rank + 1) } else { rank };
        extents.insert(axis, if seed % 41 == 0 { 40_000 } else { n });
        let what = format!("seed {seed}: {extents:?} along {axis}");
        match rng.below(4) {
            0 => softmax::<f64>(devices, &mut rng, &extents, axis as i32, &what),
            1 => softmax::<f16>(devices, &mut rng, &extents, axis as i32, &what),
            2 => softmax::<bf16>(devices, &mut rng, &extents, axis as i32 - rank as i32 - 1, &what),
            _ => softmax::<f32>(devices, &mut rng, &extents, axis as i32, &what),
        }
    }
}
