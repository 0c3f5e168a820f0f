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
    let (mut ways, mut logs) = (vec![], vec![]);
    for device in devices {
        let x = x.up(device);
        let y = device.softmax(typed::<T>(&x), axis).unwrap().await_result().unwrap();
        ways.push(read(device, &y));
        let y = device.log_softmax(typed::<T>(&x), axis).unwrap().await_result().unwrap();
        logs.push(read(device, &y));
    }
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
        for (k, x) in numbers.iter().enumerate() {
            let want = (x - largest).exp() / sum;
            let got = ways[0][at(k)].number();
            let near = T::of(want).number() - want;
            let allowed = 2.0 * near.abs() + want * if size_of::<T>() == 8 { 1e-14 } else { 1e-5 } + 1e-8;
            assert!((got - want).abs() <= allowed || (want.is_nan() && got.is_nan()), "{what}: {got}, not {want}");
        }
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
