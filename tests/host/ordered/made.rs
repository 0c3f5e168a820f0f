//! Tensors that a position or an index decides, against loops over lists of indices.

use super::read;
use crate::common::edge::by_turns;
use crate::common::{Rng, devices, refused, seeds};
use windlass::arrays::{Indexing, meshgrid};
use windlass::tensor::Layout;
use windlass::{Bool, Complex, Device, Element, Tensor, TensorRef, bf16, f16};

/// A view of random extents in a buffer with more elements, in any order; and its elements in row-major order.
fn laid<T: Element>(device: &Device, rng: &mut Rng, extents: &[usize], make: &dyn Fn(u64) -> T) -> (Tensor<T>, Vec<T>) {
    let mut order: Vec<usize> = (0..extents.len()).collect();
    order.sort_by_key(|axis| (rng.next(), *axis));
    let (mut strides, mut next, mut offset) = (vec![0isize; extents.len()], 1isize, rng.below(3) as isize);
    for axis in order {
        let step = next * (1 + rng.below(2)) as isize;
        strides[axis] = step;
        if rng.below(3) == 0 && extents[axis] > 0 {
            (strides[axis], offset) = (-step, offset + step * (extents[axis] as isize - 1));
        }
        next = step * extents[axis].max(1) as isize;
    }
    let layout = Layout::new(extents, strides, offset as usize).unwrap();
    let len = layout.reach().map_or(0, |(_, last)| last + 1);
    let data: Vec<T> = (0..len).map(|_| make(rng.next())).collect();
    let at = |place: &Vec<usize>| {
        let steps = place.iter().zip(layout.strides()).map(|(i, stride)| *i as isize * stride);
        (layout.offset() as isize + steps.sum::<isize>()) as usize
    };
    let elements = places(extents).iter().map(|place| data[at(place)]).collect();
    let buffer = by_turns(device, data);
    (Tensor::from(buffer).with_layout(layout).unwrap(), elements)
}

/// The indices of all elements, in row-major order.
fn places(extents: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for n in extents {
        all = all.into_iter().flat_map(|place| (0..*n).map(move |i| [&place[..], &[i]].concat())).collect();
    }
    all
}

fn number(extents: &[usize], place: &[usize]) -> usize {
    extents.iter().zip(place).fold(0, |at, (n, i)| at * n + i)
}

fn same<T: Element>(got: &[T], wanted: &[T], about: &str) {
    let (got, wanted) = (bytemuck::cast_slice::<T, u8>(got), bytemuck::cast_slice::<T, u8>(wanted));
    assert!(got == wanted, "{about}: {got:?}, but should be {wanted:?}");
}

/// All moves of one type: a NaN keeps its bits.
fn moves<T: Element>(device: &Device, rng: &mut Rng, make: &dyn Fn(u64) -> T) {
    let rank = 1 + rng.below(3);
    let extents: Vec<usize> = (0..rank).map(|_| rng.below(5)).collect();
    let (x, elements) = laid(device, rng, &extents, make);
    let about = format!("{} {:?}", T::DTYPE, x.layout());
    // Tiles.
    let counts: Vec<usize> = (0..rng.below(5)).map(|_| rng.below(4)).collect();
    let tiled = device.tile(&x, &counts).unwrap().await_result().unwrap();
    let all = rank.max(counts.len());
    let padded = |short: &[usize]| [&vec![1; all - short.len()][..], short].concat();
    let (own, times) = (padded(&extents), padded(&counts));
    let wide: Vec<usize> = own.iter().zip(&times).map(|(n, times)| n * times).collect();
    assert_eq!(tiled.shape(), wide, "{about} {counts:?}");
    let from = |place: &[usize]| place.iter().zip(&own).map(|(i, n)| i % n).collect::<Vec<_>>();
    let wanted: Vec<T> = places(&wide).iter().map(|place| elements[number(&own, &from(place))]).collect();
    same(&read(device, &tiled), &wanted, &about);
    // Slices repeated: all so often, or each by a number.
    let (axis, count) = (rng.below(rank), rng.below(4));
    let each: Vec<usize> = (0..extents[axis]).map(|_| rng.below(4)).collect();
    let signed = axis as isize - if rng.below(2) == 0 { rank as isize } else { 0 };
    let sources: Vec<usize> = each.iter().enumerate().flat_map(|(i, count)| std::iter::repeat_n(i, *count)).collect();
    let tensor = device.tensor([each.len()], each.iter().map(|count| *count as i32).collect::<Vec<_>>()).unwrap();
    let total = if rng.below(2) == 0 { None } else { Some(sources.len()) };
    let by_number = device.repeat_each(&x, &tensor, signed, total).unwrap().await_result().unwrap();
    let alike: Vec<usize> = (0..extents[axis] * count).map(|i| i / count).collect();
    let repeated = device.repeat(&x, count, signed).unwrap().await_result().unwrap();
    for (got, sources) in [(by_number, sources), (repeated, alike)] {
        let mut wide = extents.clone();
        wide[axis] = sources.len();
        assert_eq!(got.shape(), wide, "{about} along {axis}");
        let wanted: Vec<T> = places(&wide)
            .into_iter()
            .map(|mut place| {
                place[axis] = sources[place[axis]];
                elements[number(&extents, &place)]
            })
            .collect();
        same(&read(device, &got), &wanted, &about);
    }
}

