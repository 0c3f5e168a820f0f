//! Sorts through the front, against a stable sort of elements that are compared by their values. The launches of random sorts run
//! on the machine for PTX in the library's own tests.

use super::read;
use crate::common::{Rng, devices, refused, seeds};
use std::cmp::Ordering;
use windlass::arrays::{By, Ordered};
use windlass::{Bool, Device, HostPool, bf16, f16};

/// NaN last.
fn compare<T: PartialOrd>(a: &T, b: &T, descending: bool) -> Ordering {
    let is_nan = |x: &T| x.partial_cmp(x).is_none();
    match (is_nan(a), is_nan(b)) {
        (false, false) if descending => b.partial_cmp(a).unwrap(),
        (false, false) => a.partial_cmp(b).unwrap(),
        (one, other) => one.cmp(&other),
    }
}

/// Rows of `n` elements by all calls.
fn check<T: Ordered + PartialOrd + std::fmt::Debug>(
    devices: &[Device],
    rng: &mut Rng,
    n: usize,
    make: &dyn Fn(u64) -> T,
) {
    let rows = 1 + rng.below(4);
    let x: Vec<T> = (0..rows * n).map(|_| make(rng.next())).collect();
    let descending = rng.below(2) == 0;
    let (mut values, mut indices) = (vec![], vec![]);
    for row in 0..rows {
        let row = &x[row * n..][..n];
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|a, b| compare(&row[*a], &row[*b], descending));
        values.extend(order.iter().map(|i| row[*i]));
        indices.extend(order.iter().map(|i| *i as i64));
    }
    let by = if descending { By::axis(-1).descending() } else { By::axis(1) };
    let k = rng.below(n + 1);
    for device in devices {
        let same = |got: &[T], want: &[T]| {
            assert!(
                bytemuck::cast_slice::<T, u8>(got) == bytemuck::cast_slice::<T, u8>(want),
                "{device:?} {n}: {got:?}, {want:?}"
            );
        };
        let tensor = device.tensor([rows, n], x.clone()).unwrap();
        same(&read(device, &device.sort(&tensor, by).unwrap().await_result().unwrap()), &values);
        assert_eq!(read(device, &device.argsort(&tensor, by).unwrap().await_result().unwrap()), indices);
        // By columns.
        let turned = device.contiguous(tensor.transpose()).unwrap().into_output();
        let columns = turned.transpose();
        let (both, places) = device.sort_with_indices(&columns, by).unwrap().await_result().unwrap();
        same(&read(device, &both), &values);
        assert_eq!(read(device, &places), indices);
        let first = if descending { device.top_k(&tensor, k, 1) } else { device.bottom_k(&tensor, k, -1) };
        let (first, places) = first.unwrap().await_result().unwrap();
        assert_eq!((first.shape(), places.shape()), (&[rows, k][..], &[rows, k][..]));
        let part = |row: usize| row * n..row * n + k;
        same(&read(device, &first), &(0..rows).flat_map(|row| values[part(row)].to_vec()).collect::<Vec<T>>());
        assert_eq!(read(device, &places), (0..rows).flat_map(|row| indices[part(row)].to_vec()).collect::<Vec<i64>>());
    }
}

#[test]
fn every_type_is_sorted_by_value_and_place() {
    let devices = devices();
    seeds(12, |rng, _| {
        for most in [3, 40, 700, 6000] {
            let n = rng.below(most + 1);
            let few = rng.below(2) == 0;
            let of = move |bits: u64| if few { bits % 5 } else { bits };
            let special = move |bits: u64, value: f64| match bits >> 60 {
                0 => f64::NAN,
                1 => 0.0,
                2 => -0.0,
                3 => f64::INFINITY,
                4 => f64::NEG_INFINITY,
                _ => value,
            };
            let number = move |bits: u64| special(bits, of(bits) as u32 as f64 - 2.0);
            match rng.below(11) {
                0 => check(&devices, rng, n, &|bits| number(bits) as f32),
                1 => check(&devices, rng, n, &number),
                2 => check(&devices, rng, n, &|bits| f16::from_f64(number(bits) / 65536.0)),
                3 => check(&devices, rng, n, &|bits| bf16::from_f64(number(bits))),
                4 => check(&devices, rng, n, &|bits| of(bits) as i8),
                5 => check(&devices, rng, n, &|bits| of(bits) as u16),
                6 => check(&devices, rng, n, &|bits| of(bits) as i32),
                7 => check(&devices, rng, n, &|bits| of(bits) as u32),
                8 => check(&devices, rng, n, &|bits| of(bits) as i64),
                9 => check(&devices, rng, n, &of),
                _ => check(&devices, rng, n, &|bits| (of(bits) as i16) >> 3),
            }
        }
    });
}

#[test]
fn a_long_line_is_sorted_by_any_number_of_threads() {
    let open = |threads| Device::builder().host_pool(HostPool::Threads(threads)).host().open().unwrap();
    let devices = [open(1), open(3), open(8)];
    seeds(2, |rng, seed| {
        let n = 65_000 + rng.below(60_000);
        let of = move |bits: u64| if seed == 1 { bits % 5 } else { bits };
        let zeros = move |bits: u64| if of(bits) % 4 == 0 { -0.0 } else { (of(bits) % 4000) as f64 - 2.0 };
        check(&devices, rng, n, &zeros);
        check(&devices, rng, n, &|bits| zeros(bits) as f32);
        check(&devices, rng, n, &|bits| of(bits) as i32);
        check(&devices, rng, n, &|bits| of(bits) as i16);
        check(&devices, rng, n, &|bits| of(bits) as u8);
        check(&devices, rng, n, &of);
    });
}

#[test]
fn truth_values_are_two() {
    for device in devices() {
        let x = device.tensor([6], [Bool(7), Bool(0), Bool(1), Bool(0), Bool(255), Bool(1)]).unwrap();
        let sorted = read(&device, &device.sort(&x, 0).unwrap().await_result().unwrap());
        assert_eq!(sorted.iter().map(|x| x.0).collect::<Vec<_>>(), [0, 0, 7, 1, 255, 1]);
        let places = device.argsort(&x, By::axis(0).descending()).unwrap().await_result().unwrap();
        assert_eq!(read(&device, &places), [0, 2, 4, 5, 1, 3]);
    }
}

#[test]
fn bad_calls_name_the_argument() {
    for device in devices() {
        let x = device.zeros::<f32>([2, 3]).unwrap();
        let what = |error: windlass::Error| refused(&error).1;
        assert_eq!(what(device.sort(&x, 2).unwrap_err()), "axis 2, but the rank is 2");
        assert_eq!(what(device.argsort(&x, By::axis(-3)).unwrap_err()), "axis -3, but the rank is 2");
        assert_eq!(what(device.top_k(&x, 4, 1).unwrap_err()), "4 of 3 elements along axis 1");
        let one = device.tensor([1, 1], [1u8]).unwrap();
        let wide = one.broadcast([1usize << 33, 1]).unwrap();
        assert!(what(device.sort(&wide, 0).unwrap_err()).contains("at most 4294967295 are sorted"));
        let none = device.zeros::<i64>([0, 3]).unwrap();
        for axis in [0, 1] {
            assert_eq!(device.sort(&none, axis).unwrap().await_result().unwrap().shape(), [0, 3]);
        }
        let (values, indices) = device.top_k(&x, 0, 0).unwrap().await_result().unwrap();
        assert_eq!((values.len(), indices.shape()), (0, &[0, 3][..]));
    }
}
