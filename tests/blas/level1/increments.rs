//! Every routine at the sizes, increments and scalars of the published BLAS tests, and some larger.

use crate::common::{
    INCREMENTS, Laid, Rng, Sample, assert_near, assert_same_bits, devices, down, left_out, magnitude, seeds, unit,
};
use windlass::blas::{BlasElement, RealElement, VectorElement};
use windlass::reference::{self, dot_error_bound, nrm2_error_bound};
use windlass::tensor::Layout;
use windlass::{Complex, Device, Tensor, bf16, f16};

const SIZES: [usize; 8] = [0, 1, 2, 3, 5, 9, 33, 130];

/// The scalars of the published tests: 0, 1, 0.7, and a complex one.
fn alphas<S: Sample>(rng: &mut Rng) -> [S; 4] {
    [S::real(0.0), S::real(1.0), S::real(0.7), S::sample(rng)]
}

/// Calls `check(device, rng, n, incx, incy)` for all of them, and for a sample of the long ones.
fn each_layout(check: impl Fn(&Device, &mut Rng, usize, isize, isize)) {
    for device in devices() {
        seeds(1, |rng, _| {
            for n in SIZES {
                for (incx, incy) in INCREMENTS.into_iter().flat_map(|x| INCREMENTS.map(|y| (x, y))) {
                    if n > 9 && left_out(4) {
                        continue;
                    }
                    check(&device, rng, n, incx, incy);
                }
            }
        });
    }
}

/// Two vectors of samples.
fn pair<T: Sample>(rng: &mut Rng, n: usize, incx: isize, incy: isize) -> (Laid<T>, Laid<T>) {
    (Laid::new(&rng.samples::<T>(n), incx), Laid::new(&rng.samples::<T>(n), incy))
}

/// The elements of `got` within `bound(i)` of those of `want`, everything between as it was.
#[track_caller]
fn near<T: Sample>(laid: &Laid<T>, got: &[T], want: &[T], bound: impl Fn(usize) -> f64, what: &str) {
    let (got, want) = (laid.changed(got, what), laid.elements(want));
    for i in 0..laid.n {
        assert_near(got[i], want[i], bound(i), &format!("element {i} of {what}"));
    }
}

fn vectors<T, S: Sample, N: Sample>(device: &Device, rng: &mut Rng, n: usize, incx: isize, incy: isize)
where
    T: Sample + VectorElement<Scalar = S, Norm = N>,
{
    let (blas, (x, y)) = (device.blas(), pair::<T>(rng, n, incx, incy));
    let (dx, dy) = (x.up(device), y.up(device));
    let what = format!("{n} of {}, {incx}, {incy}, on {device:?}", T::DTYPE);
    let (xs, ys) = (x.elements(&x.data), y.elements(&y.data));

    let terms = n * if T::COMPLEX { 2 } else { 1 } + 8;
    let bound = dot_error_bound(&xs, &ys, terms, unit::<T>());
    let got = blas.dot(x.tensor(&dx), y.tensor(&dy)).unwrap().await_result().unwrap();
    assert_near(got, reference::dot(n, &x.data, incx, &y.data, incy), bound, &format!("dot of {what}"));
    let got = blas.dotc(x.tensor(&dx), y.tensor(&dy)).unwrap().await_result().unwrap();
    assert_near(got, reference::dotc(n, &x.data, incx, &y.data, incy), bound, &format!("dotc of {what}"));
    let want: N = reference::nrm2(n, &x.data, incx);
    let bound = nrm2_error_bound::<N>(terms, unit::<T>()) * want.parts()[0];
    assert_near(blas.nrm2(x.tensor(&dx)).unwrap().await_result().unwrap(), want, bound, &format!("nrm2 of {what}"));

    let roundings = 6.0 * unit::<T>() + 2.0 * T::UNIT;
    for alpha in alphas::<S>(rng) {
        let what = format!("alpha {alpha:?}, {what}");
        let mut want = y.data.clone();
        reference::axpy(n, alpha, &x.data, incx, &mut want, incy);
        let got = blas.axpy(alpha, x.tensor(&dx), y.tensor_mut(device)).unwrap().await_result().unwrap();
        let bound = |i: usize| roundings * (magnitude(alpha) * magnitude(xs[i]) + magnitude(ys[i])) + T::TINY;
        near(&y, &down(device, got.buffer()), &want, bound, &format!("axpy, {what}"));

        let mut want = x.data.clone();
        reference::scal(n, alpha, &mut want, incx);
        let got = blas.scal(alpha, x.tensor_mut(device)).unwrap().await_result().unwrap();
        let bound = |i: usize| roundings * magnitude(alpha) * magnitude(xs[i]) + T::TINY;
        near(&x, &down(device, got.buffer()), &want, bound, &format!("scal, {what}"));
    }
}

