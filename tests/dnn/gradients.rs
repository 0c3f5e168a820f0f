//! Gradients of rows and of elements at places: beside central differences in `f64`, as the transpose of what goes forth in any type and
//! layout, and the same bits on all devices.

use crate::common::{devices, refused};
use crate::formulas::{check, near};
use crate::sample::{Laid, Number, Rng, read, same_bits, typed};
use windlass::dnn::{Affine, Beyond, Coordinates, GridSample, Interpolation, Nearest, NormKind, Resize, Sampling};
use windlass::reductions::SoftmaxElement;
use windlass::{Device, TensorRef, bf16, f16};

const INTERPOLATIONS: [Interpolation; 4] = [
    Interpolation::Nearest(Nearest::RoundPreferFloor),
    Interpolation::Nearest(Nearest::Ceil),
    Interpolation::Linear,
    Interpolation::Cubic(-0.75),
];
const COORDINATES: [Coordinates; 6] = [
    Coordinates::HalfPixel,
    Coordinates::HalfPixelSymmetric,
    Coordinates::AlignCorners,
    Coordinates::Asymmetric,
    Coordinates::Crop(0.2, 0.9),
    Coordinates::Crop(-0.4, 1.2),
];

/// How a tensor is resized.
fn resized(rng: &mut Rng) -> Resize {
    Resize::new(rng.among(&INTERPOLATIONS))
        .coordinates(rng.among(&COORDINATES))
        .antialias(rng.below(3) == 0)
        .exclude_outside(rng.below(3) == 0)
        .outside(0.0)
}

pub(crate) fn slopes(devices: &[Device]) {
    let mut rng = Rng::new(31);
    for axis in [0, 1, -1] {
        let what = format!("softmax along {axis}");
        check(
            devices,
            &mut rng,
            (&[2, 3, 4], &what),
            |device, x| Ok(device.softmax(x, axis)?.into_output()),
            |device, x, dy| {
                let y = device.softmax(x, axis)?.into_output();
                Ok(device.dnn().softmax_gradient(&y, dy, axis)?.into_output())
            },
        );
        check(
            devices,
            &mut rng,
            (&[2, 3, 4], &what),
            |device, x| Ok(device.log_softmax(x, axis)?.into_output()),
            |device, x, dy| {
                let y = device.log_softmax(x, axis)?.into_output();
                Ok(device.dnn().log_softmax_gradient(&y, dy, axis)?.into_output())
            },
        );
    }
    for _ in 0..20 {
        let resize = resized(&mut rng);
        let from = [1 + rng.below(3), 1 + rng.below(6), 1 + rng.below(9)];
        let to = [from[0], 1 + rng.below(9), 1 + rng.below(9)];
        let scales = [None, Some([1.0, to[1] as f64 / from[1] as f64 + 0.1, 0.7])][rng.below(2)];
        let scales = scales.as_ref().map(|all| &all[..]);
        check(
            devices,
            &mut rng,
            (&from, &format!("{resize:?} of {from:?} to {to:?} by {scales:?}")),
            |device, x| Ok(device.dnn().resize(x, &to, scales, resize)?.into_output()),
            |device, x, dy| Ok(device.dnn().resize_gradient(dy, x.shape(), scales, resize)?.into_output()),
        );
    }
    statistics(devices, &mut rng);
    // Each setting with one of the ranks, in turn.
    let shapes: [(&[usize], &[usize]); 3] = [(&[4], &[5]), (&[3, 4], &[2, 3]), (&[2, 3, 2], &[1, 2, 2])];
    let mut turn = shapes.iter().cycle();
    for sampling in [Sampling::Nearest, Sampling::Linear, Sampling::Cubic] {
        for beyond in [Beyond::Zeros, Beyond::Border, Beyond::Reflection] {
            for align in [false, true] {
                let spec = GridSample::new(sampling).beyond(beyond).align_corners(align);
                of_grid(devices, &mut rng, spec, *turn.next().unwrap());
            }
        }
    }
}

