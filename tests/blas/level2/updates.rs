//! ger, syr, her, syr2, her2 and their packed forms.

use super::matrix::{
    Matrix, SIZES, Store, TRIANGLES, conj, factors, imaginary_part, increments, near_matrix, number, other, real_part,
};
use super::symmetric::with_imaginary;
use crate::common::{Laid, Rng, Sample, devices, down, is_host, left_out, seeds, up};
use windlass::blas::{BlasElement, ComplexElement, Ger, Syr};
use windlass::reference::Update;
use windlass::tensor::Part;
use windlass::{Complex, Device, Submitted, Tensor, Uplo};

const STORES: [Store; 3] = [Store::Full(0), Store::Full(2), Store::Packed];

/// Increments of the vectors, and a factor.
fn cases<T: Sample>(rng: &mut Rng, n: usize) -> Vec<((isize, isize), T)> {
    let all = increments(rng, n).into_iter();
    all.flat_map(|inc| factors::<T>(rng, n).into_iter().map(move |alpha| (inc, alpha))).collect()
}

fn ger<T: Sample + BlasElement>(device: &Device, rng: &mut Rng, m: usize, n: usize) {
    for ((incx, incy), alpha) in cases::<T>(rng, n) {
        if left_out(5) {
            continue;
        }
        for conjugate in [false, true] {
            // By columns, or by rows: then what lies by columns is the transposed matrix.
            let by_rows = !(conjugate && T::COMPLEX) && rng.below(2) == 0;
            let (rows, cols) = if by_rows { (n, m) } else { (m, n) };
            let lda = rows.max(1) + rng.below(3);
            let a = Matrix::<T>::general(rng, rows, cols, lda);
            let place = |i: usize, j: usize| if by_rows { (j, i) } else { (i, j) };
            let (x, y) = (Laid::new(&rng.samples::<T>(m), incx), Laid::new(&rng.samples::<T>(n), incy));
            let (dx, dy, mut keep) = (x.up(device), y.up(device), None);
            let da = a.tensor_mut(device).part(|all| Ok(if by_rows { all.transpose() } else { all.clone() })).unwrap();
            let spec = Ger::new().alpha(number(device, alpha, rng.below(4) == 0, &mut keep));
            let what = format!("{m} x {n}, {spec:?}, {da:?}, {alpha:?}, {incx}, {incy}, conjugate {conjugate}");
            let (blas, xv, yv) = (device.blas(), x.tensor(&dx), y.tensor(&dy));
            let pending = if conjugate { blas.gerc(spec, xv, yv, da) } else { blas.ger(spec, xv, yv, da) };
            let got = down(device, pending.expect(&what).await_result().expect(&what).buffer());
            let (xs, ys) = (x.elements(&x.data), y.elements(&y.data));
            let mut places = Vec::new();
            for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let (row, col) = place(i, j);
                let update = Update { alpha, beta: T::default(), conj: conjugate, a: a.entry(row, col) };
                let (want, bound) = update.element([xs[i]; 2], [ys[j]; 2]);
                places.push((row + col * lda, want, bound));
            }
            near_matrix(&a.data, &got, &places, &what);
        }
    }
}

/// Where the elements of a triangle are.
fn stored(n: usize, uplo: Uplo, store: Store) -> Vec<(usize, usize, usize)> {
    let mut all = Vec::new();
    // Every element is its own place: the harness puts it there.
    let number = |i: usize, j: usize| (i + j * n + 1) as f64;
    let of = Matrix::<f64>::triangle(n, uplo, store, number, |x| x, |_, _, x| x);
    for (place, number) in of.data.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
        let at = *number as usize - 1;
        all.push((at % n, at / n, place));
    }
    all
}

