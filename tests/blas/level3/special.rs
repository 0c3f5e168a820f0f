//! NaN, infinities, zeros and subnormals go where BLAS says, in every routine of level 3.

use super::matrix::{Matrix, Number, TRIANGLES, each_type, inside, real};
use crate::common::{Sample, assert_same_bits, columns, devices, down, into_columns, is_host, up};
use windlass::blas::{BlasElement, ComplexElement, Geam, GemmElement, Her2k, Herk, Symm, Syr2k, Syrk, Triangular};
use windlass::{Complex, Device, Gemm, Side, Submitted, Tensor, Uplo};

const SIDES: [Side; 2] = [Side::Left, Side::Right];
/// Smaller than every block, and larger.
const ORDERS: [usize; 2] = [5, 70];

/// What a submitted routine leaves.
#[track_caller]
pub(crate) fn answer<T: Number>(device: &Device, submitted: Submitted<Tensor<T>>) -> Vec<T> {
    down(device, submitted.unwrap().await_result().unwrap().buffer())
}

/// 1, of the type of a Hermitian update's factors.
fn real_one<T: Number>() -> T::Real {
    <T::Real as GemmElement>::ONE
}

/// An `n x n` matrix of ones.
fn ones<T: Number>(n: usize) -> Vec<T> {
    vec![real(1.0); n * n]
}

/// The same with a NaN at (`i`, `j`).
fn spoilt<T: Number>(n: usize, i: usize, j: usize) -> Vec<T> {
    let mut data = ones(n);
    data[i + j * n] = T::NAN;
    data
}

/// A square matrix, column after column.
fn square<T: Number>(device: &Device, data: impl Into<Vec<T>>) -> Tensor<T> {
    let data = data.into();
    let n = data.len().isqrt();
    into_columns(up(device, data), n, n)
}

/// An `n x n` matrix without contents.
fn fresh<T: Number>(device: &Device, n: usize) -> Tensor<T> {
    into_columns(device.uninit(n * n).unwrap().into_buffer(), n, n)
}

/// Asserts that the elements of C that are no numbers are those.
#[track_caller]
fn assert_nan<T: Number>(n: usize, c: &[T], expected: impl Fn(usize, usize) -> bool, what: &str) {
    for (i, j) in (0..n).flat_map(|j| (0..n).map(move |i| (i, j))) {
        let is_nan = c[i + j * n].parts().iter().any(|x| x.is_nan());
        assert_eq!(is_nan, expected(i, j), "{what}: ({i}, {j}) of {n} is {:?}, {}", c[i + j * n], T::DTYPE);
    }
}