fn statistics(devices: &[Device], rng: &mut Rng) {
    let given = |device: &Device| {
        let of = |all: [f64; 3]| device.tensor([3], all).unwrap();
        (of([0.5, -1.0, 2.0]), of([1.0, 0.25, 4.0]), of([2.0, -0.5, 1.0]))
    };
    check(
        devices,
        rng,
        (&[2, 3, 4], "a norm by statistics"),
        |device, x| {
            let (mean, variance, weight) = given(device);
            Ok(device.dnn().batch_norm(x, &mean, &variance, 1e-3, &Affine::weight(&weight))?.into_output())
        },
        |device, _, dy| {
            let (_, variance, weight) = given(device);
            Ok(device.dnn().batch_norm_gradient(dy, &variance, 1e-3, &Affine::weight(&weight))?.into_output())
        },
    );
    // The weight's, by the moments of the statistics.
    let (x, dy) = (Laid::<f64>::random(rng, &[2, 3, 4], Rng::unit), Laid::<f64>::random(rng, &[2, 3, 4], Rng::unit));
    let mut ways = vec![];
    for device in devices {
        let ((mean, variance, weight), dnn, x, dy) = (given(device), device.dnn(), x.up(device), dy.up(device));
        let moments = dnn.moments_of::<f64>(&mean, &variance, 1e-3, 3).unwrap().await_result().unwrap();
        let made = dnn.norm_weight_gradient(typed::<f64>(&x), typed::<f64>(&dy), &moments, NormKind::Batch).unwrap();
        let (dw, db) = made.await_result().unwrap();
        let y = dnn.batch_norm(typed::<f64>(&x), &mean, &variance, 1e-3, &Affine::weight(&weight)).unwrap();
        // What the weights multiply is the result over them.
        let normal = device.map((&y.into_output(), weight.reshape([3, 1]).unwrap()), |(y, w)| y / w).unwrap();
        let normal = read(device, &normal.into_output());
        let sums: Vec<f64> = (0..3)
            .map(|c| (0..24).filter(|k| k / 4 % 3 == c).map(|k| normal[k] * read_at(device, &dy, k)).sum())
            .collect();
        near(&read(device, &dw), &sums, 1e-12, "weight by statistics");
        ways.push([read(device, &dw), read(device, &db)].concat());
    }
    same_bits(&ways, "weights by statistics");
}

fn read_at(device: &Device, x: &windlass::tensor::AnyTensor, k: usize) -> f64 {
    let dense = device.contiguous(typed::<f64>(x)).unwrap().into_output();
    read(device, &dense)[k]
}

/// For the elements, and for the grid, whose places are not where the slope jumps.
fn of_grid(devices: &[Device], rng: &mut Rng, spec: GridSample, (elements, places): (&[usize], &[usize])) {
    let rank = elements.len();
    let x_extents = [&[1, 2], elements].concat();
    let grid_extents = [&[1], places, &[rank]].concat();
    let (x, grid) = (
        Laid::<f64>::random(rng, &x_extents, |rng| rng.unit()),
        Laid::<f64>::random(rng, &grid_extents, |rng| rng.unit() * 1.7),
    );
    let what = format!("{spec:?} {elements:?} at {places:?}");
    check(
        devices,
        rng,
        (&x_extents, &what),
        |device, x| Ok(device.dnn().grid_sample(x, typed::<f64>(&grid.up(device)), spec)?.into_output()),
        |device, x, dy| {
            let grid = grid.up(device);
            Ok(device.dnn().grid_sample_gradient(dy, typed::<f64>(&grid), x.shape(), spec)?.into_output())
        },
    );
    // `check` makes its own places, of up to 3.
    check(
        devices,
        rng,
        (&grid_extents, &format!("{what}, the grid")),
        |device, grid| {
            let own = device.map(grid, |g: windlass::expressions::Symbol<f64>| g * 0.6)?.into_output();
            Ok(device.dnn().grid_sample(typed::<f64>(&x.up(device)), &own, spec)?.into_output())
        },
        |device, grid, dy| {
            let own = device.map(grid, |g: windlass::expressions::Symbol<f64>| g * 0.6)?.into_output();
            let x = x.up(device);
            let d = device.dnn().grid_sample_grid_gradient(typed::<f64>(&x), &own, dy, spec)?.into_output();
            Ok(device.map(&d, |d| d * 0.6)?.into_output())
        },
    );
}

