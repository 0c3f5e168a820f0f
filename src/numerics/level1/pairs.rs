//! Operations that change two vectors element by element: swap and rotations; and copy.

use super::super::parallel::{Parts, each_pair};
use super::super::simd::{Kernel, run};
use super::field::Field;
use super::update::chunks;
use super::view::View;
use super::{PARALLEL, PIECE};
use num_complex::Complex64;

/// Elements per task for large vectors.
const CHUNK: usize = PARALLEL / 8;

/// `y = x`.
pub(crate) fn copy<T: Field>(n: usize, x: &[T], incx: isize, y: &mut [T], incy: isize) {
    let (Some(mut xv), Some(_)) = (View::new(n, incx, x.len()), View::new(n, incy, y.len())) else {
        return;
    };
    if incy < 0 {
        xv = xv.reversed(n);
    }
    chunks(n, incy.unsigned_abs(), y, |from, to, y, step| {
        let Some(yv) = View::new(to - from, step, y.len()) else {
            return;
        };
        if step == 1
            && let Some(x) = xv.contiguous(x, from, to)
            && let Some(y) = y.get_mut(..to - from)
        {
            return y.copy_from_slice(x);
        }
        let mut piece = [T::default(); PIECE];
        for at in (from..to).step_by(PIECE) {
            if let Some(piece) = piece.get_mut(..(to - at).min(PIECE)) {
                xv.gather(x, at, piece);
                yv.scatter(y, at - from, piece);
            }
        }
    });
}

/// `(x_i, y_i) = f(x_i, y_i)`.
fn pairwise<T: Field>(
    n: usize,
    x: &mut [T],
    incx: isize,
    y: &mut [T],
    incy: isize,
    f: impl Fn(T, T) -> (T, T) + Copy + Sync,
) {
    struct Pairwise<'a, T, F>(&'a mut [T], &'a mut [T], F);
    impl<T: Copy, F: Fn(T, T) -> (T, T)> Kernel for Pairwise<'_, T, F> {
        type Output = ();

        #[inline(always)]
        fn body(self) {
            let Self(x, y, f) = self;
            for (x, y) in x.iter_mut().zip(y) {
                (*x, *y) = f(*x, *y);
            }
        }
    }
    if View::new(n, incx, x.len()).is_none() || View::new(n, incy, y.len()).is_none() {
        return;
    }
    // The stride of one element is not used, whatever the caller gives. If both vectors run backwards, the pairs are
    // the same as forwards.
    let [incx, incy] = [incx, incy].map(|inc| if n > 1 { inc } else { 1 });
    let (incx, incy) = if incx < 0 && incy < 0 { (-incx, -incy) } else { (incx, incy) };
    let part = |n: usize, x: &mut [T], y: &mut [T]| {
        if let ((1, 1), Some(x), Some(y)) = ((incx, incy), x.get_mut(..n), y.get_mut(..n)) {
            return run(Pairwise(x, y, f));
        }
        let (Some(xv), Some(yv)) = (View::new(n, incx, x.len()), View::new(n, incy, y.len())) else {
            return;
        };
        let (mut xs, mut ys) = ([T::default(); PIECE], [T::default(); PIECE]);
        for at in (0..n).step_by(PIECE) {
            let len = (n - at).min(PIECE);
            if let (Some(xs), Some(ys)) = (xs.get_mut(..len), ys.get_mut(..len)) {
                xv.gather(x, at, xs);
                yv.gather(y, at, ys);
                run(Pairwise(xs, ys, f));
                xv.scatter(x, at, xs);
                yv.scatter(y, at, ys);
            }
        }
    };
    if n <= PARALLEL || incx < 0 || incy < 0 {
        return part(n, x, y);
    }
    let size = |inc: isize| CHUNK.saturating_mul(inc.unsigned_abs());
    each_pair(x, y, (Parts::with_size(size(incx)), size(incy)), &|i, x, y| {
        let len = n.saturating_sub(i.saturating_mul(CHUNK)).min(CHUNK);
        if len > 0 {
            part(len, x, y);
        }
    });
}

/// Exchanges x and y.
pub(crate) fn swap<T: Field>(n: usize, x: &mut [T], incx: isize, y: &mut [T], incy: isize) {
    pairwise(n, x, incx, y, incy, |x, y| (y, x));
}

/// `x = c * x + s * y`, `y = c * y - conj(s) * x`.
pub(crate) fn rot<T: Field>(n: usize, x: &mut [T], incx: isize, y: &mut [T], incy: isize, c: T::Part, s: T) {
    pairwise(n, x, incx, y, incy, |x, y| (x.times(c) + s * y, y.times(c) - s.conj() * x));
}

/// The same with a real s, which multiplies part by part. A complex s would multiply infinities by its zero imaginary
/// part.
pub(crate) fn rot_real<T: Field>(n: usize, x: &mut [T], incx: isize, y: &mut [T], incy: isize, c: T::Part, s: T::Part) {
    pairwise(n, x, incx, y, incy, |x, y| (x.times(c) + y.times(s), y.times(c) - x.times(s)));
}