/// Everything is 1 but one element, which is no number: it reaches what it is a factor of and nothing else.
fn nan<T: Number>(device: &Device, n: usize) {
    let (blas, c) = (device.blas(), || square(device, ones::<T>(n)));
    let (whole, a) = (c(), square(device, spoilt::<T>(n, 3, 1)));
    let one = real::<T>(1.0);
    for uplo in TRIANGLES {
        let read = inside(uplo, 3, 1);
        for side in SIDES {
            // It stands for its mirror image as well: rows (on the right columns) 1 and 3.
            let across = |i: usize, j: usize| if side == Side::Left { i } else { j };
            let spec = || Symm::new(side, uplo).beta(one);
            let got = answer(device, blas.symm(spec(), &a, &whole, c()));
            assert_nan(
                n,
                &got,
                |i, j| read && [1, 3].contains(&across(i, j)),
                &format!("A of symm, {side:?} {uplo:?}"),
            );
            let got = answer(device, blas.symm(spec(), &whole, &a, c()));
            let along = |i: usize, j: usize| if side == Side::Left { j == 1 } else { i == 3 };
            assert_nan(n, &got, along, &format!("B of symm, {side:?} {uplo:?}"));
            let got = answer(device, blas.symm(spec(), &whole, &whole, square(device, spoilt::<T>(n, 3, 1))));
            assert_nan(n, &got, |i, j| (i, j) == (3, 1), &format!("C of symm, {side:?} {uplo:?}"));

            let spec = Triangular::new(side, uplo);
            let got = answer(device, blas.trmm(spec, &a, c()));
            let reached = |i: usize, j: usize| read && if side == Side::Left { i == 3 } else { j == 1 };
            assert_nan(n, &got, reached, &format!("A of trmm, {side:?} {uplo:?}"));
        }
        // The other triangle of C stays: it was 1.
        let cross = |i: usize, j: usize| inside(uplo, i, j) && (i == 3 || j == 3);
        let turned = square(device, spoilt::<T>(n, 1, 3));
        for (factor, whole) in [(a.view(), whole.view()), (turned.transpose(), whole.transpose())] {
            let got = answer(device, blas.syrk(Syrk::new(uplo).beta(one), &factor, c()));
            assert_nan(n, &got, cross, &format!("syrk, {factor:?} {uplo:?}"));
            let spec = || Syr2k::new(uplo).beta(one);
            assert_nan(n, &answer(device, blas.syr2k(spec(), &factor, &whole, c())), cross, "A of syr2k");
            assert_nan(n, &answer(device, blas.syr2k(spec(), &whole, &factor, c())), cross, "B of syr2k");
            let (row, column) =
                (|i: usize, j: usize| inside(uplo, i, j) && i == 3, |i, j: usize| inside(uplo, i, j) && j == 3);
            assert_nan(n, &answer(device, blas.syrkx(spec(), &factor, &whole, c())), row, "A of syrkx");
            assert_nan(n, &answer(device, blas.syrkx(spec(), &whole, &factor, c())), column, "B of syrkx");
        }
    }
    // The rows below the one with the NaN depend on it, and on the right the columns before its own. A GPU may compute
    // whole blocks, and of them only these are promised.
    for (side, depends) in SIDES.into_iter().zip([|i: usize, _: usize| i >= 3, |_: usize, j: usize| j <= 1]) {
        let spec = Triangular::new(side, Uplo::Lower);
        let got = answer(device, blas.trsm(spec, &a, c()));
        let depends = |i, j| depends(i, j) || !is_host(device) && got[i + j * n].parts()[0].is_nan();
        assert_nan(n, &got, depends, &format!("A of trsm, {side:?}"));
    }
    let got = answer(device, blas.geam(Geam::new().beta(one), &a, &whole, c()));
    assert_nan(n, &got, |i, j| (i, j) == (3, 1), "A of geam");
    let got = answer(device, blas.geam(Geam::new().beta(one), &whole, a.transpose(), c()));
    assert_nan(n, &got, |i, j| (i, j) == (1, 3), "B of geam");
    let got = answer(device, blas.dgmm(Side::Left, &whole, a.index(1, 1).unwrap(), c()));
    assert_nan(n, &got, |i, _| i == 3, "x of dgmm");
    let got = answer(device, blas.dgmm(Side::Right, &a, whole.index(1, 0).unwrap(), c()));
    assert_nan(n, &got, |i, j| (i, j) == (3, 1), "A of dgmm");
}

fn hermitian_nan<T: Number + ComplexElement>(device: &Device, n: usize) {
    let (blas, c) = (device.blas(), || square(device, ones::<T>(n)));
    let (whole, a, real_one) = (c(), square(device, spoilt::<T>(n, 3, 1)), real_one::<T>());
    for uplo in TRIANGLES {
        let cross = |i: usize, j: usize| inside(uplo, i, j) && (i == 3 || j == 3);
        let got = answer(device, blas.hemm(Symm::new(Side::Left, uplo), &a, &whole, c()));
        assert_nan(n, &got, |i, _| inside(uplo, 3, 1) && [1, 3].contains(&i), "A of hemm");
        let got = answer(device, blas.herk(Herk::new(uplo).beta(real_one), &a, c()));
        assert_nan(n, &got, cross, "herk");
        let spec = || Her2k::new(uplo).beta(real_one);
        assert_nan(n, &answer(device, blas.her2k(spec(), &a, &whole, c())), cross, "A of her2k");
        assert_nan(n, &answer(device, blas.her2k(spec(), &whole, &a, c())), cross, "B of her2k");
        let row = |i: usize, j: usize| inside(uplo, i, j) && i == 3;
        assert_nan(n, &answer(device, blas.herkx(spec(), &a, &whole, c())), row, "A of herkx");
    }
}

