//! Results whose number of elements the device finds, and counts.

use super::read;
use crate::common::{devices, seeds};
use windlass::Bool;

#[test]
fn elements_are_chosen_in_their_order() {
    for device in devices() {
        seeds(20, |rng, _| {
            let extents = [rng.below(7), 1 + rng.below(6), 1 + rng.below(3)];
            let len = extents.iter().product();
            let truth: Vec<Bool> = (0..len).map(|_| Bool(rng.pick(&[0, 0, 1, 9]))).collect();
            let condition = device.tensor(extents, truth.clone()).unwrap();
            let x: Vec<u16> = (0..len).map(|_| rng.next() as u16).collect();
            let wanted: Vec<usize> = (0..len).filter(|i| truth[*i].0 != 0).collect();
            let tensor = device.tensor(extents, x.clone()).unwrap();
            let chosen = device.masked_select(&tensor, &condition).unwrap().await_result().unwrap();
            assert_eq!(read(&device, &chosen), wanted.iter().map(|i| x[*i]).collect::<Vec<_>>());
            let places = device.nonzero(&condition).unwrap().await_result().unwrap();
            assert_eq!(places.shape(), [3, wanted.len()]);
            let rows = [extents[1] * extents[2], extents[2], 1];
            let at = |axis: usize| wanted.iter().map(move |i| (i / rows[axis] % extents[axis]) as i64);
            assert_eq!(read(&device, &places), (0..3).flat_map(at).collect::<Vec<_>>());
            let axis = rng.below(3);
            let few = rng.below(extents[axis] + 1);
            let keep: Vec<Bool> = (0..few).map(|_| Bool(rng.below(2) as u8)).collect();
            let rows =
                device.compress(&tensor, &device.tensor([few], keep.clone()).unwrap(), axis as isize - 3).unwrap();
            let rows = rows.await_result().unwrap();
            let kept: Vec<i64> = (0..few).filter(|i| keep[*i].0 != 0).map(|i| i as i64).collect();
            let same = device.take(&tensor, &device.tensor([kept.len()], kept).unwrap(), axis as isize);
            if len > 0 {
                let same = same.unwrap().await_result().unwrap();
                assert_eq!((rows.shape(), read(&device, &rows)), (same.shape(), read(&device, &same)));
            }
        });
    }
}

#[test]
fn different_elements_and_what_is_known_of_them() {
    for device in devices() {
        seeds(25, |rng, _| {
            let most = rng.pick(&[1, 3, 60, 5000]);
            let n = rng.below(most);
            let number = |bits: u64| match bits % 9 {
                0 => f32::from_bits(0x7fc0_0000 | (bits >> 50) as u32),
                1 => -0.0,
                2 => 0.0,
                _ => ((bits >> 8) % 30) as f32 - 9.0,
            };
            let x: Vec<f32> = (0..n).map(|_| number(rng.next())).collect();
            let tensor = device.tensor([1, n], x.clone()).unwrap();
            let key = |x: f32| if x.is_nan() { f32::INFINITY } else { x + 0.0 };
            let mut wanted: Vec<(f32, usize, i64)> = vec![];
            for (i, x) in x.iter().enumerate() {
                match wanted.iter_mut().find(|group| group.0 == key(*x)) {
                    Some(group) => group.2 += 1,
                    None => wanted.push((key(*x), i, 1)),
                }
            }
            wanted.sort_by(|a, b| a.0.total_cmp(&b.0));
            let bits = |x: Vec<f32>| x.into_iter().map(f32::to_bits).collect::<Vec<_>>();
            let values: Vec<f32> = wanted.iter().map(|group| x[group.1]).collect();
            let got = device.unique(&tensor).unwrap().await_result().unwrap();
            assert_eq!(bits(read(&device, &got)), bits(values.clone()));
            let got = device.unique_all(&tensor).unwrap().await_result().unwrap();
            assert_eq!(bits(read(&device, &got.values)), bits(values));
            assert_eq!(read(&device, &got.indices), wanted.iter().map(|group| group.1 as i64).collect::<Vec<_>>());
            assert_eq!(read(&device, &got.counts), wanted.iter().map(|group| group.2).collect::<Vec<_>>());
            let group = |x: &f32| wanted.iter().position(|group| group.0 == key(*x)).unwrap() as i64;
            assert_eq!(got.inverse.shape(), [1, n]);
            assert_eq!(read(&device, &got.inverse), x.iter().map(group).collect::<Vec<_>>());
        });
        let truth = device.tensor([4], [Bool(7), Bool(0), Bool(1), Bool(9)]).unwrap();
        let got = device.unique_all(&truth).unwrap().await_result().unwrap();
        assert_eq!((read(&device, &got.counts), read(&device, &got.indices)), (vec![1, 3], vec![1, 0]));
    }
}

#[test]
fn numbers_are_counted() {
    for device in devices() {
        seeds(10, |rng, _| {
            let (n, bins) = (rng.below(3000), rng.below(300));
            let x: Vec<i32> = (0..n).map(|_| rng.below(320) as i32).collect();
            let wanted: Vec<i64> = (0..bins).map(|bin| x.iter().filter(|x| **x == bin as i32).count() as i64).collect();
            let counts = device.bincount(&device.tensor([n], x).unwrap(), bins).unwrap().await_result().unwrap();
            assert_eq!(read(&device, &counts), wanted);
        });
        let none = device.zeros::<i32>([0]).unwrap();
        for bins in [0, 1, 4] {
            assert_eq!(read(&device, &device.bincount(&none, bins).unwrap().await_result().unwrap()), vec![0; bins]);
        }
    }
}
