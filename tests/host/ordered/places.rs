//! Searches and scatters, against loops.

use super::read;
use crate::common::{Rng, devices, refused, seeds};
use windlass::arrays::{Combine, SearchSide};
use windlass::{Bool, Complex, Device, Element, bf16, f16};

#[test]
fn searches_count_what_is_smaller() {
    for device in devices() {
        seeds(20, |rng, _| {
            let n = rng.below(200);
            let number = |rng: &mut Rng| match rng.below(9) {
                0 => f32::NAN,
                1 => -0.0,
                2 => f32::INFINITY,
                _ => rng.below(20) as f32 - 10.0,
            };
            let x: Vec<f32> = (0..n).map(|_| number(rng)).collect();
            let values: Vec<f32> = (0..60).map(|_| number(rng)).collect();
            let sorted = device.sort(&device.tensor([n], x).unwrap(), 0).unwrap().await_result().unwrap();
            let x = read(&device, &sorted);
            // By columns, backwards.
            let wanted = device.tensor([5, 12], values.clone()).unwrap();
            let wanted = wanted.transpose().flip(0).unwrap();
            let before = |a: &f32, b: &f32| a < b || (b.is_nan() && !a.is_nan());
            for side in [SearchSide::Left, SearchSide::Right] {
                let places = device.searchsorted(&sorted, &wanted, side).unwrap().await_result().unwrap();
                assert_eq!(places.shape(), [12, 5]);
                for (k, place) in read(&device, &places).into_iter().enumerate() {
                    let value = values[(k % 5) * 12 + 11 - k / 5];
                    let count = x
                        .iter()
                        .filter(|x| before(x, &value) || (side == SearchSide::Right && !before(&value, x)))
                        .count();
                    assert_eq!(place, count as i64, "{value} {side:?} in {x:?}");
                }
            }
        });
        let (x, values) = (device.zeros::<i32>([2, 2]).unwrap(), device.zeros::<i32>([3, 2]).unwrap());
        let error = device.searchsorted(&x, &values, SearchSide::Left).unwrap_err();
        let what = "shape [2, 2], but `values` has [3, 2]: a vector for all values, or one for each row of them";
        assert_eq!(refused(&error), ("sorted".to_owned(), what.to_owned()));
    }
}

/// Puts elements by a loop over them.
fn scatter<T: Element>(x: &[T], places: &[(usize, usize)], updates: &[T], join: &dyn Fn(&[T]) -> T) -> Vec<T> {
    let mut all: Vec<Vec<T>> = x.iter().map(|x| vec![*x]).collect();
    places.iter().for_each(|(to, from)| all[*to].push(updates[*from]));
    all.into_iter().map(|all| if all.len() == 1 { all[0] } else { join(&all) }).collect()
}

fn check<T: Element>(
    device: &Device,
    rng: &mut Rng,
    combine: Combine,
    make: &dyn Fn(u64) -> T,
    join: &dyn Fn(&[T]) -> T,
) {
    let extents = [1 + rng.below(4), 1 + rng.below(40), 1 + rng.below(5)];
    let axis = rng.below(3);
    let n = extents[axis];
    let most = if rng.below(2) == 0 { 90 } else { 900 };
    let count = rng.below(most);
    let x: Vec<T> = (0..extents.iter().product()).map(|_| make(rng.next())).collect();
    let indices: Vec<i64> =
        (0..count).map(|_| rng.below(n) as i64 - if rng.below(2) == 0 { n as i64 } else { 0 }).collect();
    let mut own = extents;
    own[axis] = count;
    let updates: Vec<T> = (0..own.iter().product()).map(|_| make(rng.next())).collect();
    let number = |extents: [usize; 3], [i, j, k]: [usize; 3]| (i * extents[1] + j) * extents[2] + k;
    let mut places = vec![];
    for i in 0..own[0] {
        for j in 0..own[1] {
            for k in 0..own[2] {
                let from = [i, j, k];
                let mut to = from;
                to[axis] = indices[from[axis]].rem_euclid(n as i64) as usize;
                places.push((number(extents, to), number(own, from)));
            }
        }
    }
    let wanted = scatter(&x, &places, &updates, join);
    let same = |got: Vec<T>| {
        assert!(
            bytemuck::cast_slice::<T, u8>(&got) == bytemuck::cast_slice::<T, u8>(&wanted),
            "{combine:?} {got:?} {wanted:?}"
        );
    };
    let tensor = || device.tensor(extents, x.clone()).unwrap();
    let vector = device.tensor([count], indices).unwrap();
    let updates = device.tensor(own, updates).unwrap();
    let put = device.put(tensor(), &vector, &updates, axis as isize - 3, combine).unwrap().await_result().unwrap();
    assert_eq!(put.shape(), extents);
    same(read(device, &put));
    // The same, of indices and elements in another order in memory.
    let mut shape = [1; 3];
    shape[axis] = count;
    let one = vector.reshape(shape).unwrap();
    let each = one.broadcast(own).unwrap();
    let turned = device.contiguous_columns_of(&updates);
    let put = device.put_along_axis(tensor(), &each, turned.transpose(), axis as isize, combine);
    same(read(device, &put.unwrap().await_result().unwrap()));
}