#[test]
fn a_nan_reaches_what_it_is_a_factor_of_and_nothing_else() {
    for device in devices() {
        for n in ORDERS {
            each_type!(nan(&device, n));
            hermitian_nan::<Complex<f32>>(&device, n);
            hermitian_nan::<Complex<f64>>(&device, n);
        }
    }
}

/// What lies in the imaginary parts of a Hermitian diagonal does not count, be it no number.
fn diagonals<T: Number + ComplexElement>(device: &Device, of: fn(f64, f64) -> T) {
    let (blas, n) = (device.blas(), 3);
    let mut a = ones::<T>(n);
    (0..n).for_each(|i| a[i + i * n] = of(1.0, f64::NAN));
    let (c, whole) = (|| square(device, &a[..]), square(device, ones::<T>(n)));
    for uplo in TRIANGLES {
        for side in SIDES {
            let got = answer(device, blas.hemm(Symm::new(side, uplo), &c(), &whole, fresh(device, n)));
            assert_eq!(got, vec![of(3.0, 0.0); n * n], "hemm, {side:?} {uplo:?} on {device:?}");
        }
        let spec = Herk::new(uplo).beta(real_one::<T>());
        let spec2 = Her2k::new(uplo).beta(real_one::<T>());
        let herk = answer(device, blas.herk(spec, &whole, c()));
        let her2k = answer(device, blas.her2k(spec2, &whole, &whole, c()));
        for (name, got, want) in [("herk", herk, 4.0), ("her2k", her2k, 7.0)] {
            if name == "her2k" && !is_host(device) {
                continue; // what is there reaches the answer (cuBLAS 13.1)
            }
            (0..n).for_each(|i| assert_eq!(got[i + i * n], of(want, 0.0), "{name}, {uplo:?} on {device:?}"));
        }
    }
}

#[test]
fn the_imaginary_part_of_a_hermitian_diagonal_is_zero_whatever_is_there() {
    for device in devices() {
        diagonals::<Complex<f32>>(&device, |re, im| Complex::new(re as f32, im as f32));
        diagonals::<Complex<f64>>(&device, Complex::new);
    }
}

/// An infinity times a number has its sign, times zero it is no number, and what is divided by it is zero.
fn infinities<T: Number>(device: &Device) {
    let (blas, out) = (device.blas(), || fresh(device, 2));
    let r = |x: f64| real::<T>(x);
    let same = |got: Vec<T>, want: [f64; 4], what: &str| {
        let equal = |(got, want): (&T, f64)| got.parts()[0] == want || got.parts()[0].is_nan() && want.is_nan();
        assert!(got.iter().zip(want).all(equal), "{what}: {got:?} for {want:?} on {device:?}");
    };
    const INF: f64 = f64::INFINITY;
    let a = square(device, [T::INFINITY, r(0.0), r(0.0), r(1.0)]); // the diagonal (inf, 1)
    let b = square(device, [r(2.0), r(3.0), r(-1.0), r(0.0)]); // columns (2, 3) and (-1, 0)
    let diagonal = [INF, 3.0, -INF, 0.0];
    let gemm = |a: &Tensor<T>, b: &Tensor<T>| answer(device, blas.gemm(Gemm::new(), a, b, out()));
    same(gemm(&a, &b), diagonal, "gemm");
    same(answer(device, blas.symm(Symm::new(Side::Left, Uplo::Lower), &a, &b, out())), diagonal, "symm");
    let lower = || Triangular::new(Side::Left, Uplo::Lower);
    same(answer(device, blas.trmm_into(lower(), &a, &b, out())), diagonal, "trmm");
    let of_a = a.diagonal(0, 0, 1).unwrap();
    same(answer(device, blas.dgmm(Side::Left, &b, of_a, out())), diagonal, "dgmm");
    let infinite = square(device, [T::INFINITY; 4]);
    let product = [INF, INF, f64::NAN, f64::NAN]; // inf * -1 + inf * 0
    same(gemm(&infinite, &b), product, "gemm of infinities");
    let sum = answer(device, blas.geam(Geam::new().beta(r(-1.0)), &infinite, &a, out()));
    same(sum, [f64::NAN, INF, INF, INF], "geam");
    let c = || square(device, [r(1.0); 4]);
    let column = into_columns(up(device, [T::INFINITY, r(-2.0)]), 2, 1);
    same(answer(device, blas.syrk(Syrk::new(Uplo::Lower), &column, c())), [INF, -INF, 1.0, 4.0], "syrk");
    let ones = into_columns(up(device, [r(1.0); 2]), 2, 1);
    let spec = Syr2k::new(Uplo::Lower);
    same(answer(device, blas.syr2k(spec, &column, &ones, c())), [INF, INF, 1.0, -4.0], "syr2k");
    let solved = answer(device, blas.trsm(lower(), &a, square(device, [r(2.0), r(3.0), r(-1.0), r(5.0)])));
    same(solved, [0.0, 3.0, 0.0, 5.0], "trsm");
}

