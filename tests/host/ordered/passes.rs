//! What the CPU finds in passes of its own: places of truth values, the first of many, places in a vector, counts. Long enough for
//! several parts and threads.

use super::read;
use crate::common::edge::by_turns;
use crate::common::{host, inline, seeds};
use windlass::arrays::{By, Ordered, SearchSide};
use windlass::tensor::Layout;
use windlass::{Bool, Complex, Device, Element, TensorRef};

#[test]
fn places_of_truth_values_are_in_order() {
    for device in [inline().open().unwrap(), host(3).open().unwrap()] {
        seeds(24, |rng, seed| {
            let part = 1 << 14;
            let n = [1, 7, 8, 9, 15, 16, 17, 100, part - 1, part, part + 1, 5 * part + 3, 9 * part][seed as usize % 13];
            let share = rng.pick(&[1, 2, 50, 1 << 20]);
            let truth: Vec<Bool> =
                (0..n).map(|_| Bool(if rng.below(share) == 0 { rng.pick(&[1, 9, 255]) } else { 0 })).collect();
            let buffer = by_turns(&device, truth.clone());
            let x = TensorRef::from_buffer(&buffer, Layout::row_major([n]).unwrap()).unwrap();
            let (there, rest): (Vec<i64>, Vec<i64>) = (0..n as i64).partition(|i| truth[*i as usize].0 != 0);
            let sorted = |by: By| read(&device, &device.argsort(&x, by).unwrap().await_result().unwrap());
            assert_eq!(sorted(By::axis(0)), [rest.clone(), there.clone()].concat(), "{n}");
            assert_eq!(sorted(By::axis(0).descending()), [there.clone(), rest].concat(), "{n}");
            let places = device.nonzero(&x).unwrap().await_result().unwrap();
            assert_eq!((places.shape(), read(&device, &places)), (&[1, there.len()][..], there));
        });
    }
}

/// What is chosen of a tensor, in each way that it can lie. There are at least as many truth values as an axis has elements.
fn chosen<T: Element>(device: &Device, extents: [usize; 3], truth: &[Bool], of: fn(usize) -> T) {
    let [a, b, c] = extents;
    let len = a * b * c;
    let bits = |x: &[T]| bytemuck::cast_slice::<T, u8>(x).to_vec();
    let is_true = |i: &usize| truth[*i].0 != 0;
    let wanted: Vec<usize> = (0..len).filter(is_true).collect();
    let index = |i: usize| [i / (b * c), i / c % b, i % c];
    for is_turned in [false, true] {
        let layout = if is_turned { [1, a as isize, (a * b) as isize] } else { [(b * c) as isize, c as isize, 1] };
        let layout = Layout::new(extents, layout, 0).unwrap();
        let place = |i: usize| if is_turned { i % a * b * c + i / a % b * c + i / (a * b) } else { i };
        let x = by_turns(device, (0..len).map(|i| of(place(i))).collect());
        let x = TensorRef::from_buffer(&x, layout.clone()).unwrap();
        let condition = by_turns(device, (0..len).map(|i| truth[place(i)]).collect());
        let condition = TensorRef::from_buffer(&condition, layout).unwrap();
        let got = device.masked_select(&x, &condition).unwrap().await_result().unwrap();
        assert_eq!(got.shape(), [wanted.len()]);
        assert!(bits(&read(device, &got)) == bits(&wanted.iter().map(|i| of(*i)).collect::<Vec<_>>()), "{extents:?}");
        let places = device.nonzero(&condition).unwrap().await_result().unwrap();
        assert_eq!(places.shape(), [3, wanted.len()]);
        let rows = (0..3).flat_map(|axis| wanted.iter().map(move |i| index(*i)[axis] as i64));
        assert!(read(device, &places) == rows.collect::<Vec<_>>(), "{extents:?}");
        for (axis, n) in extents.into_iter().enumerate() {
            let few = n - n / 3;
            let keep = by_turns(device, truth[..few].to_vec());
            let keep = TensorRef::from_buffer(&keep, Layout::row_major([few]).unwrap()).unwrap();
            let got = device.compress(&x, &keep, axis as isize).unwrap().await_result().unwrap();
            let is_kept = |i: &usize| index(*i)[axis] < few && is_true(&index(*i)[axis]);
            let wanted: Vec<T> = (0..len).filter(is_kept).map(of).collect();
            assert_eq!(got.shape()[axis], (0..few).filter(is_true).count());
            assert!(bits(&read(device, &got)) == bits(&wanted), "{extents:?} along axis {axis}");
        }
    }
}