#[test]
fn axpy_scal_dot_and_nrm2_take_every_increment() {
    each_layout(|device, rng, n, incx, incy| {
        vectors::<f32, f32, f32>(device, rng, n, incx, incy);
        vectors::<f64, f64, f64>(device, rng, n, incx, incy);
        vectors::<Complex<f32>, Complex<f32>, f32>(device, rng, n, incx, incy);
        vectors::<Complex<f64>, Complex<f64>, f64>(device, rng, n, incx, incy);
        vectors::<f16, f32, f16>(device, rng, n, incx, incy);
        vectors::<bf16, f32, bf16>(device, rng, n, incx, incy);
    });
}

fn moves<T: Sample + BlasElement>(device: &Device, rng: &mut Rng, n: usize, incx: isize, incy: isize) {
    let (blas, (x, y)) = (device.blas(), pair::<T>(rng, n, incx, incy));
    let what = format!("{n} of {}, {incx}, {incy}, on {device:?}", T::DTYPE);
    let (dx, xs, ys) = (x.up(device), x.elements(&x.data), y.elements(&y.data));
    let got = blas.copy(x.tensor(&dx), y.tensor_mut(device)).unwrap().await_result().unwrap();
    assert_same_bits(&y.changed(&down(device, got.buffer()), &what), &xs, &format!("copy of {what}"));
    let (gx, gy) = blas.swap(x.tensor_mut(device), y.tensor_mut(device)).unwrap().await_result().unwrap();
    assert_same_bits(&x.changed(&down(device, gx.buffer()), &what), &ys, &format!("x of swap of {what}"));
    assert_same_bits(&y.changed(&down(device, gy.buffer()), &what), &xs, &format!("y of swap of {what}"));
}

fn sums<T: Sample + BlasElement<Real = R>, R: Sample + BlasElement>(
    device: &Device,
    rng: &mut Rng,
    n: usize,
    incx: isize,
) {
    let (blas, x) = (device.blas(), Laid::new(&rng.samples::<T>(n), incx));
    let what = format!("{n} of {}, {incx}, on {device:?}", T::DTYPE);
    let dx = x.up(device);
    let want: R = reference::asum(n, &x.data, incx);
    let bound = reference::gamma(2 * n + 4, T::UNIT) * want.parts()[0];
    assert_near(blas.asum(x.tensor(&dx)).unwrap().await_result().unwrap(), want, bound, &format!("asum of {what}"));
    let got = blas.iamax(x.tensor(&dx)).unwrap().await_result().unwrap();
    assert_eq!(got, reference::extreme(n, &x.data, incx, true), "iamax of {what}");
    let got = blas.iamin(x.tensor(&dx)).unwrap().await_result().unwrap();
    assert_eq!(got, reference::extreme(n, &x.data, incx, false), "iamin of {what}");
    for alpha in [R::real(0.0), R::real(1.0), R::real(0.7), R::sample(rng)] {
        let mut want = x.data.clone();
        reference::scal(n, alpha, &mut want, incx);
        let got = blas.scal_real::<T>(alpha, x.tensor_mut(device)).unwrap().await_result().unwrap();
        let xs = x.elements(&x.data);
        let bound = |i: usize| 2.0 * T::UNIT * magnitude(alpha) * magnitude(xs[i]) + T::TINY;
        near(&x, &down(device, got.buffer()), &want, bound, &format!("scal_real by {alpha:?}, {what}"));
    }
}