#[test]
fn infinities_keep_their_sign_and_cancel_to_no_number() {
    for device in devices() {
        infinities::<f32>(&device);
        infinities::<f64>(&device);
    }
}

/// The factors of a Hermitian update are real, and multiply part by part: as complex numbers they would meet an infinity
/// with a zero. A factor of one multiplies nothing.
fn hermitian_infinities<T: Number + ComplexElement<Real = R>, R: Sample + BlasElement>(
    device: &Device,
    n: usize,
    of: fn(f64, f64) -> T,
) {
    let (blas, factor) = (device.blas(), |x: f64| R::real(x));
    const INF: f64 = f64::INFINITY;
    for (uplo, beta) in TRIANGLES.into_iter().flat_map(|uplo| [1.0, 2.0, -0.5].map(|beta| (uplo, beta))) {
        // In each triangle one on the diagonal, one beside it, one far from it.
        let places = [(2, 2, of(INF, 0.0)), (1, 0, of(1.0, INF)), (n - 1, 1, of(-INF, 2.0))];
        let places = places.map(|(i, j, x)| if uplo == Uplo::Lower { (i, j, x) } else { (j, i, x) });
        let mut old = ones::<T>(n);
        places.iter().for_each(|(i, j, x)| old[i + j * n] = *x);
        let (c, x) = (|| square(device, &old[..]), square(device, vec![of(1.0, 0.0); n * n]));
        let check = |submitted, added: f64, name: &str| {
            let got = answer::<T>(device, submitted);
            for (i, j) in (0..n).flat_map(|j| (0..n).map(move |i| (i, j))).filter(|(i, j)| inside(uplo, *i, *j)) {
                let [re, im] = old[i + j * n].parts();
                if !(is_host(device) || re.is_finite() && im.is_finite()) {
                    continue; // the library multiplies as complex numbers do, or not, by its size (cuBLAS 13.1)
                }
                let want = of(beta * re + added, if i == j { 0.0 } else { beta * im });
                assert_eq!(got[i + j * n], want, "{name}: ({i}, {j}) of {n}, {uplo:?}, {beta} on {device:?}");
            }
        };
        let herk = || Herk::new(uplo).beta(factor(beta));
        let her2k = || Her2k::new(uplo).beta(factor(beta));
        check(blas.herk(herk(), &x, c()), n as f64, "herk");
        check(blas.her2k(her2k(), &x, &x, c()), 2.0 * n as f64, "her2k");
        check(blas.herkx(her2k(), &x, &x, c()), n as f64, "herkx");
        check(blas.herk(herk().alpha(factor(0.0)), &x, c()), 0.0, "herk of nothing");
        check(blas.her2k(her2k().alpha(of(0.0, 0.0)), &x, &x, c()), 0.0, "her2k of nothing");
        // A symmetric update has a complex factor, but one is one.
        if beta == 1.0 && is_host(device) {
            let symmetric = |i: usize, j: usize, got: &[T]| got[i + j * n].parts();
            let got = answer(device, blas.syrk(Syrk::new(uplo).beta(of(1.0, 0.0)), &x, c()));
            for (i, j, x) in places {
                let [re, im] = x.parts();
                assert_eq!(
                    symmetric(i, j, &got),
                    [re + n as f64, im],
                    "syrk: ({i}, {j}) of {n}, {uplo:?} on {device:?}"
                );
            }
        }
    }
}