#[test]
fn elements_are_chosen_in_one_pass() {
    let cases = [
        [1, 1, 1],
        [0, 3, 2],
        [3, 2, 0],
        [2, 3, 7],
        [5, 1, 8],
        [16, 33, 31],
        [1, 1, 16_385],
        [1, 16_384, 1],
        [3, 5500, 1],
        [1, 9, 8193],
        [9000, 2, 3],
    ];
    for device in [inline().open().unwrap(), host(3).open().unwrap()] {
        seeds(33, |rng, seed| {
            let extents = cases[seed as usize % cases.len()];
            let share = rng.pick(&[1, 2, 50, 1 << 20]);
            let len = extents.iter().product::<usize>().max(16_400);
            let truth: Vec<Bool> =
                (0..len).map(|_| Bool(if rng.below(share) == 0 { rng.pick(&[1, 9, 255]) } else { 0 })).collect();
            chosen(&device, extents, &truth, |i| i as u8);
            chosen(&device, extents, &truth, |i| i as u16);
            chosen(&device, extents, &truth, |i| i as f32);
            chosen(&device, extents, &truth, |i| i as f64);
            chosen(&device, extents, &truth, |i| Complex::new(i as f32, 2.0));
            chosen(&device, extents, &truth, |i| Complex::new(i as f64, -1.0));
        });
        let number = |x: u8| device.tensor([0usize; 0], [Bool(x)]).unwrap();
        for x in [0, 3] {
            assert_eq!(device.nonzero(&number(x)).unwrap().await_result().unwrap().shape(), [0, usize::from(x > 0)]);
        }
    }
}

fn first<T: Ordered + PartialEq>(device: &Device, x: Vec<T>, step: usize, k: usize) {
    let n = x.len() / 2 / step;
    let buffer = by_turns(device, x);
    let layout = Layout::new([2, n], [(n * step) as isize, step as isize], 0).unwrap();
    let view = TensorRef::from_buffer(&buffer, layout).unwrap();
    for (by, (values, places)) in [
        (By::axis(1).descending(), device.top_k(&view, k, 1).unwrap().await_result().unwrap()),
        (By::axis(1), device.bottom_k(&view, k, 1).unwrap().await_result().unwrap()),
    ] {
        let (all, order) = device.sort_with_indices(&view, by).unwrap().await_result().unwrap();
        let part = |x: &windlass::Tensor<i64>| {
            read(device, &device.contiguous(x.split(1, k).unwrap().0).unwrap().into_output())
        };
        assert_eq!(part(&places), part(&order), "{k} of {n} {}", T::DTYPE);
        let part =
            |x: &windlass::Tensor<T>| read(device, &device.contiguous(x.split(1, k).unwrap().0).unwrap().into_output());
        assert!(
            bytemuck::cast_slice::<T, u8>(&part(&values)) == bytemuck::cast_slice::<T, u8>(&part(&all)),
            "{k} of {n}"
        );
    }
}