/// The triangle after an update: `element(i, j, what was there)` gives what is wanted.
fn check<T: Sample + BlasElement>(
    device: &Device,
    rng: &mut Rng,
    (n, uplo, store, hermitian): (usize, Uplo, Store, bool),
    call: impl FnOnce(Uplo, Part<T>) -> Submitted<Tensor<T>>,
    element: impl Fn(usize, usize, T) -> Option<(T, f64)>,
    what: &str,
) {
    let junk = T::sample(rng);
    let diagonal = |i, j, x: T| if hermitian && i == j { real_part(x) } else { x };
    let kept = |i: usize, j: usize, x: T| if hermitian && i == j { with_imaginary(x, junk) } else { x };
    let a = Matrix::triangle(n, uplo, store, |i, j| diagonal(i, j, T::sample(rng)), conj, kept);
    // The same triangle, of the transposed view the other one: rows are contiguous.
    let by_rows = !hermitian && matches!(store, Store::Full(_)) && rng.below(2) == 0;
    let shown = if by_rows { other(uplo) } else { uplo };
    let part = a.tensor_mut(device).part(|all| Ok(if by_rows { all.transpose() } else { all.clone() })).unwrap();
    let got = call(shown, part).expect(what).await_result().expect(what);
    let got = down(device, got.buffer());
    let all = stored(n, uplo, store).into_iter();
    let places = all.filter_map(|(i, j, place)| element(i, j, a.entry(i, j)).map(|(want, bound)| (place, want, bound)));
    near_matrix(&a.data, &got, &places.collect::<Vec<_>>(), what);
    if hermitian {
        // What was written; a zero alpha writes nothing.
        for (i, _, place) in stored(n, uplo, store).into_iter().filter(|(i, j, _)| i == j) {
            let written = element(i, i, T::default()).is_some();
            assert!(!written || imaginary_part(got[place]) == 0.0, "{i} on the diagonal is {:?}: {what}", got[place]);
        }
    }
}

fn symmetric<T: Sample + BlasElement>(device: &Device, rng: &mut Rng, n: usize) {
    for (uplo, store) in TRIANGLES.into_iter().flat_map(|uplo| STORES.map(|store| (uplo, store))) {
        if T::COMPLEX && store == Store::Packed && !is_host(device) {
            continue; // no routine of BLAS
        }
        for ((incx, incy), alpha) in cases::<T>(rng, n) {
            if left_out(5) {
                continue;
            }
            let (x, y) = (Laid::new(&rng.samples::<T>(n), incx), Laid::new(&rng.samples::<T>(n), incy));
            let (dx, dy, xs, ys) = (x.up(device), y.up(device), x.elements(&x.data), y.elements(&y.data));
            let blas = device.blas();
            let what = format!("{n}, {uplo:?}, {store:?}, {alpha:?}, {incx}, {incy}, {} on {device:?}", T::DTYPE);
            let update = |a| Update { alpha, beta: T::default(), conj: false, a };
            let element = |i: usize, j: usize, a: T| Some(update(a).element([xs[i], xs[j]], [xs[i], xs[j]]));
            let (at, mut keep) = (rng.below(4) == 0, None);
            let factor = number(device, alpha, at, &mut keep);
            let call = |uplo, a| blas.syr(spec(uplo, store).alpha(factor), x.tensor(&dx), a);
            check(device, rng, (n, uplo, store, false), call, element, &format!("syr, {what}"));

            let update = |a| Update { alpha, beta: alpha, conj: false, a };
            let element = |i: usize, j: usize, a: T| Some(update(a).element([xs[i], xs[j]], [ys[i], ys[j]]));
            let (at, mut keep) = (rng.below(4) == 0, None);
            let factor = number(device, alpha, at, &mut keep);
            let call = |uplo, a| blas.syr2(spec(uplo, store).alpha(factor), x.tensor(&dx), y.tensor(&dy), a);
            check(device, rng, (n, uplo, store, false), call, element, &format!("syr2, {what}"));
        }
    }
}

fn spec<'a, S: BlasElement>(uplo: Uplo, store: Store) -> Syr<'a, S> {
    if store == Store::Packed { Syr::packed(uplo) } else { Syr::new(uplo) }
}

