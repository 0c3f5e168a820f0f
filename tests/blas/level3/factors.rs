//! Scalars in device memory, of every routine of level 3 but the general products: each of them, or one beside a value. All in
//! small whole numbers, which every engine, type and order of sums computes exactly.

use super::matrix::each_type;
use super::scalars::{Whole, whole};
use crate::common::{Rng, columns, devices, down, into_columns, seeds, up};
use std::fmt::Debug;
use windlass::blas::{BlasElement, ComplexElement, Geam, Her2k, Herk, Numbers, Symm, Syr2k, Syrk, Triangular};
use windlass::{Complex, Device, DeviceBuffer, Diag, Element, Side, Submitted, Tensor, Uplo};

/// A number by value, and on the device.
struct Factor<T: Element>(T, DeviceBuffer<T>);

impl<T: Whole> Factor<T> {
    fn new(device: &Device, value: T) -> Self {
        Factor(value, up(device, [value]))
    }

    fn places(&self) -> [Numbers<'_, T>; 2] {
        [self.0.into(), (&self.1).into()]
    }
}

/// Asserts that a call gives the same wherever its scalars are.
#[track_caller]
fn agree<'a, A: Whole, B: Whole, R: PartialEq + Debug>(
    what: &str,
    alpha: &'a Factor<A>,
    beta: &'a Factor<B>,
    call: impl Fn(Numbers<'a, A>, Numbers<'a, B>) -> R,
) {
    let want = call(alpha.0.into(), beta.0.into());
    for (alpha, beta) in alpha.places().into_iter().flat_map(|a| beta.places().map(|b| (a.clone(), b))) {
        let places = format!("{alpha:?} and {beta:?}");
        assert_eq!(call(alpha, beta), want, "{what} with {places}");
    }
}

#[track_caller]
fn got<T: Element>(device: &Device, submitted: Submitted<Tensor<T>>) -> Vec<T> {
    down(device, submitted.unwrap().await_result().unwrap().buffer())
}

const N: usize = 5;

fn unit<T: Whole + BlasElement>(side: Side, uplo: Uplo, alpha: Numbers<'_, T>) -> Triangular<'_, T> {
    Triangular::new(side, uplo).diag(Diag::Unit).alpha(alpha)
}

fn all<T: Whole + BlasElement>(device: &Device, rng: &mut Rng) {
    let blas = device.blas();
    let of = |rng: &mut Rng| whole::<T>(rng, 3 * N * N);
    let ((a, b), c) = ((up(device, of(rng)), up(device, of(rng))), of(rng));
    let of_c = windlass::tensor::Layout::columns(N, N).batch(3, N * N);
    let (alpha, beta) = (Factor::new(device, T::whole(rng)), Factor::new(device, T::whole(rng)));
    let (uplo, side) = (rng.pick(&[Uplo::Upper, Uplo::Lower]), rng.pick(&[Side::Left, Side::Right]));
    let (batch, a, b) = (a.view(of_c).unwrap(), columns(&a, N, N), columns(&b, N, N));
    let c = || into_columns(up(device, &c[..]), N, N);

    agree("symm", &alpha, &beta, |x, y| got(device, blas.symm(Symm::new(side, uplo).alpha(x).beta(y), &a, &b, c())));
    agree("syrk", &alpha, &beta, |x, y| got(device, blas.syrk(Syrk::new(uplo).alpha(x).beta(y), &a, c())));
    agree("syr2k", &alpha, &beta, |x, y| got(device, blas.syr2k(Syr2k::new(uplo).alpha(x).beta(y), &a, &b, c())));
    agree("syrkx", &alpha, &beta, |x, y| got(device, blas.syrkx(Syr2k::new(uplo).alpha(x).beta(y), &a, &b, c())));
    agree("geam", &alpha, &beta, |x, y| got(device, blas.geam(Geam::new().alpha(x).beta(y), &a, &b, c())));

    // With ones on its diagonal the inverse of a triangle of whole numbers is one too.
    let spec = |x| unit(side, uplo, x);
    let a = a.transpose();
    agree("trmm", &alpha, &beta, |x, _| got(device, blas.trmm(spec(x), &a, c())));
    agree("trmm_into", &alpha, &beta, |x, _| got(device, blas.trmm_into(spec(x), &a, &b, c())));
    agree("trsm", &alpha, &beta, |x, _| got(device, blas.trsm(spec(x), &a, c())));
    agree("trsm of a batch", &alpha, &beta, |x, _| {
        got(device, blas.trsm(spec(x), &batch, c().into_buffer().with_layout(of_c).unwrap()))
    });
    agree("trsm_batched", &alpha, &beta, |x, _| {
        let x = blas.trsm_batched(spec(x), [&a, &a], [c(), c()]).unwrap().await_result().unwrap();
        x.iter().flat_map(|x| down(device, x.buffer())).collect::<Vec<_>>()
    });
}

fn complex<T: Whole + ComplexElement<Real = R>, R: Whole + BlasElement>(device: &Device, rng: &mut Rng) {
    let blas = device.blas();
    let of = |rng: &mut Rng| whole::<T>(rng, N * N);
    let ((a, b), c) = ((up(device, of(rng)), up(device, of(rng))), of(rng));
    let (alpha, beta) = (Factor::new(device, T::whole(rng)), Factor::new(device, T::whole(rng)));
    let (real_alpha, real_beta) = (Factor::new(device, R::whole(rng)), Factor::new(device, R::whole(rng)));
    let (a, b, c) = (columns(&a, N, N), columns(&b, N, N), || into_columns(up(device, &c[..]), N, N));
    let uplo = rng.pick(&[Uplo::Upper, Uplo::Lower]);

    agree("hemm", &alpha, &beta, |x, y| {
        got(device, blas.hemm(Symm::new(Side::Right, uplo).alpha(x).beta(y), &a, &b, c()))
    });
    agree("herk", &real_alpha, &real_beta, |x, y| got(device, blas.herk(Herk::new(uplo).alpha(x).beta(y), &a, c())));
    agree("her2k", &alpha, &real_beta, |x, y| got(device, blas.her2k(Her2k::new(uplo).alpha(x).beta(y), &a, &b, c())));
    // The caller knows that the product is Hermitian: A times itself is, with a real factor.
    let real = Factor::new(device, T::real(2.0));
    agree("herkx", &real, &real_beta, |x, y| got(device, blas.herkx(Her2k::new(uplo).alpha(x).beta(y), &a, &a, c())));
}

#[test]
fn scalars_of_every_routine_may_lie_on_the_device_beside_a_value() {
    for device in devices() {
        seeds(6, |rng, _| {
            each_type!(all(&device, rng));
            complex::<Complex<f32>, f32>(&device, rng);
            complex::<Complex<f64>, f64>(&device, rng);
        });
    }
}