#[test]
fn infinities_of_a_hermitian_matrix_stay_in_their_part() {
    for device in devices() {
        for n in [5, 70, 150] {
            hermitian_infinities::<Complex<f32>, f32>(&device, n, |re, im| Complex::new(re as f32, im as f32));
            hermitian_infinities::<Complex<f64>, f64>(&device, n, Complex::new);
        }
    }
}

/// With `alpha == 0` and `beta == 1` nothing is read and nothing changes, not even a NaN or the sign of a zero.
fn unchanged<T: Number>(device: &Device) {
    let blas = device.blas();
    let poison = Matrix::<T>::poison(2, 2, 2, 0).tensor(device);
    let (zero, one) = (T::default(), real::<T>(1.0));
    let what = [T::NAN, real(3.0), real::<T>(0.7), T::NAN];
    let c = || square(device, what);
    let symm = Symm::new(Side::Left, Uplo::Lower).alpha(zero).beta(one);
    let syrk = Syrk::new(Uplo::Upper).alpha(zero).beta(one);
    let syr2k = || Syr2k::new(Uplo::Upper).alpha(zero).beta(one);
    let same = |submitted, name| assert_same_bits(&answer(device, submitted), &what, name);
    same(blas.gemm(Gemm::new().alpha(zero).beta(one), &poison, &poison, c()), "gemm");
    same(blas.symm(symm, &poison, &poison, c()), "symm");
    same(blas.syrk(syrk, &poison, c()), "syrk");
    same(blas.syr2k(syr2k(), &poison, &poison, c()), "syr2k");
    same(blas.syrkx(syr2k(), &poison, &poison, c()), "syrkx");
}

fn unchanged_hermitian<T: Number + ComplexElement>(device: &Device) {
    let blas = device.blas();
    let poison = Matrix::<T>::poison(2, 2, 2, 0).tensor(device);
    let what = [real(2.0), T::NAN, T::NAN, real(0.7)]; // of a Hermitian matrix the diagonal is real
    let c = || square(device, what);
    let (zero, one, real_one) = (T::default(), real::<T>(1.0), real_one::<T>());
    let same = |submitted, name| assert_same_bits(&answer(device, submitted), &what, name);
    let hemm = Symm::new(Side::Right, Uplo::Lower).alpha(zero).beta(one);
    same(blas.hemm(hemm, &poison, &poison, c()), "hemm");
    let herk = Herk::new(Uplo::Upper).alpha(T::Real::default()).beta(real_one);
    same(blas.herk(herk, &poison, c()), "herk");
    let her2k = || Her2k::new(Uplo::Upper).alpha(zero).beta(real_one);
    same(blas.her2k(her2k(), &poison, &poison, c()), "her2k");
    same(blas.herkx(her2k(), &poison, &poison, c()), "herkx");
}

#[test]
fn a_zero_alpha_and_a_beta_of_one_change_no_bit() {
    for device in devices() {
        each_type!(unchanged(&device));
        unchanged_hermitian::<Complex<f32>>(&device);
        unchanged_hermitian::<Complex<f64>>(&device);
    }
}

/// A beta of zero writes over a NaN, also where there is nothing to add up.
fn discarded<T: Number>(device: &Device) {
    let (blas, zero) = (device.blas(), T::default());
    let (c, none, x) = (|| square(device, [T::NAN; 4]), up(device, Vec::<T>::new()), square(device, [zero; 4]));
    let all = |submitted, name: &str| assert_eq!(answer(device, submitted), [zero; 4], "{name} on {device:?}");
    all(blas.gemm(Gemm::new(), columns(&none, 2, 0), columns(&none, 0, 2), c()), "gemm");
    all(blas.gemm(Gemm::new(), &x, &x, c()), "gemm of zeros");
    all(blas.symm(Symm::new(Side::Left, Uplo::Lower), &x, &x, c()), "symm");
    all(blas.geam(Geam::new().alpha(zero).beta(zero), &x, &x, c()), "geam");
    let upper = |submitted: Submitted<Tensor<T>>, name: &str| {
        let got = answer(device, submitted);
        assert_eq!([got[0], got[2], got[3]], [zero; 3], "{name} on {device:?}");
        assert!(got[1].parts()[0].is_nan(), "the other triangle stays: {name} on {device:?}");
    };
    for x in [columns(&none, 2, 0), columns(x.buffer(), 2, 2)] {
        upper(blas.syrk(Syrk::new(Uplo::Upper), &x, c()), "syrk");
        upper(blas.syr2k(Syr2k::new(Uplo::Upper), &x, &x, c()), "syr2k");
        upper(blas.syrkx(Syr2k::new(Uplo::Upper), &x, &x, c()), "syrkx");
    }
}

