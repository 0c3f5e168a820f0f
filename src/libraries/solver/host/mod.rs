//! The CPU's factorizations: plain functions over slices, for one matrix at a time.
//!
//! The factorizations are made of products and triangular solutions of `numerics`; the crate `faer` computes the
//! spectra (`spectra.rs`). All results have LAPACK's form: pivots count from 1, `tau` is that of `geqrf`, an info is
//! the first index where it failed, counted from 1. Nothing here panics, whatever the numbers: `faer` is only given
//! finite ones.
//!
//! | file | routines |
//! |---|---|
//! | `number` | the four element types |
//! | `lu` | getrf, getrs, inverses |
//! | `cholesky` | potrf, potrs, potri, trtri |
//! | `qr` | geqrf, ormqr, orgqr, geqp3 |
//! | `small` | many small matrices side by side: geqrf, orgqr, ormqr, gels; getrf, potrf, and what is solved with them; syevd, gesvd |
//! | `ldl` | sytrf, hetrf, and solutions |
//! | `refine` | dsgesv, zcgesv |
//! | `spectra`, `faer`, `inverse` | gesdd, syevd, sygvd, geev |
//! | `lstsq` | gelsd |
//! | `singular`, `jacobi`, `polar`, `randomized` | gesvdj, syevj, gesvdp, gesvdr |

mod cholesky;
mod faer;
mod inverse;
mod jacobi;
mod ldl;
mod lstsq;
mod lu;
mod number;
mod polar;
mod qr;
mod randomized;
mod refine;
mod singular;
mod small;
mod spectra;

pub(crate) use number::Number;
pub(super) use small::{Memory, Operands, Systems, small, small_eigh, small_svd, systems};

use super::method::Reached;
use super::method::{EighMethod, SvdMethod};
use crate::core::room::{OrUnwind, filled};
use crate::numerics::level3::view::{Mat, MatMut};
use crate::numerics::{Field, Trans};
use num_complex::Complex;

/// The part of a matrix that begins at (`i`, `j`).
fn part<T: Number>(a: MatMut<'_, T>, (i, j): (usize, usize), (rows, cols): (usize, usize)) -> MatMut<'_, T> {
    a.split_rows(i).1.split_rows(rows).0.split_cols(j).1.split_cols(cols).0
}

/// A column-major matrix: its elements, rows, columns and leading dimension.
pub(crate) type In<'a, T> = (&'a [T], usize, usize, usize);
/// The same, to be written.
pub(crate) type Out<'a, T> = (&'a mut [T], usize, usize, usize);

