//! Vector operations against the oracle, within its error bounds.

use crate::common::{Rng, Sample, assert_near, assert_same_bits, devices, down, magnitude, seeds, unit, up};
use windlass::blas::VectorElement;
use windlass::reference::{self, Value, dot_error_bound, nrm2_error_bound};
use windlass::{Complex, Device, bf16, f16};

const LENGTHS: [usize; 8] = [0, 1, 2, 3, 31, 257, 1000, 100_000];

/// Runs `$check::<T, S, N>(args)` for every element type, its scalars and norms.
macro_rules! each_type { ($check:ident($($arg:expr),*)) => {
    $check::<f32, f32, f32>($($arg),*);
    $check::<f64, f64, f64>($($arg),*);
    $check::<Complex<f32>, Complex<f32>, f32>($($arg),*);
    $check::<Complex<f64>, Complex<f64>, f64>($($arg),*);
    $check::<f16, f32, f16>($($arg),*);
    $check::<bf16, f32, bf16>($($arg),*);
} }

/// Roundings that a term of a sum over `n` elements meets at most, in any order of summation.
fn terms<T: Value>(n: usize) -> usize {
    n * if T::COMPLEX { 2 } else { 1 } + 8
}

/// All five operations on these vectors.
fn check<T, S, N>(device: &Device, x: &[T], y: &[T], alpha: S)
where
    S: Sample,
    N: Sample,
    T: Sample + VectorElement<Scalar = S, Norm = N>,
{
    let (n, blas) = (x.len(), device.blas());
    let what = format!("{n} elements of {}, alpha {alpha:?}, on {device:?}", T::DTYPE);
    let (dx, dy) = (up(device, x), up(device, y));

    let bound = dot_error_bound(x, y, terms::<T>(n), unit::<T>());
    let got = blas.dot(&dx, &dy).unwrap().await_result().unwrap();
    assert_near(got, reference::dot(n, x, 1, y, 1), bound, &format!("dot of {what}"));
    let got = blas.dotc(&dx, &dy).unwrap().await_result().unwrap();
    assert_near(got, reference::dotc(n, x, 1, y, 1), bound, &format!("dotc of {what}"));

    let want: N = reference::nrm2(n, x, 1);
    let bound = nrm2_error_bound::<N>(terms::<T>(n), unit::<T>()) * want.parts()[0];
    assert_near(blas.nrm2(&dx).unwrap().await_result().unwrap(), want, bound, &format!("nrm2 of {what}"));

    // A product of two parts and a sum, each rounded in the arithmetic, then to the type of the result.
    let roundings = 6.0 * unit::<T>() + 2.0 * T::UNIT;
    let mut want = y.to_vec();
    reference::axpy(n, alpha, x, 1, &mut want, 1);
    let got = down(device, &blas.axpy(alpha, &dx, dy).unwrap().await_result().unwrap());
    for i in 0..n {
        let bound = roundings * (magnitude(alpha) * magnitude(x[i]) + magnitude(y[i])) + T::TINY;
        assert_near(got[i], want[i], bound, &format!("axpy at {i} of {what}"));
    }
    let mut want = x.to_vec();
    reference::scal(n, alpha, &mut want, 1);
    let got = down(device, &blas.scal(alpha, dx).unwrap().await_result().unwrap());
    for i in 0..n {
        let bound = roundings * magnitude(alpha) * magnitude(x[i]) + T::TINY;
        assert_near(got[i], want[i], bound, &format!("scal at {i} of {what}"));
    }
}

fn random<T, S: Sample, N: Sample>(device: &Device, rng: &mut Rng)
where
    T: Sample + VectorElement<Scalar = S, Norm = N>,
{
    for n in LENGTHS {
        check(device, &rng.samples::<T>(n), &rng.samples::<T>(n), S::sample(rng));
    }
    check(device, &rng.samples::<T>(5), &rng.samples::<T>(5), S::real(0.0));
}

#[test]
fn vector_operations_agree_with_the_oracle_at_every_length() {
    for device in devices() {
        seeds(1, |rng, _| {
            each_type!(random(&device, rng));
        });
    }
}

fn special<T, S: Sample, N: Sample>(device: &Device)
where
    T: Sample + VectorElement<Scalar = S, Norm = N>,
{
    let (blas, one) = (device.blas(), T::real(1.0));
    let nan = |x: &[f64; 2]| x[0].is_nan();
    for n in [1, 3, 300] {
        let what = format!("{n} elements of {} on {device:?}", T::DTYPE);
        let mut x = vec![one; n];
        x[n / 2] = T::INFINITY;
        let ones = up(device, vec![one; n]);
        let dx = up(device, &x[..]);
        assert_eq!(blas.nrm2(&dx).unwrap().await_result().unwrap().parts()[0], f64::INFINITY, "{what}");
        assert!(!blas.dot(&dx, &ones).unwrap().await_result().unwrap().parts()[0].is_finite(), "{what}");
        x[n / 2] = T::NAN;
        let dx = up(device, &x[..]);
        assert!(nan(&blas.nrm2(&dx).unwrap().await_result().unwrap().parts()), "{what}");
        assert!(nan(&blas.dot(&dx, &ones).unwrap().await_result().unwrap().parts()), "{what}");
        assert!(nan(&blas.dotc(&ones, &dx).unwrap().await_result().unwrap().parts()), "{what}");

        let scaled = down(device, &blas.scal(S::real(0.0), up(device, &x[..])).unwrap().await_result().unwrap());
        let sum =
            down(device, &blas.axpy(S::real(1.0), &dx, up(device, vec![one; n])).unwrap().await_result().unwrap());
        for i in 0..n {
            assert_eq!(nan(&scaled[i].parts()), i == n / 2, "scal keeps a NaN where it is: {what}");
            assert_eq!(nan(&sum[i].parts()), i == n / 2, "axpy spreads a NaN to its place alone: {what}");
        }
        let same = blas.axpy(S::real(0.0), &dx, up(device, vec![one; n])).unwrap().await_result().unwrap();
        assert_same_bits(&down(device, &same), &vec![one; n], "axpy with a zero alpha reads nothing");
    }
}

#[test]
fn nan_and_infinity_go_where_arithmetic_says() {
    for device in devices() {
        each_type!(special(&device));
    }
}

#[test]
fn norms_of_extreme_vectors_neither_overflow_nor_underflow_on_the_way() {
    for device in devices() {
        for x in [1e300, 1e-300, f64::MAX / 64.0] {
            let want = x * 8.0; // the root of 64
            let norm = device.blas().nrm2(&up(&device, vec![x; 64])).unwrap().await_result().unwrap();
            assert!((norm - want).abs() <= 70.0 * f64::EPSILON * want, "{norm:e} for {want:e} on {device:?}");
        }
    }
}
