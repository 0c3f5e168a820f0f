//! symv, hemv and their banded and packed forms.

use super::matrix::{
    Matrix, SIZES, STORES, Store, TRIANGLES, conj, increments, near, number, other, pairs, places, product, real_part,
};
use crate::common::{Laid, Rng, Sample, devices, down, is_host, left_out, seeds, up};
use windlass::blas::{BlasElement, ComplexElement, Symv};
use windlass::{Blas, Complex, Device, Submitted, Tensor, TensorRef, Transpose, Uplo};

fn spec<'a, T: BlasElement>(uplo: Uplo, store: Store) -> Symv<'a, T> {
    match store {
        Store::Full(_) => Symv::new(uplo),
        Store::Band(..) => Symv::banded(uplo),
        Store::Packed => Symv::packed(uplo),
    }
}

type Call<T> = fn(&Blas, Symv<'_, T>, TensorRef<'_, T>, TensorRef<'_, T>, Tensor<T>) -> Submitted<Tensor<T>>;

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
            let [alpha_at, beta_at] = places(rng);
            let x = Laid::new(&rng.samples::<T>(n), incx);
            let y = Laid::new(&if beta == zero { vec![T::NAN; n] } else { rng.samples::<T>(n) }, incy);
            let unread = alpha == zero && !alpha_at;
            let da = up(device, if unread { vec![T::NAN; a.data.len()] } else { a.data.clone() });
            let (dx, xs, ys) = (x.up(device), x.elements(&x.data), y.elements(&y.data));
            let (want, bounds) = product(&a, Transpose::No, alpha, &xs, beta, &ys);
            let (mut keep_alpha, mut keep_beta) = (None, None);
            // The same triangle, of the transposed view the other one: rows are contiguous.
            let (shown, view) = match !hermitian && matches!(store, Store::Full(_)) && rng.below(2) == 0 {
                true => (other(uplo), a.view(&da).transpose()),
                false => (uplo, a.view(&da)),
            };
            let spec = spec::<T>(shown, store).alpha(number(device, alpha, alpha_at, &mut keep_alpha));
            let spec = spec.beta(number(device, beta, beta_at, &mut keep_beta));
            let what = format!("{spec:?}, {view:?}, Hermitian {hermitian}, {alpha:?}, {beta:?}, {incx}, {incy}");
            let got = call(&device.blas(), spec, view, x.tensor(&dx), y.tensor_mut(device)).expect(&what);
            near(&y, &down(device, got.await_result().expect(&what).buffer()), &want, &bounds, &what);
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
