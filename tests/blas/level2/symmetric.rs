//! symv, hemv and their banded and packed forms.

use super::matrix::{Matrix, SIZES, STORES, Store, TRIANGLES, conj, increments, near, pairs, product, real_part};
use crate::common::{Laid, Rng, Sample, devices, down, is_host, left_out, seeds, up};
use windlass::blas::{BlasElement, ComplexElement, Symv};
use windlass::{Complex, Device, Transpose, Uplo};

pub(crate) fn spec<T: BlasElement>(n: usize, uplo: Uplo, store: Store) -> Symv<T> {
    match store {
        Store::Full(gap) => Symv::new(n, uplo).lda(n.max(1) + gap),
        Store::Band(k, gap) => Symv::banded(n, k, uplo).lda(k + 1 + gap),
        Store::Packed => Symv::packed(n, uplo),
    }
}

type Call<T> = fn(
    &windlass::Blas,
    windlass::blas::Scaled<'_, Symv<T>>,
    &windlass::DeviceBuffer<T>,
    windlass::Vector<'_, T>,
    windlass::VectorMut<T>,
) -> windlass::Submitted<windlass::DeviceBuffer<T>>;

fn check<T: Sample + BlasElement>(device: &Device, rng: &mut Rng, n: usize, hermitian: bool, call: Call<T>) {
    for (uplo, store) in TRIANGLES.into_iter().flat_map(|uplo| STORES.map(|store| (uplo, store))) {
        let plain = !hermitian && T::COMPLEX && !matches!(store, Store::Full(_));
        if plain && !is_host(device) {
            continue; // no routine of BLAS
        }
        let cases: Vec<_> = increments(rng, n)
            .into_iter()
            .flat_map(|inc| pairs::<T>(rng, n).into_iter().map(move |p| (inc, p)))
            .collect();
        for ((incx, incy), (alpha, beta)) in cases {
            if left_out(5) {
                continue;
            }
            let diagonal = |i, j, x: T| if hermitian && i == j { real_part(x) } else { x };
            // What lies in the imaginary parts of a Hermitian diagonal does not count.
            let junk = T::sample(rng);
            let kept = |i: usize, j: usize, x: T| if hermitian && i == j { with_imaginary(x, junk) } else { x };
            let mirror = |x: T| if hermitian { conj(x) } else { x };
            let a = Matrix::triangle(n, uplo, store, |i, j| diagonal(i, j, T::sample(rng)), mirror, kept);
            let zero = T::real(0.0);
            let at = rng.below(4) == 0;
            let x = Laid::new(&rng.samples::<T>(n), incx);
            let y = Laid::new(&if beta == zero { vec![T::NAN; n] } else { rng.samples::<T>(n) }, incy);
            let unread = alpha == zero && !at;
            let da = up(device, if unread { vec![T::NAN; a.data.len()] } else { a.data.clone() });
            let (dx, xs, ys) = (x.up(device), x.elements(&x.data), y.elements(&y.data));
            let (want, bounds) = product(&a, Transpose::No, alpha, &xs, beta, &ys);
            let spec = spec::<T>(n, uplo, store);
            let (dalpha, dbeta) = (up(device, [alpha]), up(device, [beta]));
            let scaled = if at { spec.scalars_at(&dalpha, &dbeta) } else { spec.alpha(alpha).beta(beta).into() };
            let got =
                call(&device.blas(), scaled, &da, x.view(&dx), y.view_mut(device)).unwrap().await_result().unwrap();
            let what = format!(
                "{spec:?}, Hermitian {hermitian}, {alpha:?}, {beta:?}, {incx}, {incy}, device {at}, {device:?}"
            );
            near(&y, &down(device, &got), &want, &bounds, &what);
        }
    }
}

/// The real part of one, the imaginary part of another.
pub(crate) fn with_imaginary<T: Sample>(x: T, junk: T) -> T {
    T::nearest(windlass::reference::Pair::new(x.parts()[0].into(), junk.parts()[1].into()))
}

fn symmetric<T: Sample + BlasElement>(device: &Device, rng: &mut Rng, n: usize) {
    check::<T>(device, rng, n, false, |blas, spec, a, x, y| blas.symv(spec, a, x, y));
}

fn hermitian<T: Sample + ComplexElement>(device: &Device, rng: &mut Rng, n: usize) {
    check::<T>(device, rng, n, true, |blas, spec, a, x, y| blas.hemv(spec, a, x, y));
}

fn all(device: &Device, rng: &mut Rng, n: usize) {
    symmetric::<f32>(device, rng, n);
    symmetric::<f64>(device, rng, n);
    symmetric::<Complex<f32>>(device, rng, n);
    symmetric::<Complex<f64>>(device, rng, n);
    hermitian::<Complex<f32>>(device, rng, n);
    hermitian::<Complex<f64>>(device, rng, n);
}

#[test]
fn products_take_every_size_triangle_storage_and_increment() {
    for device in devices() {
        seeds(1, |rng, _| SIZES.into_iter().for_each(|n| all(&device, rng, n)));
    }
}

#[test]
fn large_products_are_cut_up_right() {
    for device in devices() {
        seeds(1, |rng, _| all(&device, rng, 400));
    }
}