/// Triangles of one type, and the identity.
fn triangles<T: Element>(device: &Device, rng: &mut Rng, one: T, make: &dyn Fn(u64) -> T) {
    let extents: Vec<usize> = (0..2 + rng.below(2)).map(|_| rng.below(6)).collect();
    let (x, elements) = laid(device, rng, &extents, make);
    let k = rng.below(11) as isize - 5;
    let about = format!("{} {:?} by {k}", T::DTYPE, x.layout());
    let right = |place: &[usize]| place[place.len() - 1] as isize - place[place.len() - 2] as isize;
    for (got, stays) in [
        (device.tril(&x, k), &(|right: isize| right <= k) as &dyn Fn(isize) -> bool),
        (device.triu(&x, k), &|right| right >= k),
    ] {
        let got = read(device, &got.unwrap().await_result().unwrap());
        let all = places(&extents).into_iter().zip(&elements);
        let wanted: Vec<T> = all.map(|(place, x)| if stays(right(&place)) { *x } else { T::zeroed() }).collect();
        same(&got, &wanted, &about);
    }
    let extents = [rng.below(6), rng.below(6)];
    let got = read(device, &device.eye::<T>(extents, k).unwrap().await_result().unwrap());
    let wanted: Vec<T> =
        places(&extents).iter().map(|place| if right(place) == k { one } else { T::zeroed() }).collect();
    same(&got, &wanted, &about);
}

/// How many random cases.
fn cases() -> u64 {
    std::env::var("WINDLASS_TEST_ARRAYS").ok().and_then(|n| n.parse().ok()).unwrap_or(20)
}

pub(crate) fn elements_come_again(devices: &[Device]) {
    for device in devices {
        seeds(cases(), |rng, _| {
            moves(device, rng, &|bits| f32::from_bits(bits as u32));
            moves(device, rng, &|bits| f64::from_bits(bits));
            moves(device, rng, &|bits| f16::from_bits(bits as u16));
            moves(device, rng, &|bits| bits as i8);
            moves(device, rng, &|bits| Bool(bits as u8));
            moves(device, rng, &|bits| Complex::new(f64::from_bits(bits), 1.0));
        });
    }
}

pub(crate) fn triangles_are_those_of_the_positions(devices: &[Device]) {
    for device in devices {
        seeds(cases(), |rng, _| {
            // Infinities, zeros of both signs and the one NaN of what is computed.
            let single = |bits: u64| match bits % 5 {
                0 => f32::from_bits(0x7fff_ffff),
                1 => f32::NEG_INFINITY,
                2 => -0.0,
                _ => bits as i32 as f32,
            };
            triangles(device, rng, 1.0f32, &single);
            triangles(device, rng, 1.0f64, &|bits| bits as i64 as f64);
            triangles(device, rng, bf16::ONE, &|bits| bf16::from_f32(bits as i16 as f32));
            triangles(device, rng, 1u8, &|bits| bits as u8);
            triangles(device, rng, 1i64, &|bits| bits as i64);
            triangles(device, rng, Bool(1), &|bits| Bool((bits & 1) as u8));
            triangles(device, rng, Complex::new(1.0f32, 0.0), &|bits| Complex::new(single(bits), 2.0));
        });
    }
}

pub(crate) fn one_place_of_each_vector_is_hot(devices: &[Device]) {
    for device in devices {
        seeds(cases(), |rng, _| {
            let extents: Vec<usize> = (0..rng.below(3)).map(|_| rng.below(5)).collect();
            let depth = rng.below(6);
            let (x, indices) = laid(device, rng, &extents, &|bits| (bits % 17) as i32 - 8);
            let axis = rng.below(extents.len() + 1);
            let signed = axis as isize - if rng.below(2) == 0 { extents.len() as isize + 1 } else { 0 };
            let hot = device.one_hot(&x, depth, signed, [0.5f32, -2.0]).unwrap().await_result().unwrap();
            let mut wide = extents.clone();
            wide.insert(axis, depth);
            assert_eq!(hot.shape(), wide);
            let value = |mut place: Vec<usize>| {
                let own = place.remove(axis) as i32;
                let index = indices[number(&extents, &place)];
                let index = if index < 0 { index + depth as i32 } else { index };
                if index == own { -2.0 } else { 0.5 }
            };
            same(&read(device, &hot), &places(&wide).into_iter().map(value).collect::<Vec<f32>>(), "one hot");
        });
        let largest = device.tensor([3], [u64::MAX, 1 << 63, 1]).unwrap();
        let hot = device.one_hot(&largest, 2, 0, [Bool(0), Bool(1)]).unwrap().await_result().unwrap();
        assert_eq!(read(device, &hot).iter().map(|x| x.0).collect::<Vec<_>>()[..3], [0, 0, 0]);
        let error = device.one_hot(&largest, 2, 2, [0, 1]).unwrap_err();
        assert_eq!(refused(&error).0, "axis");
    }
}