fn hermitian<T: Sample + ComplexElement<Real = R>, R: Sample + BlasElement>(device: &Device, rng: &mut Rng, n: usize) {
    for (uplo, store) in TRIANGLES.into_iter().flat_map(|uplo| STORES.map(|store| (uplo, store))) {
        for ((incx, incy), alpha) in cases::<T>(rng, n) {
            if left_out(5) {
                continue;
            }
            let (x, y) = (Laid::new(&rng.samples::<T>(n), incx), Laid::new(&rng.samples::<T>(n), incy));
            let (dx, dy, xs, ys) = (x.up(device), y.up(device), x.elements(&x.data), y.elements(&y.data));
            let (real, blas) = (R::real(alpha.parts()[0]), device.blas());
            let what =
                format!("{n}, {uplo:?}, {store:?}, {real:?}, {alpha:?}, {incx}, {incy}, {} on {device:?}", T::DTYPE);
            // With a zero alpha nothing is written: then what was on the diagonal stays, and only that is looked at.
            let on = |i: usize, j: usize, (want, bound): (T, f64)| {
                Some((if i == j { real_part(want) } else { want }, bound))
            };
            let update = |a| Update { alpha: real, beta: R::default(), conj: true, a };
            let element = |i: usize, j: usize, a: T| {
                (real != R::default())
                    .then(|| update(a).element([xs[i], xs[j]], [xs[i], xs[j]]))
                    .and_then(|e| on(i, j, e))
            };
            let call = |uplo, a| blas.her(spec(uplo, store).alpha(real), x.tensor(&dx), a);
            check(device, rng, (n, uplo, store, true), call, element, &format!("her, {what}"));
            if real != R::default() {
                let at = up(device, [real]);
                let call = |uplo, a| blas.her(spec(uplo, store).alpha(&at), x.tensor(&dx), a);
                check(device, rng, (n, uplo, store, true), call, element, &format!("her from the device, {what}"));
            }

            let update = |a| Update { alpha, beta: conj(alpha), conj: true, a };
            let element = |i: usize, j: usize, a: T| {
                (alpha != T::default())
                    .then(|| update(a).element([xs[i], xs[j]], [ys[i], ys[j]]))
                    .and_then(|e| on(i, j, e))
            };
            let call = |uplo, a| blas.her2(spec(uplo, store).alpha(alpha), x.tensor(&dx), y.tensor(&dy), a);
            check(device, rng, (n, uplo, store, true), call, element, &format!("her2, {what}"));
        }
    }
}

fn all(device: &Device, rng: &mut Rng, n: usize) {
    symmetric::<f32>(device, rng, n);
    symmetric::<f64>(device, rng, n);
    symmetric::<Complex<f32>>(device, rng, n);
    symmetric::<Complex<f64>>(device, rng, n);
    hermitian::<Complex<f32>, f32>(device, rng, n);
    hermitian::<Complex<f64>, f64>(device, rng, n);
}

#[test]
fn updates_take_every_size_triangle_storage_and_increment() {
    for device in devices() {
        seeds(1, |rng, _| SIZES.into_iter().for_each(|n| all(&device, rng, n)));
    }
}

#[test]
fn large_updates_are_cut_up_right() {
    for device in devices() {
        seeds(1, |rng, _| all(&device, rng, 400));
    }
}

#[test]
fn products_of_vectors_take_every_size_and_increment() {
    for device in devices() {
        seeds(1, |rng, _| {
            let sizes =
                SIZES.into_iter().map(|n| (n, n)).chain([(3, 9), (9, 2), (0, 3), (3, 0), (300, 400), (1, 70_000)]);
            for (m, n) in sizes {
                ger::<f32>(&device, rng, m, n);
                ger::<f64>(&device, rng, m, n);
                ger::<Complex<f32>>(&device, rng, m, n);
                ger::<Complex<f64>>(&device, rng, m, n);
            }
        });
    }
}