fn rotations<T: Sample + BlasElement<Real = R>, R: Sample + BlasElement>(
    device: &Device,
    rng: &mut Rng,
    n: usize,
    incx: isize,
    incy: isize,
) {
    let (blas, (x, y)) = (device.blas(), pair::<T>(rng, n, incx, incy));
    let (xs, ys) = (x.elements(&x.data), y.elements(&y.data));
    for (c, s, real) in
        [(0.7, T::sample(rng), R::sample(rng)), (0.0, T::real(1.0), R::real(1.0)), (1.0, T::real(0.0), R::real(0.0))]
    {
        let c = R::real(c);
        let what = format!("c {c:?}, s {s:?}, {real:?}, {n} of {}, {incx}, {incy}, on {device:?}", T::DTYPE);
        let check = |s: T, (gx, gy): (Tensor<T>, Tensor<T>), what: &str| {
            let (mut wx, mut wy) = (x.data.clone(), y.data.clone());
            reference::rot(n, &mut wx, incx, &mut wy, incy, c, s);
            let most = magnitude(c).max(magnitude(s));
            let bound = |i: usize| 8.0 * T::UNIT * most * (magnitude(xs[i]) + magnitude(ys[i])) + T::TINY;
            near(&x, &down(device, gx.buffer()), &wx, bound, &format!("x of {what}"));
            near(&y, &down(device, gy.buffer()), &wy, bound, &format!("y of {what}"));
        };
        let got = blas.rot(c, s, x.tensor_mut(device), y.tensor_mut(device)).unwrap().await_result().unwrap();
        check(s, got, &format!("rot by {what}"));
        let got =
            blas.rot_real::<T>(c, real, x.tensor_mut(device), y.tensor_mut(device)).unwrap().await_result().unwrap();
        check(T::real(real.parts()[0]), got, &format!("rot_real by {what}"));
    }
}

fn modified<T: Sample + RealElement>(device: &Device, rng: &mut Rng, n: usize, incx: isize, incy: isize) {
    let (blas, (x, y)) = (device.blas(), pair::<T>(rng, n, incx, incy));
    let (xs, ys) = (x.elements(&x.data), y.elements(&y.data));
    let (zero, one) = (T::real(0.0), T::real(1.0));
    for flag in [-1.0, 0.0, 1.0, -2.0] {
        let h = [(); 4].map(|()| T::sample(rng));
        let rows = match flag {
            -1.0 => [[h[0], h[2]], [h[1], h[3]]],
            0.0 => [[one, h[2]], [h[1], one]],
            1.0 => [[h[0], one], [T::real(-1.0), h[3]]],
            _ => [[one, zero], [zero, one]],
        };
        let (mut wx, mut wy) = (x.data.clone(), y.data.clone());
        reference::rotm(n, &mut wx, incx, &mut wy, incy, rows);
        let param = [T::real(flag), h[0], h[1], h[2], h[3]];
        let (gx, gy) = blas.rotm(param, x.tensor_mut(device), y.tensor_mut(device)).unwrap().await_result().unwrap();
        let most = rows.iter().flatten().map(|h| magnitude(*h)).fold(0.0, f64::max);
        let bound = |i: usize| 4.0 * T::UNIT * most * (magnitude(xs[i]) + magnitude(ys[i])) + T::TINY;
        let what = format!("rotm by {param:?}, {n} of {}, {incx}, {incy}, on {device:?}", T::DTYPE);
        near(&x, &down(device, gx.buffer()), &wx, bound, &format!("x of {what}"));
        near(&y, &down(device, gy.buffer()), &wy, bound, &format!("y of {what}"));
    }
}

#[test]
fn copy_swap_and_rotations_take_every_increment() {
    each_layout(|device, rng, n, incx, incy| {
        moves::<f32>(device, rng, n, incx, incy);
        moves::<f64>(device, rng, n, incx, incy);
        moves::<Complex<f32>>(device, rng, n, incx, incy);
        moves::<Complex<f64>>(device, rng, n, incx, incy);
        rotations::<f32, f32>(device, rng, n, incx, incy);
        rotations::<f64, f64>(device, rng, n, incx, incy);
        rotations::<Complex<f32>, f32>(device, rng, n, incx, incy);
        rotations::<Complex<f64>, f64>(device, rng, n, incx, incy);
        modified::<f32>(device, rng, n, incx, incy);
        modified::<f64>(device, rng, n, incx, incy);
    });
}

#[test]
fn sums_of_magnitudes_and_extremes_take_every_increment() {
    each_layout(|device, rng, n, incx, incy| {
        if incy == 1 {
            sums::<f32, f32>(device, rng, n, incx);
            sums::<f64, f64>(device, rng, n, incx);
            sums::<Complex<f32>, f32>(device, rng, n, incx);
            sums::<Complex<f64>, f64>(device, rng, n, incx);
        }
    });
}