#[test]
fn the_first_of_many_are_those_of_a_sort() {
    let device = inline().open().unwrap();
    seeds(40, |rng, seed| {
        let k = rng.pick(&[1, 2, 31, 32, 50, 300]);
        let most = rng.pick(&[3, 100, 5000]);
        let n = 4 * k + 1 + rng.below(most);
        let (way, step) = (seed % 5, 1 + seed as usize % 3 / 2);
        let number = |i: usize, bits: u64| match way {
            0 => i as f64,
            1 => -(i as f64),
            2 => (bits % 4) as f64,
            3 if bits.is_multiple_of(5) => {
                [f64::NAN, -0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY][bits as usize / 5 % 5]
            }
            _ => (bits >> 11) as f64 / (1u64 << 53) as f64 - 0.5,
        };
        let x: Vec<f64> = (0..2 * n * step).map(|i| number(i, rng.next())).collect();
        first(&device, x.clone(), step, k);
        first(&device, x.iter().map(|x| *x as f32).collect(), step, k);
        first(&device, x.iter().map(|x| windlass::f16::from_f64(*x)).collect(), step, k);
        first(&device, x.iter().map(|x| (*x * 100.0) as i16).collect(), step, k);
        first(&device, x.iter().map(|x| x.to_bits()).collect(), step, k);
        first(&device, x.iter().map(|x| Bool(u8::from(*x > 0.2) * 3)).collect(), step, k);
    });
}

/// What the order compares: a NaN is above all numbers.
fn key(x: f64) -> (bool, f64) {
    if x.is_nan() { (true, 0.0) } else { (false, x + 0.0) }
}

fn numbers(rng: &mut crate::common::Rng, n: usize) -> Vec<f64> {
    let special = [f64::NAN, -0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY];
    (0..n).map(|_| if rng.below(9) == 0 { rng.pick(&special) } else { rng.below(40) as f64 / 4.0 - 5.0 }).collect()
}

fn placed<T: Ordered>(device: &Device, sorted: &[f64], values: &[f64], of: fn(f64) -> T) {
    let n = sorted.len();
    // The vector lies turned, and the values among others.
    let turned = by_turns(device, sorted.iter().rev().map(|x| of(*x)).collect());
    let vector = Layout::new([n], [-1], n.saturating_sub(1)).unwrap();
    let vector = TensorRef::from_buffer(&turned, vector).unwrap();
    let plain = by_turns(device, sorted.iter().map(|x| of(*x)).collect());
    let plain = TensorRef::from_buffer(&plain, Layout::row_major([n]).unwrap()).unwrap();
    let spread = by_turns(device, values.iter().flat_map(|x| [of(*x), of(0.0)]).collect());
    let spread = TensorRef::from_buffer(&spread, Layout::new([values.len()], [2], 0).unwrap()).unwrap();
    let near = by_turns(device, values.iter().map(|x| of(*x)).collect());
    let near = TensorRef::from_buffer(&near, Layout::row_major([values.len()]).unwrap()).unwrap();
    for side in [SearchSide::Left, SearchSide::Right] {
        let is_before = |x: f64, own: f64| key(x) < key(own) || (side == SearchSide::Right && key(x) == key(own));
        let wanted: Vec<i64> =
            values.iter().map(|own| sorted.iter().filter(|x| is_before(**x, *own)).count() as i64).collect();
        for (sorted, values) in [(&vector, &spread), (&plain, &near), (&vector, &near), (&plain, &spread)] {
            let got = device.searchsorted(sorted, values, side).unwrap().await_result().unwrap();
            assert_eq!(read(device, &got), wanted, "{side:?} {n} {}", T::DTYPE);
        }
    }
}

#[test]
fn places_in_a_vector_are_counts_of_what_comes_before() {
    for device in [inline().open().unwrap(), host(3).open().unwrap()] {
        seeds(30, |rng, seed| {
            let most = rng.pick(&[3, 40, 300]);
            let n = if seed == 1 { 0 } else { rng.below(most) };
            let mut sorted = numbers(rng, n);
            sorted.sort_by(|a, b| key(*a).partial_cmp(&key(*b)).unwrap());
            let count = rng.pick(&[1, 15, 16, 17, 100, 2500]);
            let values = numbers(rng, count);
            placed(&device, &sorted, &values, |x| x);
            placed(&device, &sorted, &values, |x| x as f32);
            placed(&device, &sorted, &values, windlass::f16::from_f64);
        });
    }
}

