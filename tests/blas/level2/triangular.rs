//! trmv, trsv and their banded and packed forms.

use super::matrix::{DIAGONALS, Matrix, SIZES, STORES, Store, TRANSPOSES, TRIANGLES, conj, increments, near, product};
use crate::common::{Laid, Rng, Sample, devices, down, left_out, seeds, up};
use windlass::blas::{BlasElement, Trmv};
use windlass::reference;
use windlass::{Complex, Device, Diag, Transpose, Uplo};

pub(crate) fn spec<T: BlasElement>(n: usize, uplo: Uplo, store: Store) -> Trmv<T> {
    match store {
        Store::Full(gap) => Trmv::new(n, uplo).lda(n.max(1) + gap),
        Store::Band(k, gap) => Trmv::banded(n, k, uplo).lda(k + 1 + gap),
        Store::Packed => Trmv::packed(n, uplo),
    }
}

/// A triangle that is easy to solve: a diagonal of 1 to 2, and beside it elements whose sum stays below a half. A unit
/// diagonal is stored as NaN, which must not be read.
pub(crate) fn triangle<T: Sample>(rng: &mut Rng, n: usize, uplo: Uplo, store: Store, diag: Diag) -> Matrix<T> {
    let small = |x: T| {
        let scale = 0.05 / n.max(1) as f64;
        T::nearest(windlass::reference::Pair::new((x.parts()[0] * scale).into(), (x.parts()[1] * scale).into()))
    };
    let sample = |i: usize, j: usize| match (i == j, diag) {
        (false, _) => small(T::sample(rng)),
        (true, Diag::Unit) => T::real(1.0),
        (true, Diag::NonUnit) => {
            let im = if T::COMPLEX { 0.5 } else { 0.0 };
            T::nearest(windlass::reference::Pair::new((1.0 + rng.below(8) as f64 / 8.0).into(), f64::into(im)))
        }
    };
    let kept = |i, j, x| if i == j && diag == Diag::Unit { T::NAN } else { x };
    Matrix::triangle(n, uplo, store, sample, |_| T::default(), kept)
}

fn check<T: Sample + BlasElement>(device: &Device, rng: &mut Rng, n: usize, stores: &[Store]) {
    for (uplo, diag) in TRIANGLES.into_iter().flat_map(|uplo| DIAGONALS.map(|diag| (uplo, diag))) {
        for (of, store) in TRANSPOSES.into_iter().flat_map(|of| stores.iter().map(move |store| (of, *store))) {
            let a = triangle::<T>(rng, n, uplo, store, diag);
            let da = up(device, &a.data[..]);
            for (inc, _) in increments(rng, n) {
                if n <= 130 && left_out(5) {
                    continue;
                }
                let x = Laid::new(&rng.samples::<T>(n), inc);
                let spec = spec::<T>(n, uplo, store).trans(of).diag(diag);
                let what = format!("{spec:?}, {inc}, on {device:?}");
                let xs = x.elements(&x.data);

                let (want, bounds) = product(&a, of, T::real(1.0), &xs, T::real(0.0), &xs);
                let got = device.blas().trmv(spec, &da, x.view_mut(device)).unwrap().await_result().unwrap();
                near(&x, &down(device, &got), &want, &bounds, &format!("trmv by {what}"));

                let got = device.blas().trsv(spec, &da, x.view_mut(device)).unwrap().await_result().unwrap();
                let solved = x.changed(&down(device, &got), &what);
                for (i, was) in xs.iter().enumerate() {
                    let element = |k: usize| match of {
                        Transpose::No => a.entry(i, k),
                        Transpose::Yes => a.entry(k, i),
                        Transpose::Conjugate => conj(a.entry(k, i)),
                    };
                    let (rest, bound) = reference::residual((0..n).map(element), &solved, *was);
                    assert!(rest <= bound, "{rest:e} is left of row {i}, not {bound:e}, of trsv by {what}");
                }
            }
        }
    }
}

#[test]
fn triangles_take_every_size_storage_flag_and_increment() {
    for device in devices() {
        seeds(1, |rng, _| {
            for n in SIZES {
                check::<f32>(&device, rng, n, &STORES);
                check::<f64>(&device, rng, n, &STORES);
                check::<Complex<f32>>(&device, rng, n, &STORES);
                check::<Complex<f64>>(&device, rng, n, &STORES);
            }
        });
    }
}

#[test]
fn large_triangles_are_cut_up_right() {
    for device in devices() {
        seeds(1, |rng, _| {
            check::<f64>(&device, rng, 1150, &[Store::Full(1)]);
            check::<Complex<f32>>(&device, rng, 400, &[Store::Packed]);
        });
    }
}
