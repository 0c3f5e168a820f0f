//! The vector operations, one element at a time, with the increments of BLAS.

use num_complex::Complex;

use super::double::Double;
use super::value::{Pair, Value, add_product, at, exact, scaled, sum};

/// Where element `i` of a vector of `n` lies.
fn place(n: usize, inc: isize, i: usize) -> usize {
    let i = if inc < 0 { n - 1 - i } else { i };
    i * inc.unsigned_abs()
}

/// `y = round(alpha * x + y)`, and y as it was for a zero `alpha`.
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

/// `x = round(alpha * x)`, and x as it was for `incx < 1`.
pub fn scal<T: Value, S: Value>(n: usize, alpha: S, x: &mut [T], incx: isize) {
    for i in (0..n).take_while(|_| incx > 0) {
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
    (0..n).fold(Pair::default(), |sum, i| {
        add_product(sum, at(x, place(n, incx, i)), at(y, place(n, incy, i)), conj, false)
    })
}

/// The Euclidean norm, rounded to `N`: NaN where x holds one, else infinity where x holds one; zero for `incx < 1`.
pub fn nrm2<T: Value, N: Value>(n: usize, x: &[T], incx: isize) -> N {
    let parts = || (0..n).take_while(|_| incx > 0).flat_map(|i| at(x, place(n, incx, i)).parts());
    let real = |x: Double| N::nearest(Complex::new(x, Double::default()));
    if parts().any(f64::is_nan) {
        return real(f64::NAN.into());
    }
    let most = parts().fold(0.0_f64, |most, x| most.max(x.abs()));
    if most == 0.0 || most.is_infinite() {
        return real(most.into());
    }
    // The root of a power of two near `most`, to divide by twice: the power itself may have no reciprocal.
    let half = f64::from_bits((most.to_bits() >> 52).div_ceil(2).saturating_add(512).clamp(1, 2046) << 52);
    let scaled = |x: f64| x / half / half;
    let squares = parts().map(scaled).fold(Double::default(), |sum, x| sum + Double::product(x, x));
    real(squares.sqrt() * half.into() * half.into())
}