/// `(x, y) = H (x, y)` with the matrix H that the five numbers of a modified rotation describe.
pub(crate) fn rotm<T: Field>(n: usize, x: &mut [T], incx: isize, y: &mut [T], incy: isize, param: &[T; 5]) {
    let (zero, one, two) = (T::default(), T::IDENTITY, T::IDENTITY + T::IDENTITY);
    let &[flag, h11, h21, h12, h22] = param;
    if flag == -two {
        return;
    }
    let [h11, h21, h12, h22] = match flag {
        f if f == zero => [one, h21, h12, one],
        f if f == one => [h11, -one, one, h22],
        _ => [h11, h21, h12, h22],
    };
    pairwise(n, x, incx, y, incy, |x, y| (h11 * x + h12 * y, h21 * x + h22 * y));
}

/// Constructs a modified rotation, as the reference BLAS does: writes `param`, returns the new `d1`, `d2` and `x1`.
/// Computes in f64, so that products of f32 neither overflow nor underflow.
pub(crate) fn rotmg<R: Field>(
    d1: R::Part,
    d2: R::Part,
    x1: R::Part,
    y1: R::Part,
    param: &mut [R::Part; 5],
) -> (R::Part, R::Part, R::Part) {
    let narrow = |x: f64| R::Part::rounded(Complex64::new(x, 0.0));
    let mut wide = param.map(Into::into);
    let fits = |x: f64| narrow(x).into().is_finite();
    let (d1, d2, x1) = rotmg_wide([d1.into(), d2.into(), x1.into(), y1.into()], &mut wide, fits);
    *param = wide.map(narrow);
    (narrow(d1), narrow(d2), narrow(x1))
}

fn rotmg_wide([d1, d2, x1, y1]: [f64; 4], param: &mut [f64; 5], fits: impl Fn(f64) -> bool) -> (f64, f64, f64) {
    /// The values are rescaled by powers of `GAM`, so that d1 and d2 stay between `GAM^-2` and `GAM^2`.
    const GAM: f64 = 4096.0;
    const LARGE: f64 = GAM * GAM;
    const SMALL: f64 = 1.0 / LARGE;
    let [flag, h11, h21, h12, h22] = param;
    let mut nothing = || {
        (*flag, *h11, *h21, *h12, *h22) = (-1.0, 0.0, 0.0, 0.0, 0.0);
        (0.0, 0.0, 0.0)
    };
    if d1 < 0.0 {
        return nothing();
    }
    let p2 = d2 * y1;
    if p2 == 0.0 {
        *flag = -2.0;
        return (d1, d2, x1);
    }
    let p1 = d1 * x1;
    let (q1, q2) = (p1 * x1, p2 * y1);
    let (mut d1, mut d2, mut x1) = (d1, d2, x1);
    let full; // all four entries, whatever the flag
    if q1.abs() > q2.abs() {
        let (a21, a12) = (-y1 / x1, p2 / p1);
        let u = 1.0 - a12 * a21;
        if u <= 0.0 {
            return nothing();
        }
        (*flag, *h21, *h12) = (0.0, a21, a12);
        (d1, d2, x1) = (d1 / u, d2 / u, x1 * u);
        full = [1.0, a21, a12, 1.0];
    } else {
        if q2 < 0.0 {
            return nothing();
        }
        let (a11, mut a22) = (p1 / p2, x1 / y1);
        // The first component has no weight, so its result does not matter. Zero avoids an infinity.
        if p1 == 0.0 && !fits(a22) {
            a22 = 0.0;
        }
        let u = 1.0 + a11 * a22;
        (*flag, *h11, *h22) = (1.0, a11, a22);
        (d1, d2) = (d2 / u, d1 / u);
        x1 = y1 * u;
        full = [a11, -1.0, 1.0, a22];
    }
    let [mut f11, mut f21, mut f12, mut f22] = full;
    let mut scaled = false;
    while d1 != 0.0 && d1.abs() <= SMALL {
        (d1, x1, f11, f12, scaled) = (d1 * LARGE, x1 / GAM, f11 / GAM, f12 / GAM, true);
    }
    while d1.abs() >= LARGE && d1.is_finite() {
        (d1, x1, f11, f12, scaled) = (d1 * SMALL, x1 * GAM, f11 * GAM, f12 * GAM, true);
    }
    while d2 != 0.0 && d2.abs() <= SMALL {
        (d2, f21, f22, scaled) = (d2 * LARGE, f21 / GAM, f22 / GAM, true);
    }
    while d2.abs() >= LARGE && d2.is_finite() {
        (d2, f21, f22, scaled) = (d2 * SMALL, f21 * GAM, f22 * GAM, true);
    }
    if scaled {
        (*flag, *h11, *h21, *h12, *h22) = (-1.0, f11, f21, f12, f22);
    }
    (d1, d2, x1)
}
