//! trmv, trsv and their banded and packed forms.

use super::matrix::{
    DIAGONALS, Matrix, SIZES, STORES, Store, TRANSPOSES, TRIANGLES, conj, increments, near, other, product,
};
use crate::common::{Laid, Rng, Sample, devices, down, left_out, seeds, up};
use windlass::blas::{BlasElement, Trmv};
use windlass::reference;
use windlass::{Complex, Device, DeviceBuffer, Diag, TensorRef, Transpose, Uplo};

/// `op(A)`: full matrices are transposed by their views.
pub(crate) fn spec(uplo: Uplo, store: Store, of: Transpose) -> Trmv {
    let shown = if of == Transpose::No { uplo } else { other(uplo) };
    match store {
        Store::Full(_) if of == Transpose::Conjugate => Trmv::new(shown).conjugate_a(),
        Store::Full(_) => Trmv::new(shown),
        Store::Band(..) => Trmv::banded(uplo).trans(of),
        Store::Packed => Trmv::packed(uplo).trans(of),
    }
}

/// What a call with that specification reads.
pub(crate) fn operand<'a, T: Sample>(
    a: &Matrix<T>,
    buffer: &'a DeviceBuffer<T>,
    store: Store,
    of: Transpose,
) -> TensorRef<'a, T> {
    if matches!(store, Store::Full(_)) { a.turned(buffer, of) } else { a.view(buffer) }
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
                let spec = spec(uplo, store, of).diag(diag);
                let what = format!("{spec:?}, {inc}, on {device:?}");
                let xs = x.elements(&x.data);

                let (want, bounds) = product(&a, of, T::real(1.0), &xs, T::real(0.0), &xs);
                let got = device.blas().trmv(spec, operand(&a, &da, store, of), x.tensor_mut(device)).expect(&what);
                let got = down(device, got.await_result().expect(&what).buffer());
                near(&x, &got, &want, &bounds, &format!("trmv by {what}"));

                let got = device.blas().trsv(spec, operand(&a, &da, store, of), x.tensor_mut(device)).expect(&what);
                let solved = x.changed(&down(device, got.await_result().expect(&what).buffer()), &what);
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