fn between<T: Ordered>(device: &Device, x: &[f64], edges: &[f64], of: fn(f64) -> T) {
    let spread = by_turns(device, x.iter().flat_map(|x| [of(*x), of(1.0)]).collect());
    let spread = TensorRef::from_buffer(&spread, Layout::new([x.len()], [2], 0).unwrap()).unwrap();
    let near = by_turns(device, x.iter().map(|x| of(*x)).collect());
    let near = TensorRef::from_buffer(&near, Layout::row_major([x.len()]).unwrap()).unwrap();
    let bins = device.tensor([edges.len()], edges.iter().map(|x| of(*x)).collect::<Vec<_>>()).unwrap();
    let last = edges.len() - 2;
    let lies = |x: f64, bin: usize| edges[bin] <= x && (x < edges[bin + 1] || (bin == last && x == edges[last + 1]));
    let wanted: Vec<i64> = (0..=last).map(|bin| x.iter().filter(|x| lies(**x, bin)).count() as i64).collect();
    for x in [&spread, &near] {
        let got = device.histogram_between(x, &bins).unwrap().await_result().unwrap();
        assert_eq!(read(device, &got), wanted, "{edges:?} {}", T::DTYPE);
    }
}

#[test]
fn counts_between_edges_are_those_of_their_definition() {
    for device in [inline().open().unwrap(), host(3).open().unwrap()] {
        seeds(20, |rng, seed| {
            let count = rng.pick(&[0, 1, 15, 17, 1000]) + if seed == 7 { 200_000 } else { 0 };
            let (x, many) = (numbers(rng, count), 2 + rng.below(30));
            let mut edges: Vec<f64> = (0..many).map(|_| rng.below(40) as f64 / 4.0 - 5.0).collect();
            if seed % 2 == 0 {
                // At equal distances, and some of them moved.
                edges = (0..many).map(|k| k as f64 / 4.0 - 4.0 + if k % 5 == 3 { 0.125 } else { 0.0 }).collect();
            }
            edges.sort_by(f64::total_cmp);
            between(&device, &x, &edges, |x| x);
            between(&device, &x, &edges, |x| x as f32);
            between(&device, &x, &edges, windlass::f16::from_f64);
        });
    }
}

fn counted<I: windlass::moves::Place>(device: &Device, x: &[i64], bins: usize, of: fn(i64) -> I) {
    let wanted: Vec<i64> = (0..bins as i64).map(|bin| x.iter().filter(|x| **x == bin).count() as i64).collect();
    let spread = by_turns(device, x.iter().flat_map(|x| [of(*x), of(0)]).collect());
    let spread = TensorRef::from_buffer(&spread, Layout::new([x.len()], [2], 0).unwrap()).unwrap();
    let near = by_turns(device, x.iter().map(|x| of(*x)).collect());
    let near = TensorRef::from_buffer(&near, Layout::row_major([x.len()]).unwrap()).unwrap();
    for x in [&spread, &near] {
        let got = device.bincount(x, bins).unwrap().await_result().unwrap();
        assert_eq!(read(device, &got), wanted, "{bins} {}", I::DTYPE);
    }
}

#[test]
fn numbers_are_counted_and_negative_ones_refused() {
    for device in [inline().open().unwrap(), host(3).open().unwrap()] {
        seeds(20, |rng, seed| {
            let bins = rng.pick(&[0, 1, 2, 100, 5000]);
            let count = rng.pick(&[0, 1, 3, 1000]) + if seed == 5 { 300_000 } else { 0 };
            let mut x: Vec<i64> = (0..count).map(|_| rng.below(bins + bins / 4 + 3) as i64).collect();
            counted(&device, &x, bins, |x| x as i32);
            counted(&device, &x, bins, |x| x as u32);
            counted(&device, &x, bins, |x| x);
            counted(&device, &x, bins, |x| x as u64);
            x.push(-1);
            let bad = device.tensor([x.len()], x).unwrap();
            assert!(device.bincount(&bad, bins).unwrap().await_result().is_err());
        });
    }
}