/// The product of two lists, and the sum of the sizes of its terms.
fn dot<A: Number, B: Number>(a: &[A], b: &[B]) -> (f64, f64) {
    let terms = || a.iter().zip(b).map(|(a, b)| a.number() * b.number());
    (terms().sum(), terms().map(f64::abs).sum())
}

fn transposed<T: Number + SoftmaxElement>(devices: &[Device], rng: &mut Rng, what: &str) {
    let eps = match size_of::<T>() {
        8 => 1e-12,
        4 => 1e-5,
        _ => 0.05,
    };
    let resize = resized(rng);
    let from: Vec<usize> = (0..3).map(|_| rng.among(&[1, 2, 3, 7, 20])).collect();
    let to: Vec<usize> = from.iter().map(|n| if rng.below(3) == 0 { *n } else { rng.among(&[1, 2, 5, 33]) }).collect();
    let (x, dy) = (Laid::<T>::random(rng, &from, |rng| rng.unit()), Laid::<T>::random(rng, &to, |rng| rng.unit()));
    let (mut forth, mut back) = (vec![], vec![]);
    for device in devices {
        let (x, dy, dnn) = (x.up(device), dy.up(device), device.dnn());
        forth.push(read(device, &dnn.resize(typed::<T>(&x), &to, None, resize).unwrap().await_result().unwrap()));
        let dx = dnn.resize_gradient(typed::<T>(&dy), &from, None, resize).unwrap().await_result().unwrap();
        assert_eq!(dx.shape(), from, "{what}");
        back.push(read(device, &dx));
    }
    let what = format!("{what} {resize:?} {from:?} to {to:?}");
    same_bits(&forth, &what);
    same_bits(&back, &what);
    // A transpose has the same products.
    let ((a, size), (b, other)) = (dot(&forth[0], &dy.elements), dot(&x.elements, &back[0]));
    assert!((a - b).abs() <= eps * (size + other + 1.0), "{what}: {a} and {b}");
    sampled::<T>(devices, rng, eps, &what);
}