/// Enough elements for threads, so that their parts must begin at the right one.
#[test]
fn large_vectors_are_worked_on_once_each() {
    const N: usize = 300_001;
    for device in devices() {
        let blas = device.blas();
        for (incx, incy) in [(1, 1), (2, 1), (1, -2), (-1, -1)] {
            let xs: Vec<f64> = (0..N).map(|i| i as f64).collect();
            let ys: Vec<f64> = (0..N).map(|i| -(i as f64) - 0.5).collect();
            let (x, y) = (Laid::new(&xs, incx), Laid::new(&ys, incy));
            let what = format!("{incx}, {incy} on {device:?}");
            let (gx, gy) = blas.swap(x.tensor_mut(&device), y.tensor_mut(&device)).unwrap().await_result().unwrap();
            assert_same_bits(&x.changed(&down(&device, gx.buffer()), &what), &ys, &what);
            assert_same_bits(&y.changed(&down(&device, gy.buffer()), &what), &xs, &what);
            let got = blas.copy(x.tensor(&x.up(&device)), y.tensor_mut(&device)).unwrap().await_result().unwrap();
            assert_same_bits(&y.changed(&down(&device, got.buffer()), &what), &xs, &what);
            // A quarter turn is exact.
            let turned =
                blas.rot(0.0, 1.0, x.tensor_mut(&device), y.tensor_mut(&device)).unwrap().await_result().unwrap();
            assert_same_bits(&x.changed(&down(&device, turned.0.buffer()), &what), &ys, &what);
            let minus: Vec<f64> = xs.iter().map(|x| 0.0 * 1.0 - x).collect();
            assert_eq!(y.changed(&down(&device, turned.1.buffer()), &what), minus, "{what}");
        }
        let mut xs = vec![1.0f32; N];
        (xs[200_000], xs[200_001], xs[250_000], xs[260_000]) = (-3.0, 3.0, 0.5, -0.5);
        let x = crate::common::up(&device, xs);
        assert_eq!(blas.iamax(&x).unwrap().await_result().unwrap(), Some(200_000), "the first of equals on {device:?}");
        assert_eq!(blas.iamin(&x).unwrap().await_result().unwrap(), Some(250_000), "the first of equals on {device:?}");
        let sum = f64::from(blas.asum(&x).unwrap().await_result().unwrap());
        let want = N as f64 + 3.0;
        assert!((sum - want).abs() <= 1e-3 * want, "{sum} for {want} on {device:?}");
    }
}

/// One element has no stride, whatever the caller names.
#[test]
fn the_increment_of_one_element_may_be_any_number() {
    for device in devices() {
        let (blas, far) = (device.blas(), [isize::MIN, isize::MIN + 1, isize::MAX]);
        for (incx, incy) in far.into_iter().flat_map(|x| far.map(|y| (x, y))) {
            let one = |x: f64, inc: isize| {
                crate::common::up(&device, [x]).with_layout(Layout::new([1], [inc], 0).unwrap()).unwrap()
            };
            let (x, y) = (|x: f64| one(x, incx), |y: f64| one(y, incy));
            let item = |x: &Tensor<f64>| device.item(x).unwrap();
            let both = |(x, y): (Tensor<f64>, Tensor<f64>)| (item(&x), item(&y));
            let what = format!("{incx}, {incy} on {device:?}");
            let (two, three) = (y(2.0), x(3.0));
            assert_eq!(both(blas.swap(x(1.0), y(2.0)).unwrap().await_result().unwrap()), (2.0, 1.0), "swap {what}");
            let got = blas.rot(0.0, 1.0, x(1.0), y(2.0)).unwrap().await_result().unwrap();
            assert_eq!(both(got), (2.0, -1.0), "rot {what}");
            let got = blas.rot_real(0.0, 1.0, x(1.0), y(2.0)).unwrap().await_result().unwrap();
            assert_eq!(both(got), (2.0, -1.0), "rot_real {what}");
            let got = blas.rotm([-1.0, 0.0, 1.0, 1.0, 0.0], x(1.0), y(2.0)).unwrap().await_result().unwrap();
            assert_eq!(both(got), (2.0, 1.0), "rotm {what}");
            assert_eq!(item(&blas.copy(&three, y(2.0)).unwrap()), 3.0, "copy {what}");
            assert_eq!(item(&blas.axpy(2.0, &three, y(2.0)).unwrap()), 8.0, "axpy {what}");
            assert_eq!(blas.dot(&three, &two).unwrap().await_result().unwrap(), 6.0, "dot {what}");
            assert_eq!(item(&blas.scal(2.0, x(3.0)).unwrap()), 6.0, "scal {what}");
            assert_eq!(blas.nrm2(&three).unwrap().await_result().unwrap(), 3.0, "nrm2 {what}");
            assert_eq!(blas.asum(&three).unwrap().await_result().unwrap(), 3.0, "asum {what}");
            assert_eq!(blas.iamax(&three).unwrap().await_result().unwrap(), Some(0), "iamax {what}");
            assert_eq!(blas.iamin(&three).unwrap().await_result().unwrap(), Some(0), "iamin {what}");
        }
    }
}

