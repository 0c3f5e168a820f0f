//! The vector operations, one element at a time, with the increments of BLAS.

use num_complex::Complex;

use super::double::Double;
use super::terms::Factor;
use super::value::{Pair, Value, add_product, at, exact, scaled, sum};

/// The index of element `i` of a vector of `n` elements.
fn place(n: usize, inc: isize, i: usize) -> usize {
    let i = if inc < 0 { n - 1 - i } else { i };
    i * inc.unsigned_abs()
}

/// `y = round(alpha * x + y)`; a zero `alpha` leaves y unchanged.
pub fn axpy<T: Value, S: Value>(n: usize, alpha: S, x: &[T], incx: isize, y: &mut [T], incy: isize) {
    if alpha.parts() == [0.0; 2] {
        return;
    }
    for i in 0..n {
        let x = at(x, place(n, incx, i));
        if let Some(y) = y.get_mut(place(n, incy, i)) {
            *y = T::nearest(sum(scaled(alpha, exact(x)), exact(*y)));
        }
    }
}

/// `x = round(alpha * x)`; `incx == 0` leaves x unchanged.
pub fn scal<T: Value, S: Value>(n: usize, alpha: S, x: &mut [T], incx: isize) {
    for i in (0..n).take_while(|_| incx != 0) {
        if let Some(x) = x.get_mut(place(n, incx, i)) {
            *x = T::nearest(scaled(alpha, exact(*x)));
        }
    }
}

/// The sum of `x_i * y_i`.
pub fn dot<T: Value>(n: usize, x: &[T], incx: isize, y: &[T], incy: isize) -> T {
    T::nearest(products(n, x, incx, y, incy, false))
}

/// The sum of `conj(x_i) * y_i`.
pub fn dotc<T: Value>(n: usize, x: &[T], incx: isize, y: &[T], incy: isize) -> T {
    T::nearest(products(n, x, incx, y, incy, true))
}

fn products<T: Value>(n: usize, x: &[T], incx: isize, y: &[T], incy: isize, conj: bool) -> Pair {
    let x = Factor::new((0..n).map(|i| at(x, place(n, incx, i))), conj);
    x.times(&Factor::new((0..n).map(|i| at(y, place(n, incy, i))), false)).0
}

/// The Euclidean norm, rounded to `N`: NaN if x holds a NaN, else infinity if x holds one; zero for `incx == 0`.
pub fn nrm2<T: Value, N: Value>(n: usize, x: &[T], incx: isize) -> N {
    let parts = || (0..n).take_while(|_| incx != 0).flat_map(|i| at(x, place(n, incx, i)).parts());
    let real = |x: Double| N::nearest(Complex::new(x, Double::default()));
    if parts().any(f64::is_nan) {
        return real(f64::NAN.into());
    }
    let most = parts().fold(0.0_f64, |most, x| most.max(x.abs()));
    if most == 0.0 || most.is_infinite() {
        return real(most.into());
    }
    // The square root of a power of two near `most`. Dividing by it twice avoids the power itself, whose reciprocal may
    // not exist.
    let half = f64::from_bits((most.to_bits() >> 52).div_ceil(2).saturating_add(512).clamp(1, 2046) << 52);
    let scaled = |x: f64| x / half / half;
    let squares = parts().map(scaled).fold(Double::default(), |sum, x| sum + Double::product(x, x));
    real(squares.sqrt() * half.into() * half.into())
}

/// The sum of the magnitudes of the parts, rounded to `N`; zero for `incx == 0`.
pub fn asum<T: Value, N: Value>(n: usize, x: &[T], incx: isize) -> N {
    let parts = (0..n).take_while(|_| incx != 0).flat_map(|i| at(x, place(n, incx, i)).parts());
    let sum = parts.fold(Double::default(), |sum, x| sum + x.abs().into());
    N::nearest(Complex::new(sum, Double::default()))
}

/// The index, from 0, of the first element with the largest (or smallest) sum of the magnitudes of the parts, each sum
/// rounded as `T` rounds.
pub fn extreme<T: Value>(n: usize, x: &[T], incx: isize, largest: bool) -> Option<usize> {
    let size = |i: usize| {
        let [re, im] = at(x, place(n, incx, i)).parts();
        let sum = T::nearest(Complex::new(Double::from(re.abs()) + im.abs().into(), Double::default()));
        sum.parts().into_iter().next().unwrap_or_default()
    };
    let better = |a: f64, b: f64| if largest { a > b } else { a < b };
    (0..n).take_while(|_| incx != 0).reduce(|best, i| if better(size(i), size(best)) { i } else { best })
}

/// `x = round(c * x + s * y)`, `y = round(c * y - conj(s) * x)`; `c` is real.
pub fn rot<T: Value, C: Value>(n: usize, x: &mut [T], incx: isize, y: &mut [T], incy: isize, c: C, s: T) {
    for i in 0..n {
        let (i, j) = (place(n, incx, i), place(n, incy, i));
        let (a, b) = (at(x, i), at(y, j));
        let minus = |p: Pair| Complex::new(-p.re, -p.im);
        let first = add_product(scaled(c, exact(a)), s, b, false, false);
        let second = sum(scaled(c, exact(b)), minus(add_product(Pair::default(), s, a, true, false)));
        if let (Some(x), Some(y)) = (x.get_mut(i), y.get_mut(j)) {
            (*x, *y) = (T::nearest(first), T::nearest(second));
        }
    }
}

/// `x = round(h11 * x + h12 * y)`, `y = round(h21 * x + h22 * y)`; `h` holds the rows of H.
pub fn rotm<T: Value>(n: usize, x: &mut [T], incx: isize, y: &mut [T], incy: isize, h: [[T; 2]; 2]) {
    for i in 0..n {
        let (i, j) = (place(n, incx, i), place(n, incy, i));
        let (a, b) = (at(x, i), at(y, j));
        let [first, second] = h.map(|[p, q]| {
            let both = add_product(Pair::default(), p, a, false, false);
            T::nearest(add_product(both, q, b, false, false))
        });
        if let (Some(x), Some(y)) = (x.get_mut(i), y.get_mut(j)) {
            (*x, *y) = (first, second);
        }
    }
}