fn sampled<T: Number + SoftmaxElement>(devices: &[Device], rng: &mut Rng, eps: f64, what: &str) {
    let rank = 1 + rng.below(3);
    let spec = GridSample::new(rng.among(&[Sampling::Nearest, Sampling::Linear, Sampling::Cubic]))
        .beyond(rng.among(&[Beyond::Zeros, Beyond::Border, Beyond::Reflection]))
        .align_corners(rng.below(2) == 0);
    let (batch, channels) = (rng.among(&[0, 1, 2]), rng.among(&[1, 3]));
    let elements: Vec<usize> = (0..rank).map(|_| rng.among(&[1, 2, 5])).collect();
    let places: Vec<usize> = (0..rank).map(|_| rng.among(&[0, 1, 3, 3])).collect();
    let all = [&[batch, channels], &elements[..]].concat();
    let x = Laid::<T>::random(rng, &all, |rng| rng.unit());
    let grid = Laid::<T>::random(rng, &[&[batch], &places[..], &[rank]].concat(), |rng| match rng.below(8) {
        0 => rng.among(&[-1.0, 1.0, 0.0]),
        _ => rng.unit() * 2.5,
    });
    let dy = Laid::<T>::random(rng, &[&[batch, channels], &places[..]].concat(), |rng| rng.unit());
    let what = format!("{what}; {spec:?} {all:?} at {places:?}");
    let (mut forth, mut back, mut grids) = (vec![], vec![], vec![]);
    for device in devices {
        let (x, grid, dy, dnn) = (x.up(device), grid.up(device), dy.up(device), device.dnn());
        let (x, grid, dy): (TensorRef<'_, T>, TensorRef<'_, T>, TensorRef<'_, T>) =
            (typed(&x), typed(&grid), typed(&dy));
        forth.push(read(device, &dnn.grid_sample(&x, &grid, spec).unwrap().await_result().unwrap()));
        let dx = dnn.grid_sample_gradient(&dy, &grid, &all, spec).unwrap().await_result().unwrap();
        assert_eq!(dx.shape(), all, "{what}");
        back.push(read(device, &dx));
        let own = dnn.grid_sample_grid_gradient(&x, &grid, &dy, spec).unwrap().await_result().unwrap();
        assert_eq!(own.shape(), grid.shape(), "{what}");
        grids.push(read(device, &own));
    }
    for ways in [&forth, &back, &grids] {
        same_bits(ways, &what);
    }
    let ((a, size), (b, other)) = (dot(&forth[0], &dy.elements), dot(&x.elements, &back[0]));
    assert!((a - b).abs() <= eps * (size + other + 1.0), "{what}: {a} and {b}");
    assert!(grids[0].iter().all(|x| x.number().is_finite()), "{what}");
}

/// Random layouts, of seeds from `first` on.
pub(crate) fn cases(devices: &[Device], first: u64, count: u64) {
    for seed in first..first + count {
        let rng = &mut Rng::new(seed + 900);
        let what = format!("seed {seed}");
        match seed % 4 {
            0 => transposed::<f64>(devices, rng, &what),
            1 => transposed::<f16>(devices, rng, &what),
            2 => transposed::<bf16>(devices, rng, &what),
            _ => transposed::<f32>(devices, rng, &what),
        }
    }
    // A small window that was made large: its elements are summed in parts.
    for resize in [
        Resize::new(Interpolation::Linear).coordinates(Coordinates::Crop(0.5, 0.51)),
        Resize::new(Interpolation::Cubic(-0.5)).coordinates(Coordinates::Crop(0.1, 0.12)),
    ] {
        let mut ways = vec![];
        for device in devices {
            let dy = device.full([3, 500], 1.0f32).unwrap();
            let dx = device.dnn().resize_gradient(&dy, &[3, 400], None, resize).unwrap().await_result().unwrap();
            ways.push(read(device, &dx));
        }
        same_bits(&ways, "a window");
        let sum: f32 = ways[0].iter().sum();
        assert!((sum - 1500.0).abs() < 0.01, "{sum}");
        assert!(ways[0].iter().filter(|x| **x == 0.0).count() > 1000);
    }
}

pub(crate) fn of_nothing(devices: &[Device]) {
    for device in devices {
        let dnn = device.dnn();
        let zeros = |extents: &[usize]| device.zeros::<f32>(extents).unwrap();
        let linear = Resize::new(Interpolation::Linear);
        for (elements, to) in [([2, 3], [2, 0]), ([0, 3], [0, 7]), ([2, 3], [2, 3]), ([2, 0], [2, 0])] {
            let dx = dnn.resize_gradient(&zeros(&to), &elements, None, linear).unwrap().await_result().unwrap();
            assert_eq!(dx.shape(), elements);
            assert!(read(device, &dx).iter().all(|x| x.to_bits() == 0));
        }
        // All new elements lie beyond the old ones.
        let beyond = linear.coordinates(Coordinates::Crop(2.0, 3.0)).outside(7.0);
        let ones = device.full([2, 4], 1.0f32).unwrap();
        let dx = dnn.resize_gradient(&ones, &[2, 3], None, beyond).unwrap().await_result().unwrap();
        assert_eq!(read(device, &dx), [0.0; 6]);
        for extents in [[0, 3], [3, 0]] {
            for axis in [0, 1] {
                let dx =
                    dnn.softmax_gradient(&zeros(&extents), &zeros(&extents), axis).unwrap().await_result().unwrap();
                assert_eq!(dx.shape(), extents);
            }
        }
        let places = device.zeros::<i64>([0, 2]).unwrap();
        let dy = dnn.max_unpool_gradient(&zeros(&[0, 5]), &places, 1).unwrap().await_result().unwrap();
        assert_eq!(dy.shape(), [0, 2]);
        let spec = GridSample::new(Sampling::Cubic);
        for (x, places) in [([0, 3, 4], 2), ([2, 0, 4], 2), ([2, 3, 4], 0), ([2, 3, 0], 0), ([2, 0, 0], 3)] {
            let (grid, dy) = (zeros(&[x[0], places, 1]), zeros(&[x[0], x[1], places]));
            let dx = dnn.grid_sample_gradient(&dy, &grid, &x, spec).unwrap().await_result().unwrap();
            assert_eq!((dx.shape(), read(device, &dx)), (&x[..], vec![0.0; x.iter().product()]));
            let own = dnn.grid_sample_grid_gradient(&zeros(&x), &grid, &dy, spec).unwrap().await_result().unwrap();
            assert_eq!((own.shape(), read(device, &own)), (grid.shape(), vec![0.0; x[0] * places]));
        }
        // What is padded, or beyond, does not matter: not even what is no number.
        let dy = device.tensor([1, 1, 2], [f32::NAN, 1.0]).unwrap();
        let grid = device.tensor([1, 2, 1], [9.0f32, 0.0]).unwrap();
        let linear = GridSample::new(Sampling::Linear);
        let dx = dnn.grid_sample_gradient(&dy, &grid, &[1, 1, 3], linear).unwrap().await_result().unwrap();
        assert_eq!(read(device, &dx), [0.0, 1.0, 0.0]);
        let dy = device.tensor([4], [f32::NAN, 1.0, 2.0, f32::INFINITY]).unwrap();
        let nearest = Resize::new(Interpolation::Nearest(Nearest::Floor)).coordinates(Coordinates::Asymmetric);
        let dx = dnn.resize_gradient(&dy, &[3], Some(&[1.0]), nearest).unwrap().await_result().unwrap();
        let made = read(device, &dx);
        assert!(made[0].is_nan() && made[1] == 1.0 && made[2].is_infinite(), "{made:?}");
        let x = device.tensor([4], [f32::NAN, 1.0, 2.0, f32::INFINITY]).unwrap();
        let aligned = Resize::new(Interpolation::Linear).coordinates(Coordinates::AlignCorners);
        let y = dnn.resize(&x, &[7], None, aligned).unwrap().await_result().unwrap();
        assert_eq!(read(device, &y)[2], 1.0);
    }
}

pub(crate) fn what_does_not_fit(device: &Device) {
    let dnn = device.dnn();
    let x = |extents: &[usize]| device.zeros::<f32>(extents).unwrap();
    let named = |error: windlass::Error, argument: &str| assert_eq!(refused(&error).0, argument, "{error}");
    named(dnn.softmax_gradient(&x(&[2, 3]), &x(&[3, 2]), 0).unwrap_err(), "dy");
    assert!(dnn.log_softmax_gradient(&x(&[2, 3]), &x(&[2, 3]), 2).is_err());
    let linear = Resize::new(Interpolation::Linear);
    named(dnn.resize_gradient(&x(&[2, 3]), &[2], None, linear).unwrap_err(), "extents");
    named(dnn.resize_gradient(&x(&[2, 3]), &[2, 0], None, linear).unwrap_err(), "x");
    named(dnn.resize_gradient(&x(&[2, 3]), &[2, 4], Some(&[1.0, -1.0]), linear).unwrap_err(), "scale");
    let spec = GridSample::new(Sampling::Linear);
    named(dnn.grid_sample_gradient(&x(&[1, 1, 2]), &x(&[1, 3, 1]), &[1, 1, 4], spec).unwrap_err(), "dy");
    named(dnn.grid_sample_gradient(&x(&[1, 1, 3]), &x(&[1, 3, 2]), &[1, 1, 4], spec).unwrap_err(), "grid");
    named(dnn.grid_sample_grid_gradient(&x(&[1, 1, 4]), &x(&[1, 3, 1]), &x(&[1, 2, 3]), spec).unwrap_err(), "dy");
    let places = device.zeros::<i64>([2, 3]).unwrap();
    named(dnn.max_unpool_gradient(&x(&[3, 5]), &places, 1).unwrap_err(), "places");
    named(dnn.max_unpool_gradient(&x(&[2, 5]), &places, 3).unwrap_err(), "places");
    // A place beyond its own plane is not one of the next plane.
    let far = device.tensor([2, 1], [5i64, 0]).unwrap();
    let told = dnn.max_unpool_gradient(&x(&[2, 5]), &far, 1).unwrap().await_result().unwrap_err();
    assert!(told.to_string().contains("number 0 of them is out of range for planes of 5 elements"), "{told}");
    assert_eq!(refused(&told.into()).0, "places");
    named(dnn.moments_of::<f32>(&x(&[2, 3]), &x(&[2]), 0.0, 3).unwrap_err(), "mean");
    named(dnn.moments_of::<f32>(&x(&[3]), &x(&[2]), 0.0, 3).unwrap_err(), "variance");
    named(dnn.moments_of::<f32>(&x(&[3]), &x(&[3]), 0.0, 1).unwrap_err(), "rank");
    named(dnn.batch_norm_gradient(&x(&[2, 3]), &x(&[2]), 0.0, &Affine::none()).unwrap_err(), "variance");
}

/// A coordinate without end lies beyond the elements, and moves with none.
#[test]
fn coordinates_without_end_take_nothing_and_have_no_slope() {
    for device in devices() {
        let x = device.tensor([1, 1, 3], vec![1.0f64, 2.0, 3.0]).unwrap();
        for far in [f64::INFINITY, f64::NEG_INFINITY, 1e308] {
            let grid = device.tensor([1, 2, 1], vec![far, 0.0]).unwrap();
            let dy = device.tensor([1, 1, 2], vec![1.0f64, 1.0]).unwrap();
            for sampling in [Sampling::Nearest, Sampling::Linear, Sampling::Cubic] {
                for beyond in [Beyond::Zeros, Beyond::Border] {
                    if sampling == Sampling::Cubic && beyond == Beyond::Border {
                        continue;
                    }
                    let spec = GridSample::new(sampling).beyond(beyond);
                    let what = format!("{far} {sampling:?} {beyond:?} {:?}", device.kind());
                    let y = device.dnn().grid_sample(&x, &grid, spec).unwrap().await_result().unwrap();
                    let edge = if far > 0.0 { 3.0 } else { 1.0 };
                    let wanted = if beyond == Beyond::Zeros { 0.0 } else { edge };
                    assert_eq!(read(&device, &y), [wanted, 2.0], "{what}");
                    let dx = device.dnn().grid_sample_gradient(&dy, &grid, x.shape(), spec).unwrap().await_result();
                    assert!(read(&device, &dx.unwrap()).iter().all(|x| x.is_finite()), "{what}");
                    let own = device.dnn().grid_sample_grid_gradient(&x, &grid, &dy, spec).unwrap().await_result();
                    assert_eq!(read(&device, &own.unwrap())[0], 0.0, "{what}");
                }
            }
        }
    }
}