/// Tensors of several axes are vectors if they are dense and lie in one order, and only then.
#[test]
fn dense_tensors_of_one_order_are_vectors() {
    for device in devices() {
        let blas = device.blas();
        let x = device.tensor([2, 3], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let ones = || device.full([2, 3], 1.0).unwrap();
        let y = blas.axpy(2.0, &x, ones()).unwrap();
        assert_eq!(device.to_vec(&y).unwrap(), [3.0, 5.0, 7.0, 9.0, 11.0, 13.0]);
        let columns = device.contiguous_columns(&x).unwrap();
        assert_eq!(blas.dot(&columns, &columns).unwrap().await_result().unwrap(), 91.0);
        assert_eq!(blas.asum(columns.transpose()).unwrap().await_result().unwrap(), 21.0);
        let refused = |error: windlass::Error, what: &str| {
            let (name, reason) = crate::common::refused(&error);
            assert!(name == "x" || name == "y", "{name}");
            assert!(reason.contains(what), "{reason}");
        };
        refused(blas.dot(&x, &columns).unwrap_err(), "one order");
        refused(blas.axpy(1.0, x.transpose(), ones()).unwrap_err().error, "shape");
        refused(blas.asum(x.flip(0).unwrap()).unwrap_err(), "`contiguous`");
        refused(blas.asum(x.slice((.., ..2)).unwrap()).unwrap_err(), "`contiguous`");
        refused(blas.dot(&x, x.reshape([6]).unwrap()).unwrap_err(), "shape");
        let row = x.index(0, 0).unwrap();
        refused(blas.asum(row.broadcast([2, 3]).unwrap()).unwrap_err(), "`contiguous`");
        refused(blas.dot(x.slice((0, 0)).unwrap().broadcast([3]).unwrap(), &row).unwrap_err(), "increment of 0");
        // A part is written, and what lies around it stays.
        let y = blas.scal(10.0, ones().part(|all| all.index(1, 1)).unwrap()).unwrap();
        assert_eq!(device.to_vec(&y).unwrap(), [1.0, 10.0, 1.0, 1.0, 10.0, 1.0]);
        let empty = device.tensor([0, 3], Vec::<f64>::new()).unwrap();
        assert_eq!(blas.nrm2(&empty).unwrap().await_result().unwrap(), 0.0);
        assert_eq!(blas.iamax(&empty).unwrap().await_result().unwrap(), None);
    }
}

/// Backwards, the first of equal elements is another one.
#[test]
fn an_extreme_of_a_flipped_view_is_the_first_of_it() {
    for device in devices() {
        let x = device.tensor([5], [1.0f32, -3.0, 0.5, 3.0, -0.5]).unwrap();
        let (blas, flipped) = (device.blas(), x.flip(0).unwrap());
        assert_eq!(blas.iamax(&x).unwrap().await_result().unwrap(), Some(1), "{device:?}");
        assert_eq!(blas.iamax(&flipped).unwrap().await_result().unwrap(), Some(1), "{device:?}");
        assert_eq!(blas.iamin(&x).unwrap().await_result().unwrap(), Some(2), "{device:?}");
        assert_eq!(blas.iamin(&flipped).unwrap().await_result().unwrap(), Some(0), "{device:?}");
        let second = x.slice((windlass::tensor::AxisSlice::from(..).step(-2),)).unwrap();
        assert_eq!(blas.iamax(&second).unwrap().await_result().unwrap(), Some(2), "-0.5, 0.5, 1 on {device:?}");
        let at = blas.iamax_into(&flipped, device.uninit([1]).unwrap()).unwrap();
        assert_eq!(device.item(&at).unwrap(), 2, "counted from 1");
    }
}
