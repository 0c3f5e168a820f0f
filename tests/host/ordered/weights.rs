//! Sums of weights by bins, statistics of all elements up to each one, and partitions, against loops.

use super::read;
use crate::common::{Rng, devices, refused, seeds};
use windlass::Device;

fn real(rng: &mut Rng) -> f32 {
    match rng.below(12) {
        0 => f32::NAN,
        1 => f32::INFINITY,
        2 => f32::NEG_INFINITY,
        3 => -0.0,
        _ => rng.below(40) as f32 / 4.0 - 5.0,
    }
}

/// The one NaN of what is computed.
fn bits(x: &[f32]) -> Vec<u32> {
    x.iter().map(|x| if x.is_nan() { 0x7fff_ffff } else { x.to_bits() }).collect()
}

pub(crate) fn weights_are_added_in_their_order(devices: &[Device]) {
    for device in devices {
        seeds(20, |rng, _| {
            let n = rng.below(2000);
            let x: Vec<f32> = (0..n).map(|_| real(rng)).collect();
            let weights: Vec<f32> = (0..n).map(|_| rng.next() as i32 as f32 / 1e6).collect();
            let mut edges: Vec<f32> = (0..2 + rng.below(9)).map(|_| rng.below(40) as f32 / 4.0 - 5.0).collect();
            edges.sort_by(f32::total_cmp);
            let bins = edges.len() - 1;
            let mut wanted = vec![0.0f32; bins];
            for (x, weight) in x.iter().zip(&weights) {
                // The last bin that begins at or before it, or the last one of all at its end.
                let bin = edges[..bins].iter().rposition(|edge| edge <= x).filter(|_| *x <= edges[bins]);
                // Of bins without width the last one before the next edge counts.
                if let Some(bin) = bin {
                    wanted[bin] += weight;
                }
            }
            let tensor = |x: &[f32]| device.tensor([x.len()], x.to_vec()).unwrap();
            let (x, weights, edges) = (tensor(&x), tensor(&weights), tensor(&edges));
            let got = device.histogram_weighted_between(&x, &edges, &weights).unwrap().await_result().unwrap();
            assert_eq!(bits(&read(device, &got)), bits(&wanted));
            let numbers: Vec<i32> = (0..n).map(|_| rng.below(9) as i32).collect();
            let mut wanted = vec![0.0f32; 6];
            for (number, weight) in numbers.iter().zip(read(device, &weights)) {
                if (0..6).contains(number) {
                    wanted[*number as usize] += weight;
                }
            }
            let numbers = device.tensor([n], numbers).unwrap();
            let got = device.bincount_weighted(&numbers, 6, &weights).unwrap().await_result().unwrap();
            assert_eq!(bits(&read(device, &got)), bits(&wanted));
            // Weights of one are counts.
            let ones = device.full([n], 1i64).unwrap();
            if n > 0 {
                let (counts, _) = device.histogram(&x, 7, Some([-3.0, 4.0])).unwrap();
                let (sums, _) = device.histogram_weighted(&x, 7, Some([-3.0, 4.0]), &ones).unwrap();
                let (counts, sums) = (counts.await_result().unwrap(), sums.await_result().unwrap());
                assert_eq!(read(device, &counts), read(device, &sums));
            }
        });
    }
}

pub(crate) fn extremes_so_far_have_their_places(devices: &[Device]) {
    for device in devices {
        seeds(20, |rng, _| {
            let extents = [rng.below(4), rng.below(90), 1 + rng.below(3)];
            let (n, width) = (extents[1], extents[2]);
            let x: Vec<f32> = (0..extents.iter().product()).map(|_| real(rng)).collect();
            let tensor = device.tensor(extents, x.clone()).unwrap();
            for falls in [false, true] {
                let call = if falls { Device::cummin_with_indices } else { Device::cummax_with_indices };
                let (values, places) = call(device, tensor.view(), -2).unwrap();
                let (values, places) = (values.await_result().unwrap(), places.await_result().unwrap());
                let (values, places) = (read(device, &values), read(device, &places));
                for line in 0..extents[0] * width {
                    let first = line / width * n * width + line % width;
                    let mut best = 0;
                    for i in 0..n {
                        let (own, known) = (x[first + i * width], x[first + best * width]);
                        let is_beyond = if falls { own < known } else { own > known };
                        if !known.is_nan() && (own.is_nan() || is_beyond) {
                            best = i;
                        }
                        assert_eq!(places[first + i * width], best as i64, "{x:?}");
                        let known = x[first + best * width];
                        let value = values[first + i * width];
                        assert!(value == known || (value.is_nan() && known.is_nan()), "{x:?}");
                    }
                }
            }
        });
        let x = device.tensor([2, 3], [1.0f64, 2.0, 6.0, -1.0, 1.0, 9.0]).unwrap();
        let means = device.cummean(&x, 1).unwrap().await_result().unwrap();
        assert_eq!(read(device, &means), [1.0, 1.5, 3.0, -1.0, 0.0, 3.0]);
        assert_eq!(refused(&device.cummean(&x, 2).unwrap_err()).0, "axis");
        // Sums and counts beyond a half.
        let x = device.tensor([70_000], vec![windlass::f16::from_f32(100.0); 70_000]).unwrap();
        let means = device.cummean(&x, 0).unwrap().await_result().unwrap();
        assert!(read(device, &means).iter().all(|mean| mean.to_f32() == 100.0));
    }
}

#[test]
fn weights() {
    weights_are_added_in_their_order(&devices());
}

#[test]
fn extremes_with_places() {
    extremes_so_far_have_their_places(&devices());
}

#[test]
fn a_partition_is_a_sort_of_places_that_are_there() {
    for device in devices() {
        let x = device.tensor([2, 3], [3i32, 1, 2, 9, 8, 7]).unwrap();
        let parts = device.partition(&x, &[0, 2], -1).unwrap().await_result().unwrap();
        assert_eq!(read(&device, &parts), [1, 2, 3, 7, 8, 9]);
        let places = device.argpartition(&x, &[1], 0).unwrap().await_result().unwrap();
        assert_eq!(read(&device, &places), [0, 0, 0, 1, 1, 1]);
        assert_eq!(refused(&device.partition(&x, &[3], 1).unwrap_err()).0, "places");
        assert_eq!(refused(&device.argpartition(&x, &[0], 2).unwrap_err()).0, "axis");
    }
}

#[test]
fn weights_that_do_not_fit_are_refused() {
    for device in devices() {
        let (x, edges) = (device.zeros::<f32>([4]).unwrap(), device.tensor([2], [0.0f32, 1.0]).unwrap());
        let short = device.zeros::<f32>([3]).unwrap();
        let name = |error: windlass::Error| refused(&error).0;
        assert_eq!(name(device.histogram_weighted_between(&x, &edges, &short).unwrap_err()), "weights");
        assert_eq!(name(device.histogram_weighted_between(&x, short.slice(0..1).unwrap(), &x).unwrap_err()), "edges");
        assert_eq!(name(device.histogram_weighted(&x, 0, None, &x).unwrap_err()), "bins");
        let truth = device.zeros::<windlass::Bool>([4]).unwrap();
        assert_eq!(name(device.histogram_weighted_between(&x, &edges, &truth).unwrap_err()), "combine");
    }
}