#[test]
fn a_zero_beta_discards_a_nan_in_every_routine() {
    for device in devices() {
        each_type!(discarded(&device));
    }
}

/// Subnormal numbers are neither lost on the way in nor on the way out.
fn subnormals<T: Number>(device: &Device, tiny: f64) {
    let (blas, out) = (device.blas(), || fresh(device, 2));
    let r = |x: f64| real::<T>(x);
    let b = [r(tiny), r(3.0 * tiny), r(-2.0 * tiny), r(0.0)];
    let twice = b.map(|x| x + x);
    let (on_b, a) = (square(device, b), square(device, [r(2.0), r(0.0), r(0.0), r(2.0)]));
    let check = |submitted, name: &str| assert_eq!(answer(device, submitted), twice, "{name} on {device:?}");
    check(blas.gemm(Gemm::new(), &a, &on_b, out()), "gemm");
    check(blas.symm(Symm::new(Side::Left, Uplo::Lower), &a, &on_b, out()), "symm");
    check(blas.symm(Symm::new(Side::Right, Uplo::Upper), &a, &on_b, out()), "symm");
    check(blas.trmm(Triangular::new(Side::Left, Uplo::Lower), &a, square(device, b)), "trmm");
    check(blas.geam(Geam::new().beta(r(1.0)), &on_b, &on_b, out()), "geam");
    check(blas.dgmm(Side::Left, &on_b, a.diagonal(0, 0, 1).unwrap(), out()), "dgmm");
    let upper = || Triangular::new(Side::Right, Uplo::Upper);
    let solved = answer(device, blas.trsm(upper(), &a, square(device, twice)));
    assert_eq!(solved, b, "trsm on {device:?}");
    if is_host(device) {
        // A divisor whose inverse is infinite.
        let small = square(device, [r(tiny), r(0.0), r(0.0), r(-tiny)]);
        let want = [r(1.0), r(3.0), r(2.0), r(0.0)];
        let solved = answer(device, blas.trsm(upper(), &small, square(device, b)));
        assert_eq!(solved, want, "trsm on {device:?}");
    }
    let column = into_columns(up(device, [r(1.0), r(tiny)]), 2, 1);
    let c = || square(device, [r(tiny); 4]);
    let want = [r(1.0), r(2.0 * tiny), r(tiny), r(tiny)]; // 1 + tiny is 1, tiny * tiny is 0
    let got = answer(device, blas.syrk(Syrk::new(Uplo::Lower).beta(r(1.0)), &column, c()));
    assert_eq!(got, want, "syrk on {device:?}");
    let want = [r(1.0), r(2.0 * tiny), r(tiny), r(tiny)];
    let spec = Syr2k::new(Uplo::Lower).alpha(r(0.5)).beta(r(1.0));
    let got = answer(device, blas.syr2k(spec, &column, &column, c()));
    assert_eq!(got[1..], want[1..], "syr2k on {device:?}");
}

#[test]
fn subnormals_are_numbers() {
    for device in devices() {
        // Multiples of 4: halves of them are exact.
        subnormals::<f64>(&device, f64::from_bits(16));
        subnormals::<Complex<f64>>(&device, f64::from_bits(16));
        if is_host(&device) {
            subnormals::<f32>(&device, f32::from_bits(16).into());
            subnormals::<Complex<f32>>(&device, f32::from_bits(16).into());
        }
    }
}
