//! The same bits each time, of matrices and vectors; and what a library may do when it need not give them.

use super::matrix::{Matrix, Store, TRIANGLES, conj, product, real_part, scalar};
use crate::common::{Rng, Sample, assert_near, assert_same_bits, columns, devices, down, seeds, up};
use windlass::blas::{BlasElement, ComplexElement, Gemv, Symv};
use windlass::tensor::Layout;
use windlass::{Blas, Complex, Device, DeviceBuffer, Submitted, Tensor, TensorRef, Transpose, Uplo};

/// Large enough for a GPU to share the sums of a routine out among its processors.
const N: usize = 2000;

/// A routine of one matrix and one vector.
type Run<T> = fn(&Blas, &DeviceBuffer<T>, &DeviceBuffer<T>, DeviceBuffer<T>) -> Vec<T>;

fn square<T: BlasElement>(a: &DeviceBuffer<T>) -> TensorRef<'_, T> {
    columns(a, N, N)
}

fn of_tensor<T: BlasElement>(blas: &Blas, submitted: Submitted<Tensor<T>>) -> Vec<T> {
    down(blas.device(), submitted.unwrap())
}

/// What is known to be summed up with atomics, or in parts, where a library is free to.
fn routines<T: BlasElement>() -> Vec<(&'static str, Run<T>)> {
    vec![
        ("gemv", |blas, a, x, y| of_tensor(blas, blas.gemv(Gemv::new(), square(a), x, y))),
        ("gemv, transposed", |blas, a, x, y| of_tensor(blas, blas.gemv(Gemv::new(), square(a).transpose(), x, y))),
        ("gemv, conjugated", |blas, a, x, y| {
            of_tensor(blas, blas.gemv(Gemv::new().conjugate_a(), square(a).transpose(), x, y))
        }),
        ("symv, lower", |blas, a, x, y| of_tensor(blas, blas.symv(Symv::new(Uplo::Lower), square(a), x, y))),
        ("symv, upper", |blas, a, x, y| of_tensor(blas, blas.symv(Symv::new(Uplo::Upper), square(a), x, y))),
        ("dot", |blas, a, x, y| of_tensor(blas, blas.dot_into(a.slice(..N).unwrap(), x, y))),
        ("dotc", |blas, a, x, y| {
            of_tensor(blas, blas.dotc_into(a.view(Layout::new([N], [2], 0).unwrap()).unwrap(), x, y))
        }),
    ]
}

fn of_complex<T: ComplexElement>() -> Vec<(&'static str, Run<T>)> {
    vec![
        ("hemv, lower", |blas, a, x, y| of_tensor(blas, blas.hemv(Symv::new(Uplo::Lower), square(a), x, y))),
        ("hemv, upper", |blas, a, x, y| of_tensor(blas, blas.hemv(Symv::new(Uplo::Upper), square(a), x, y))),
    ]
}

/// As it is unless told otherwise, and with atomics allowed, which the switch outranks.
fn repeats<T: Sample + BlasElement>(device: &Device, rng: &mut Rng, routines: &[(&str, Run<T>)]) {
    let a = up(device, rng.samples::<T>(N * N));
    let x = up(device, rng.samples::<T>(N));
    for blas in [device.blas(), device.blas().atomics(true).deterministic(true)] {
        for (name, run) in routines {
            let once = || {
                let y = device.zeros(N).unwrap();
                run(&blas, &a, &x, y.into_buffer())
            };
            let first = once();
            assert!(first.iter().any(|y| *y != T::default()), "{name} did something");
            for _ in 0..8 {
                assert_same_bits(&once(), &first, &format!("{name} of {} on {device:?}", T::DTYPE));
            }
        }
    }
}

#[test]
fn the_same_call_gives_the_same_bits() {
    for device in devices() {
        seeds(1, |rng, _| {
            repeats::<f32>(&device, rng, &routines());
            repeats::<f64>(&device, rng, &routines());
            repeats::<Complex<f32>>(&device, rng, &[routines(), of_complex()].concat());
            repeats::<Complex<f64>>(&device, rng, &[routines(), of_complex()].concat());
        });
    }
}

/// symv or hemv.
type Product<T> = fn(&Blas, Symv<'_, T>, TensorRef<'_, T>, &DeviceBuffer<T>, DeviceBuffer<T>) -> Submitted<Tensor<T>>;

/// The library may add up in any order then, but what it adds up is the same.
fn unordered<T: Sample + BlasElement>(device: &Device, rng: &mut Rng, hermitian: bool, run: Product<T>) {
    for (uplo, n) in TRIANGLES.into_iter().flat_map(|uplo| [33, 700].map(|n| (uplo, n))) {
        let diagonal = |i, j, x: T| if hermitian && i == j { real_part(x) } else { x };
        let mirror = |x: T| if hermitian { conj(x) } else { x };
        let a = Matrix::triangle(n, uplo, Store::Full(0), |i, j| diagonal(i, j, T::sample(rng)), mirror, |_, _, x| x);
        let (alpha, beta, x, y) = (T::sample(rng), scalar(rng), rng.samples::<T>(n), rng.samples::<T>(n));
        let (want, bounds) = product(&a, Transpose::No, alpha, &x, beta, &y);
        let (da, dx) = (up(device, &a.data[..]), up(device, x));
        let spec = Symv::new(uplo).alpha(alpha).beta(beta);
        let got = run(&device.blas().atomics(true), spec, a.view(&da), &dx, up(device, y));
        let got = down(device, &got.unwrap().await_result().unwrap());
        let what = format!("{n}, {uplo:?}, Hermitian {hermitian}, of {} on {device:?}", T::DTYPE);
        (0..n).for_each(|i| assert_near(got[i], want[i], bounds[i], &format!("element {i} of {what}")));
    }
}

#[test]
fn atomics_give_the_same_sums_in_any_order() {
    for device in devices() {
        seeds(1, |rng, _| {
            unordered::<f32>(&device, rng, false, |blas, spec, a, x, y| blas.symv(spec, a, x, y));
            unordered::<f64>(&device, rng, false, |blas, spec, a, x, y| blas.symv(spec, a, x, y));
            unordered::<Complex<f32>>(&device, rng, false, |blas, spec, a, x, y| blas.symv(spec, a, x, y));
            unordered::<Complex<f64>>(&device, rng, false, |blas, spec, a, x, y| blas.symv(spec, a, x, y));
            unordered::<Complex<f32>>(&device, rng, true, |blas, spec, a, x, y| blas.hemv(spec, a, x, y));
            unordered::<Complex<f64>>(&device, rng, true, |blas, spec, a, x, y| blas.hemv(spec, a, x, y));
        });
    }
}