trait Turned {
    fn contiguous_columns_of<T: Element>(&self, x: &windlass::Tensor<T>) -> windlass::Tensor<T>;
}

impl Turned for Device {
    fn contiguous_columns_of<T: Element>(&self, x: &windlass::Tensor<T>) -> windlass::Tensor<T> {
        self.contiguous(x.transpose()).unwrap().into_output()
    }
}

#[test]
fn elements_for_one_place_are_taken_in_their_order() {
    for device in devices() {
        seeds(30, |rng, _| {
            let real = |bits: u64| bits as i32 as f32 / 1e7;
            let sum = |x: &[f32]| x[1..].iter().fold(x[0], |a, b| a + b);
            check(&device, rng, Combine::Replace, &|bits| bits as u16, &|x| x[x.len() - 1]);
            check(&device, rng, Combine::Replace, &|bits| Bool(bits as u8), &|x| x[x.len() - 1]);
            let complex = |bits: u64| Complex::new(bits as f64, -1.0);
            check(&device, rng, Combine::Replace, &complex, &|x| x[x.len() - 1]);
            check(&device, rng, Combine::Add, &real, &sum);
            check(&device, rng, Combine::Add, &|bits| bits as i8, &|x| x.iter().fold(0, |a, b| a.wrapping_add(*b)));
            check(&device, rng, Combine::Mul, &|bits| bits, &|x| x.iter().fold(1, |a, b| a.wrapping_mul(*b)));
            check(&device, rng, Combine::Mul, &|bits| bits as u16, &|x| x.iter().fold(1, |a, b| a.wrapping_mul(*b)));
            check(&device, rng, Combine::Min, &|bits| bits as i16, &|x| *x.iter().min().unwrap());
            check(&device, rng, Combine::Max, &|bits| bits as i64, &|x| *x.iter().max().unwrap());
            check(&device, rng, Combine::Max, &|bits| bits as u32, &|x| *x.iter().max().unwrap());
            check(&device, rng, Combine::Min, &|bits| f64::from(real(bits)), &|x| {
                x.iter().copied().fold(f64::INFINITY, f64::min)
            });
            let wide = |x: &[f32]| f16::from_f32(sum(x));
            let halves = |x: &[f16]| wide(&x.iter().map(|x| x.to_f32()).collect::<Vec<_>>());
            check(&device, rng, Combine::Add, &|bits| f16::from_f32(real(bits)), &halves);
            let product = |x: &[bf16]| bf16::from_f32(x[1..].iter().fold(x[0].to_f32(), |a, b| a * b.to_f32()));
            check(&device, rng, Combine::Mul, &|bits| bf16::from_f32(real(bits) / 64.0), &product);
        });
    }
}

#[test]
fn many_places_at_once() {
    for device in devices() {
        let x = device.zeros::<i32>([3, 4, 2]).unwrap();
        let indices = device.tensor([3, 2], [0i32, 1, -1, 3, 0, 1]).unwrap();
        let updates = device.tensor([3, 2], [1, 2, 3, 4, 5, 6]).unwrap();
        let x = device.put_nd(x, &indices, &updates, Combine::Add).unwrap().await_result().unwrap();
        let got = read(&device, &x);
        assert_eq!((got[2], got[3], got[22], got[23], got.iter().sum::<i32>()), (6, 8, 3, 4, 21));
    }
}

#[test]
fn what_is_wrong_is_told_and_the_tensor_comes_back() {
    for device in devices() {
        let x = || device.tensor([4], [1.0f32, 2.0, 3.0, 4.0]).unwrap();
        let (indices, updates) = (device.tensor([3], [0i64, 4, -5]).unwrap(), device.tensor([3], [5.0f32; 3]).unwrap());
        let error = device.put(x(), &indices, &updates, 0, Combine::Add).unwrap().await_result().unwrap_err();
        assert_eq!(refused(&error.error).1, "number 1 of them is out of range for axis 0 of 4 elements");
        let fits = device.tensor([2], [0i64, 1]).unwrap();
        let error = device.put(x(), &fits, &updates, 0, Combine::Add).unwrap_err();
        assert_eq!(refused(&error.error).1, "extents [3], but the indices name [2]");
        assert_eq!(read(&device, &error.back.unwrap()), [1.0, 2.0, 3.0, 4.0]);
        let error = device.put(x(), &fits, &updates, 1, Combine::Add).unwrap_err();
        assert_eq!(refused(&error.error).0, "axis");
        let truth = device.zeros::<Bool>([2]).unwrap();
        let error = device.put(truth, &fits, &device.zeros::<Bool>([2]).unwrap(), 0, Combine::Max).unwrap_err();
        assert_eq!(refused(&error.error).0, "combine");
        let none = device.zeros::<i64>([0]).unwrap();
        let put = device.put(x(), &none, &device.zeros::<f32>([0]).unwrap(), 0, Combine::Replace).unwrap();
        assert_eq!(read(&device, &put.await_result().unwrap()), [1.0, 2.0, 3.0, 4.0]);
    }
}