fn view<T: Number>((x, rows, cols, ld): In<'_, T>) -> Option<Mat<'_, T>> {
    Mat::new(x, rows, cols, ld)
}

fn view_mut<T: Number>((x, rows, cols, ld): Out<'_, T>) -> Option<MatMut<'_, T>> {
    MatMut::new(x, rows, cols, ld)
}

/// The matrix, or its transpose if the upper triangle is stored: a lower triangle in both cases.
fn lower<T: Number>(a: Mat<'_, T>, upper: bool) -> Mat<'_, T> {
    if upper { a.t() } else { a }
}

fn lower_mut<T: Number>(a: MatMut<'_, T>, upper: bool) -> MatMut<'_, T> {
    if upper { a.t() } else { a }
}

/// A type of which the host can factor matrices: f32, f64 and their complex types. Each function does nothing if a
/// slice does not hold its matrix, uses up to `threads` threads, and returns LAPACK's info.
pub trait HostSolver<R>: Sized + Copy + Send + Sync {
    #[doc(hidden)]
    fn lu_factor(a: Out<'_, Self>, pivots: &mut [i64], threads: usize) -> i32;
    #[doc(hidden)]
    fn lu_solve(trans: Trans, lu: In<'_, Self>, pivots: &[i64], b: Out<'_, Self>, threads: usize);
    #[doc(hidden)]
    fn lu_invert(lu: In<'_, Self>, pivots: &[i64], c: Out<'_, Self>, threads: usize) -> i32;
    #[doc(hidden)]
    fn gesv(a: Out<'_, Self>, pivots: &mut [i64], b: Out<'_, Self>, threads: usize) -> i32;
    #[doc(hidden)]
    fn posv(upper: bool, a: Out<'_, Self>, b: Out<'_, Self>, threads: usize) -> i32;
    #[doc(hidden)]
    fn geqrs(v: In<'_, Self>, tau: &[Self], columns: &[i64], b: Out<'_, Self>, threads: usize) -> i32;
    #[doc(hidden)]
    fn potrf(upper: bool, a: Out<'_, Self>, threads: usize) -> i32;
    #[doc(hidden)]
    fn potrs(upper: bool, a: In<'_, Self>, b: Out<'_, Self>, threads: usize);
    #[doc(hidden)]
    fn potri(upper: bool, a: Out<'_, Self>, threads: usize) -> i32;
    #[doc(hidden)]
    fn trtri(upper: bool, unit: bool, a: Out<'_, Self>, threads: usize) -> i32;
    #[doc(hidden)]
    fn geqrf(a: Out<'_, Self>, tau: &mut [Self], threads: usize);
    #[doc(hidden)]
    fn geqp3(a: Out<'_, Self>, tau: &mut [Self], columns: &mut [i64]);
    #[doc(hidden)]
    fn ormqr(left: bool, adjoint: bool, v: In<'_, Self>, tau: &[Self], c: Out<'_, Self>, threads: usize);
    #[doc(hidden)]
    fn orgqr(a: Out<'_, Self>, tau: &[Self], threads: usize);
    #[doc(hidden)]
    fn gels(a: Out<'_, Self>, b: Out<'_, Self>, threads: usize) -> i32;
    #[doc(hidden)]
    fn sytrf(upper: bool, hermitian: bool, a: Out<'_, Self>, pivots: &mut [i64]) -> i32;
    #[doc(hidden)]
    fn sytrs(upper: bool, hermitian: bool, a: In<'_, Self>, pivots: &[i64], b: Out<'_, Self>);
    #[doc(hidden)]
    fn svd(
        a: In<'_, Self>,
        s: &mut [R],
        vectors: Option<(Out<'_, Self>, Out<'_, Self>)>,
        method: &SvdMethod,
        threads: usize,
    ) -> (i32, Reached);
    #[doc(hidden)]
    fn pinv(a: In<'_, Self>, c: Out<'_, Self>, tolerance: Option<f64>, threads: usize) -> i32;
    #[doc(hidden)]
    fn gelsd(
        a: In<'_, Self>,
        b: Out<'_, Self>,
        s: &mut [R],
        residuals: &mut [R],
        rcond: f64,
        threads: usize,
    ) -> (i32, i32);
    #[doc(hidden)]
    fn eigh(
        upper: bool,
        a: Out<'_, Self>,
        w: &mut [R],
        vectors: bool,
        method: &EighMethod,
        threads: usize,
    ) -> (i32, Reached);
    #[doc(hidden)]
    fn sygvd(upper: bool, a: Out<'_, Self>, b: Out<'_, Self>, w: &mut [R], vectors: bool, threads: usize) -> i32;
    #[doc(hidden)]
    fn eig(a: In<'_, Self>, w: &mut [Complex<R>], vectors: Option<Out<'_, Self>>, threads: usize) -> i32;
}

impl<T: Number> HostSolver<T::Part> for T {
    fn lu_factor(a: Out<'_, T>, pivots: &mut [i64], threads: usize) -> i32 {
        view_mut(a).map_or(0, |a| lu::factor(a, pivots, threads))
    }

    fn lu_solve(trans: Trans, factors: In<'_, T>, pivots: &[i64], b: Out<'_, T>, threads: usize) {
        if let (Some(factors), Some(b)) = (view(factors), view_mut(b)) {
            lu::solve(factors, (trans != Trans::No, trans == Trans::Conj), pivots, b, threads);
        }
    }

    fn lu_invert(factors: In<'_, T>, pivots: &[i64], c: Out<'_, T>, threads: usize) -> i32 {
        let (Some(factors), Some(c)) = (view(factors), view_mut(c)) else { return 0 };
        lu::invert(factors, pivots, c, threads)
    }

    fn gesv(a: Out<'_, T>, pivots: &mut [i64], b: Out<'_, T>, threads: usize) -> i32 {
        let (Some(a), Some(b)) = (view_mut(a), view_mut(b)) else { return 0 };
        lu::both(a, pivots, b, threads)
    }

    fn posv(upper: bool, a: Out<'_, T>, b: Out<'_, T>, threads: usize) -> i32 {
        let (Some(a), Some(b)) = (view_mut(a), view_mut(b)) else { return 0 };
        let mut a = lower_mut(a, upper);
        match cholesky::factor(a.reborrow(), threads) {
            0 => cholesky::solve(a.as_ref().conj(upper), b, threads),
            info => return info,
        }
        0
    }

    fn geqrs(v: In<'_, T>, tau: &[T], columns: &[i64], b: Out<'_, T>, threads: usize) -> i32 {
        let (Some(v), Some(b)) = (view(v), view_mut(b)) else { return 0 };
        qr::solve(v, tau, columns, b, threads)
    }

    fn potrf(upper: bool, a: Out<'_, T>, threads: usize) -> i32 {
        view_mut(a).map_or(0, |a| cholesky::factor(lower_mut(a, upper), threads))
    }

    fn potrs(upper: bool, a: In<'_, T>, b: Out<'_, T>, threads: usize) {
        if let (Some(a), Some(b)) = (view(a), view_mut(b)) {
            // The transpose of U is the factor of the conjugate matrix.
            cholesky::solve(lower(a, upper).conj(upper), b, threads);
        }
    }

    fn potri(upper: bool, a: Out<'_, T>, threads: usize) -> i32 {
        view_mut(a).map_or(0, |a| cholesky::invert(lower_mut(a, upper), threads))
    }

    fn trtri(upper: bool, unit: bool, a: Out<'_, T>, threads: usize) -> i32 {
        let Some(a) = view_mut(a) else { return 0 };
        let a = lower_mut(a, upper);
        match if unit { 0 } else { cholesky::first_zero(a.as_ref()) } {
            0 => cholesky::invert_triangle(a, unit, threads),
            zero => return zero,
        }
        0
    }

    fn geqrf(a: Out<'_, T>, tau: &mut [T], threads: usize) {
        if let Some(a) = view_mut(a) {
            qr::factor(a, tau, threads);
        }
    }

    fn geqp3(a: Out<'_, T>, tau: &mut [T], columns: &mut [i64]) {
        if let Some(mut a) = view_mut(a) {
            qr::pivoted(&mut a, tau, columns);
        }
    }

    fn ormqr(left: bool, adjoint: bool, v: In<'_, T>, tau: &[T], c: Out<'_, T>, threads: usize) {
        if let (Some(v), Some(c)) = (view(v), view_mut(c)) {
            qr::multiply(qr::Apply { left, adjoint }, v, tau, c, threads);
        }
    }

    fn orgqr(a: Out<'_, T>, tau: &[T], threads: usize) {
        if let Some(a) = view_mut(a) {
            qr::generate(a, tau, threads);
        }
    }

    fn gels(a: Out<'_, T>, b: Out<'_, T>, threads: usize) -> i32 {
        let (Some(a), Some(b)) = (view_mut(a), view_mut(b)) else { return 0 };
        qr::least_squares(a, b, threads)
    }

    fn sytrf(upper: bool, hermitian: bool, a: Out<'_, T>, pivots: &mut [i64]) -> i32 {
        view_mut(a).map_or(0, |mut a| ldl::factor(&mut a, upper, hermitian, pivots))
    }

    fn sytrs(upper: bool, hermitian: bool, a: In<'_, T>, pivots: &[i64], b: Out<'_, T>) {
        if let (Some(a), Some(mut b)) = (view(a), view_mut(b)) {
            ldl::solve(a, (upper, hermitian), pivots, &mut b);
        }
    }

    fn svd(
        a: In<'_, T>,
        s: &mut [T::Part],
        vectors: Option<(Out<'_, T>, Out<'_, T>)>,
        method: &SvdMethod,
        threads: usize,
    ) -> (i32, Reached) {
        let vectors = vectors.and_then(|(u, vh)| view_mut(u).zip(view_mut(vh)));
        view(a).map_or_else(Default::default, |a| singular::svd_by(a, s, vectors, method, threads))
    }

    fn pinv(a: In<'_, T>, c: Out<'_, T>, tolerance: Option<f64>, threads: usize) -> i32 {
        let (Some(a), Some(c)) = (view(a), view_mut(c)) else { return 0 };
        spectra::pinv(a, c, tolerance, threads)
    }

    fn gelsd(
        a: In<'_, T>,
        b: Out<'_, T>,
        s: &mut [T::Part],
        residuals: &mut [T::Part],
        rcond: f64,
        threads: usize,
    ) -> (i32, i32) {
        let (Some(a), Some(b)) = (view(a), view_mut(b)) else { return (0, 0) };
        lstsq::solve(a, b, (s, residuals), rcond, threads)
    }

    fn eigh(
        upper: bool,
        a: Out<'_, T>,
        w: &mut [T::Part],
        vectors: bool,
        method: &EighMethod,
        threads: usize,
    ) -> (i32, Reached) {
        let Some(mut a) = view_mut(a) else { return Default::default() };
        mirror(&mut a, upper);
        spectra::eigh_by(&mut a, w, vectors, method, threads)
    }

    fn sygvd(upper: bool, a: Out<'_, T>, b: Out<'_, T>, w: &mut [T::Part], vectors: bool, threads: usize) -> i32 {
        let (Some(mut a), Some(mut b)) = (view_mut(a), view_mut(b)) else { return 0 };
        mirror(&mut a, upper);
        if !upper {
            return spectra::generalized(a, b, w, vectors, threads);
        }
        // The factor goes into the triangle of B that was given, and nothing into the other one.
        let n = b.rows();
        let mut room = vec![T::default(); n.saturating_mul(n)];
        let Some(mut l) = MatMut::new(&mut room, n, n, n.max(1)) else { return 0 };
        for j in 0..n {
            (j..n).for_each(|i| l.set(i, j, number::conj(b.get(j, i))));
        }
        let info = spectra::generalized(a, l.reborrow(), w, vectors, threads);
        for j in 0..n {
            (0..j + 1).for_each(|i| b.set(i, j, number::conj(l.get(j, i))));
        }
        info
    }

    fn eig(a: In<'_, T>, w: &mut [Complex<T::Part>], vectors: Option<Out<'_, T>>, threads: usize) -> i32 {
        let Some(a) = view(a) else { return 0 };
        let mut wide = filled(w.len(), num_complex::Complex64::default()).or_unwind();
        let info = spectra::eig::<T, T::Wide>(a, &mut wide, vectors.and_then(view_mut), threads);
        let part = |x: f64| T::Part::rounded(num_complex::Complex64::new(x, 0.0));
        w.iter_mut().zip(wide).for_each(|(w, x)| *w = Complex { re: part(x.re), im: part(x.im) });
        info
    }
}

/// Fills the lower triangle of a Hermitian matrix from the upper one, if that is stored.
fn mirror<T: Number>(a: &mut MatMut<'_, T>, upper: bool) {
    for j in 0..if upper { a.cols() } else { 0 } {
        (j + 1..a.rows()).for_each(|i| a.set(i, j, number::conj(a.get(j, i))));
    }
}

macro_rules! refined { ($($t:ty),*) => { $(
    impl super::refine::HostWide for $t {
        fn refined(a: In<'_, $t>, b: In<'_, $t>, x: Out<'_, $t>, threads: usize) -> (i32, Option<usize>) {
            let (Some(a), Some(b), Some(x)) = (view(a), view(b), view_mut(x)) else { return (0, None) };
            refine::solve(a, b, x, threads)
        }
    }
)* } }
refined! { f64, Complex<f64> }
