//! What cannot be tested through the front: shapes that do not fit, threads, leaves of every size, and the oracle
//! itself.

use num_complex::{Complex, Complex32, Complex64};

use super::super::Trans;
use super::super::level3::{DgmmSpec, GeamSpec, HostLevel3, RankSpec, Side, SymmSpec, Terms, TriSpec, Uplo};
use super::super::reference::{Exact, Value};
use super::{Sample, with_seeds};

fn triangular<S>(m: usize, n: usize, alpha: S) -> TriSpec<S> {
    TriSpec { side: Side::Left, uplo: Uplo::Lower, trans: Trans::No, unit: false, m, n, lda: m, ldb: m, alpha }
}

/// Shapes that do not fit cause neither a panic nor a write.
#[test]
fn shapes_that_do_not_fit_their_slices_do_nothing() {
    fn check<T: HostLevel3 + Default + PartialEq + std::fmt::Debug>(one: T) {
        let (a, huge) = ([one; 16], usize::MAX);
        for (m, n, ld) in
            [(5, 4, 5), (4, 5, 4), (4, 4, 3), (huge, 2, huge), (2, huge, 2), (huge, huge, huge), (4, 4, huge)]
        {
            let mut c = [one; 16];
            for side in [Side::Left, Side::Right] {
                let (uplo, hermitian) = (Uplo::Upper, false);
                let (alpha, beta) = (one, T::default());
                T::symm(
                    &SymmSpec { side, uplo, hermitian, m, n, lda: ld, ldb: ld, ldc: ld, alpha, beta },
                    &a,
                    &a,
                    &mut c,
                );
                let spec = TriSpec { side, lda: ld, ldb: ld, ..triangular(m, n, one) };
                T::trmm(&spec, &a, &mut c);
                T::trsm(&spec, &a, &mut c);
                T::dgmm(&DgmmSpec { side, m, n, lda: ld, incx: isize::MIN, ldc: ld }, &a, &a, &mut c);
            }
            for op in [Trans::No, Trans::Yes] {
                let spec = GeamSpec { m, n, op_a: op, lda: ld, op_b: op, ldb: ld, ldc: ld, alpha: one, beta: one };
                T::geam(&spec, &a, &a, &mut c);
                let (terms, uplo, hermitian, beta) = (Terms::Two, Uplo::Lower, false, T::default());
                let spec = RankSpec {
                    terms,
                    uplo,
                    trans: op,
                    hermitian,
                    n: m.max(5),
                    k: n,
                    lda: ld,
                    ldb: ld,
                    ldc: ld,
                    alpha: one,
                    beta,
                };
                T::rank(&spec, &a, &a, &mut c);
            }
            let mut pivots = [7; 4];
            assert_eq!(T::getrf(m.max(5), &mut c, ld, &mut pivots), 0);
            T::getrs(m.max(5), n, Trans::No, (&a, ld), &[1; 4], (&mut c, ld));
            assert_eq!(T::getri(m.max(5), (&a, ld), &[1; 4], (&mut c, ld)), 0);
            assert_eq!((c, pivots), ([one; 16], [7; 4]), "{m} {n} {ld}");
        }
    }
    check::<f32>(1.0);
    check::<Complex64>(1.0.into());
}

/// Invalid pivots, which no factorization produces, cause no access outside the matrix.
#[test]
fn pivots_out_of_range_are_left_alone() {
    let mut b = [1.0, 2.0];
    f64::getrs(2, 1, Trans::No, (&[1.0, 0.0, 0.0, 1.0], 2), &[i32::MIN, i32::MAX], (&mut b, 2));
    assert_eq!(b, [1.0, 2.0]);
    f64::getrs(2, 1, Trans::Yes, (&[1.0, 0.0, 0.0, 1.0], 2), &[0, -1], (&mut b, 2));
    assert_eq!(b, [1.0, 2.0]);
}

