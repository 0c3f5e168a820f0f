//! Factors by value and on the device, in every mixture, of every routine: the same answers. In small whole numbers, which every
//! engine, type and order of sums computes exactly.

use super::matrix::number;
use crate::common::{Rng, devices, down, refused, seeds, up};
use crate::level3::scalars::{Whole, whole};
use windlass::blas::{BlasElement, ComplexElement, Gemv, Ger, Numbers, Symv, Syr};
use windlass::tensor::Layout;
use windlass::{Complex, Device, Uplo};

const N: usize = 5;

/// Asserts that a call gives the same with its factors in any place.
#[track_caller]
fn agree<T: Whole, S: Whole>(
    device: &Device,
    what: &str,
    (alpha, beta): (S, S),
    call: impl Fn(Numbers<'_, S>, Numbers<'_, S>) -> Vec<T>,
) {
    let want = call(alpha.into(), beta.into());
    for [alpha_at, beta_at] in [[true, true], [true, false], [false, true]] {
        let (mut keep_alpha, mut keep_beta) = (None, None);
        let alpha = number(device, alpha, alpha_at, &mut keep_alpha);
        let got = call(alpha, number(device, beta, beta_at, &mut keep_beta));
        assert_eq!(got, want, "{what}, on the device: alpha {alpha_at}, beta {beta_at}");
    }
}

fn all<T: Whole + BlasElement>(device: &Device, rng: &mut Rng) {
    let (blas, of) = (device.blas(), |rng: &mut Rng, shape: &[usize]| {
        let elements = whole::<T>(rng, shape.iter().product());
        device.tensor(shape, elements).unwrap()
    });
    let (a, x, z) = (of(rng, &[3, N, N]), of(rng, &[3, N]), of(rng, &[N]));
    let old = whole::<T>(rng, 3 * N * N);
    let y = |shape: &[usize]| device.tensor(shape, &old[..shape.iter().product()]).unwrap();
    let (factors, uplo) = ((T::whole(rng), T::whole(rng)), rng.pick(&[Uplo::Upper, Uplo::Lower]));
    let (one, row) = (a.index(0, 1).unwrap(), x.index(0, 2).unwrap());
    agree(device, "gemv", factors, |alpha, beta| {
        down(device, blas.gemv(Gemv::new().alpha(alpha).beta(beta), &one, &row, y(&[N])).unwrap())
    });
    agree(device, "gemv of a batch", factors, |alpha, beta| {
        down(device, blas.gemv(Gemv::new().alpha(alpha).beta(beta), &a, &x, y(&[3, N])).unwrap())
    });
    agree(device, "gemv_batched", factors, |alpha, beta| {
        let spec = Gemv::new().alpha(alpha).beta(beta);
        let all = blas.gemv_batched(spec, [&one, &one], [&row, &z.view()], [y(&[N]), y(&[N])]).unwrap();
        all.await_result().unwrap().iter().flat_map(|y| down(device, y)).collect()
    });
    agree(device, "symv", factors, |alpha, beta| {
        down(device, blas.symv(Symv::new(uplo).alpha(alpha).beta(beta), &one, &row, y(&[N])).unwrap())
    });
    agree(device, "ger", factors, |alpha, _| {
        down(device, blas.ger(Ger::new().alpha(alpha), &row, &z, y(&[N, N])).unwrap())
    });
    agree(device, "syr", factors, |alpha, _| {
        down(device, blas.syr(Syr::new(uplo).alpha(alpha), &row, y(&[N, N])).unwrap())
    });
    agree(device, "syr2", factors, |alpha, _| {
        down(device, blas.syr2(Syr::new(uplo).alpha(alpha), &row, &z, y(&[N, N])).unwrap())
    });
}

fn complex<T: Whole + ComplexElement<Real = R>, R: Whole + BlasElement>(device: &Device, rng: &mut Rng) {
    let (blas, old) = (device.blas(), whole::<T>(rng, N * N));
    let [a, x, z] = [N * N, N, N].map(|n| up(device, whole::<T>(rng, n)));
    let (a, uplo) = (a.view(Layout::columns(N, N)).unwrap(), rng.pick(&[Uplo::Upper, Uplo::Lower]));
    let square = || up(device, &old[..]).with_layout(Layout::columns(N, N)).unwrap();
    agree(device, "hemv", (T::whole(rng), T::whole(rng)), |alpha, beta| {
        let spec = Symv::new(uplo).alpha(alpha).beta(beta);
        down(device, blas.hemv(spec, &a, &x, up(device, &old[..N])).unwrap())
    });
    // A zero factor by value writes nothing at all, not even the imaginary parts of the diagonal.
    agree(device, "her2", (T::real(-2.0), T::real(0.0)), |alpha, _| {
        down(device, blas.her2(Syr::new(uplo).alpha(alpha), &x, &z, square()).unwrap())
    });
    agree(device, "her", (R::real(-2.0), R::real(0.0)), |alpha, _| {
        down(device, blas.her(Syr::new(uplo).alpha(alpha), &x, square()).unwrap())
    });
    agree(device, "gerc", (T::whole(rng), T::real(0.0)), |alpha, _| {
        down(device, blas.gerc(Ger::new().alpha(alpha), &x, &z, square()).unwrap())
    });
}

#[test]
fn factors_of_every_routine_may_be_values_or_on_the_device() {
    for device in devices() {
        seeds(6, |rng, _| {
            all::<f32>(&device, rng);
            all::<f64>(&device, rng);
            all::<Complex<f32>>(&device, rng);
            all::<Complex<f64>>(&device, rng);
            complex::<Complex<f32>, f32>(&device, rng);
            complex::<Complex<f64>, f64>(&device, rng);
        });
    }
}

/// A factor is the answer of work that is still in flight; and it is one number.
#[test]
fn a_factor_may_be_in_flight_and_is_one_number() {
    for device in devices() {
        let (blas, x) = (device.blas(), device.tensor([2], [3.0f64, 4.0]).unwrap());
        let a = device.tensor([2, 2], [1.0, 0.0, 0.0, 1.0]).unwrap();
        let square = blas.dot_into(&x, &x, device.uninit([1]).unwrap()).unwrap();
        let y = blas.gemv(Gemv::new().alpha(&square).beta(2.0), &a, &x, device.full([2], 1.0).unwrap()).unwrap();
        assert_eq!(down(&device, &y), [77.0, 102.0]);
        let y = device.full([2], 1.0).unwrap();
        let rejected = blas.gemv(Gemv::new().alpha(&x), &a, &x, y).unwrap_err();
        assert_eq!(refused(&rejected.error).0, "alpha");
        assert!(rejected.error.to_string().contains("2 elements") && rejected.back.is_some(), "{rejected}");
    }
}