#[test]
fn repeated_elements() {
    elements_come_again(&devices());
}

#[test]
fn triangles_and_identities() {
    triangles_are_those_of_the_positions(&devices());
}

#[test]
fn one_hot_vectors() {
    one_place_of_each_vector_is_hot(&devices());
}

#[test]
fn a_grid_is_made_of_views() {
    for device in devices() {
        let x = device.tensor([5], [1, 9, 2, 9, 3]).unwrap();
        let x = x.slice(windlass::tensor::AxisSlice::from(..).step(2)).unwrap();
        let (y, z) = (device.tensor([2], [10, 20]).unwrap(), device.tensor([1], [7]).unwrap());
        for indexing in [Indexing::Ij, Indexing::Xy] {
            let grid = meshgrid(&[x.view(), y.view(), z.view()], indexing).unwrap();
            let extents = if indexing == Indexing::Ij { [3, 2, 1] } else { [2, 3, 1] };
            assert!(grid.iter().all(|view| view.shape() == extents));
            for place in places(&extents) {
                let (i, j) = if indexing == Indexing::Ij { (place[0], place[1]) } else { (place[1], place[0]) };
                let at = number(&extents, &place);
                let got: Vec<i32> = grid.iter().map(|view| read(&device, view)[at]).collect();
                assert_eq!(got, [[1, 2, 3][i], [10, 20][j], 7], "{indexing:?} {place:?}");
            }
            let one = meshgrid(&[y.view()], indexing).unwrap();
            assert_eq!(read(&device, &one[0]), [10, 20]);
        }
        let none: [TensorRef<'_, i32>; 0] = [];
        assert!(meshgrid(&none, Indexing::Xy).unwrap().is_empty());
        let square = y.reshape([2, 1]).unwrap();
        assert_eq!(refused(&meshgrid(&[y.view(), square], Indexing::Ij).unwrap_err()).0, "vectors[1]");
    }
}

#[test]
fn what_cannot_be_made_is_told() {
    for device in devices() {
        let x = device.tensor([3], [1.0f32, 2.0, 3.0]).unwrap();
        let name = |error: windlass::Error| refused(&error).0;
        assert_eq!(name(device.tril(&x, 0).unwrap_err()), "x");
        assert_eq!(name(device.repeat(&x, 2, 1).unwrap_err()), "axis");
        assert_eq!(name(device.repeat(&x, usize::MAX, 0).unwrap_err()), "x");
        let counts = |counts: [i64; 3]| device.tensor([3], counts).unwrap();
        assert_eq!(name(device.repeat_each(&x, &counts([1, 1, 1]), -2, None).unwrap_err()), "axis");
        let short = device.tensor([2], [1i64, 1]).unwrap();
        assert_eq!(name(device.repeat_each(&x, &short, 0, None).unwrap_err()), "counts");
        assert_eq!(name(device.repeat_each(&x, &counts([2, -1, 3]), 0, None).unwrap_err()), "counts");
        // Sums that wrap, to 0 and to 3.
        let quarter = 1i64 << 62;
        let wide = device.tensor([4], [1.0f32; 4]).unwrap();
        for last in [quarter, quarter + 3] {
            let counts = device.tensor([4], [quarter, quarter, quarter, last]).unwrap();
            assert_eq!(name(device.repeat_each(&wide, &counts, 0, None).unwrap_err()), "counts");
            let error = device.repeat_each(&wide, &counts, 0, Some(3)).unwrap().await_result().unwrap_err();
            assert!(refused(&error.into()).1.contains("number 0"));
        }
        assert_eq!(name(device.repeat_each(&x, &counts([1, 0, 0]), 0, Some(0)).unwrap_err()), "total");
        for (all, total) in [([1, 1, 1], 2), ([1, 1, 1], 4), ([2, -1, 2], 3)] {
            let error = device.repeat_each(&x, &counts(all), 0, Some(total)).unwrap().await_result().unwrap_err();
            assert!(refused(&error.into()).1.contains("number 0"), "{all:?}");
        }
        let none = device.repeat_each(&x, &counts([0; 3]), 0, Some(0)).unwrap().await_result().unwrap();
        assert_eq!(none.shape(), [0]);
    }
}