/// Numbers of rows and columns near the sizes of leaves, tiles and vectors; the solution is multiplied back.
#[test]
fn leaves_of_every_size_solve_what_they_multiply() {
    fn check<T: Sample + HostLevel3>() {
        with_seeds(2, |rng| {
            for n in [1, 3, 4, 7, 8, 9, 31, 33, 63, 64, 65, 66, 100] {
                let (m, cols, side) = (n, rng.pick(&[1, 7, 8, 16, 17, 33, 40]), rng.pick(&[Side::Left, Side::Right]));
                let (rows, cols) = if side == Side::Left { (m, cols) } else { (cols, m) };
                let (uplo, trans) = (rng.pick(&[Uplo::Upper, Uplo::Lower]), rng.pick(&[Trans::No, Trans::Conj]));
                let a: Vec<T> = (0..m * m)
                    .map(|at| if at % (m + 1) == 0 { T::from_real(3.0) } else { T::from_real(rng.real() / m as f64) })
                    .collect();
                let b: Vec<T> = (0..rows * cols).map(|_| T::sample(rng)).collect();
                let spec = TriSpec { side, uplo, trans, lda: m, ..triangular(rows, cols, T::from_real(1.0)) };
                let mut x = b.clone();
                T::trsm(&spec, &a, &mut x);
                let triangle = Exact::stored(&a, m, m, m).triangle(uplo == Uplo::Lower, false).op(trans);
                let (x, minus) = (Exact::stored(&x, rows, cols, rows), T::from_real(-1.0));
                let back = if side == Side::Left { triangle.times(minus, &x) } else { x.times(minus, &triangle) };
                let ratio =
                    Exact::stored(&b, rows, cols, rows).scaled(T::from_real(1.0)).plus(&back).residual::<T>(1.0);
                assert!(ratio <= 1.0, "{ratio}: {side:?} {uplo:?} {trans:?} {rows} x {cols}");
            }
        });
    }
    check::<f32>();
    check::<f64>();
    check::<Complex32>();
    check::<Complex64>();
}

/// Division by the diagonal of a complex triangle does not overflow in between.
#[test]
fn tiny_and_huge_diagonals_divide() {
    for x in [1e-30f32, 1e30, 1e-38] {
        for diagonal in [Complex::new(x, x), Complex::new(x, -x / 2.0), Complex::new(0.0, x)] {
            let mut b = [Complex::new(x, 0.0)];
            Complex32::trsm(&triangular(1, 1, 1.0.into()), &[diagonal], &mut b);
            let back = b[0] * (diagonal / x);
            assert!((back - Complex::from(1.0)).norm() < 1e-6, "{x:e}: {b:?}");
        }
    }
}

#[test]
fn a_pivot_is_the_largest_of_its_column_and_a_zero_is_told() {
    let mut a = [1.0f64, -4.0, 2.0, 1.0, 1.0, 1.0, 0.0, 0.0, 3.0];
    let mut pivots = [0; 3];
    assert_eq!(f64::getrf(3, &mut a, 3, &mut pivots), 0);
    assert_eq!(pivots[0], 2);
    let mut a = [1.0f64, 1.0, 1.0, 2.0, 2.0, 2.0, 0.0, 1.0, 0.0];
    assert_eq!(f64::getrf(3, &mut a, 3, &mut pivots), 2, "the second column is twice the first");
}

/// The parts of the oracle against results that are known without them.
#[test]
fn exact_matrices_are_filled_turned_and_multiplied_as_by_hand() {
    let i = Complex64::new(0.0, 1.0);
    let a = [1.0.into(), 2.0 + i, f64::NAN.into(), Complex64::new(3.0, 9.0)];
    let stored = Exact::stored(&a, 2, 2, 2);
    let parts = |x: &Exact, r, c| (x.get(r, c).re.to_f64(), x.get(r, c).im.to_f64());
    let symmetric = stored.symmetric(true, false);
    assert_eq!((parts(&symmetric, 0, 1), parts(&symmetric, 1, 1)), ((2.0, 1.0), (3.0, 9.0)));
    let hermitian = stored.symmetric(true, true);
    assert_eq!((parts(&hermitian, 0, 1), parts(&hermitian, 1, 1)), ((2.0, -1.0), (3.0, 0.0)));
    let unit = stored.triangle(true, true);
    assert_eq!((parts(&unit, 0, 0), parts(&unit, 0, 1), parts(&unit, 1, 0)), ((1.0, 0.0), (0.0, 0.0), (2.0, 1.0)));
    assert_eq!(parts(&stored.op(Trans::Conj), 0, 1), (2.0, -1.0));
    let product = unit.times(i, &Exact::identity(2));
    assert_eq!(parts(product.exact(), 1, 0), (-1.0, 2.0), "i (2 + i)");
    assert!(product.ratio(1, 0, Complex64::new(-1.0, 2.0), Complex64::UNIT) <= 1.0);
    assert!(product.ratio(1, 0, Complex64::new(-1.0, 2.0 + 1e-13), Complex64::UNIT) > 1.0);
    assert!(product.ratio(1, 0, Complex64::new(f64::NAN, 2.0), Complex64::UNIT) > 1.0);
    let rows = Exact::stored(&[1.0, 2.0, 3.0], 3, 1, 3).swapped(&[3, 3, 3]);
    assert_eq!([0, 1, 2].map(|r| rows.get(r, 0).re.to_f64()), [3.0, 1.0, 2.0]);
    let zero = Exact::identity(2).scaled(1.0).plus(&Exact::identity(2).scaled(-1.0));
    assert!(zero.residual::<f64>(1.0) <= 1.0);
    assert!(Exact::identity(2).scaled(1.0).residual::<f64>(1.0) > 1.0);
    assert!(Exact::stored(&[f64::NAN], 1, 1, 1).scaled(1.0).residual::<f64>(1.0).is_nan());
}
