//! The four types of BLAS as fields: their arithmetic, and the operations that need their real parts.

use std::fmt::Debug;
use std::ops::{Add, Mul, Neg, Sub};

use num_complex::{Complex, Complex64};

use super::super::simd::Vectors;
use super::kernel::{self, ComplexLanes, Factor};
use super::reduce::{halves, magnitudes};
use super::update;

/// f32, f64, or one of their complex types.
pub trait Field:
    Vectors
    + Copy
    + Default
    + PartialEq
    + Debug
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
{
    /// The real type: that of its parts.
    type Part: Field<Part = Self::Part> + PartialOrd + Into<f64>;
    /// One.
    const IDENTITY: Self;

    /// The conjugate; a real number itself.
    fn conj(self) -> Self;
    /// The real part.
    fn re(self) -> Self::Part;
    /// The imaginary part.
    fn im(self) -> Self::Part;
    /// The number with this real part and no imaginary part.
    fn from_part(re: Self::Part) -> Self;
    /// The quotient. Intermediate results overflow or underflow only if the quotient is close to doing so itself.
    fn over(self, divisor: Self) -> Self;
    /// The product with a real number, part by part.
    fn times(self, factor: Self::Part) -> Self;
    /// `|re| + |im|`.
    fn size(self) -> Self::Part;
    /// An infinity.
    fn infinity() -> Self;
    /// The rotation that takes `(a, b)` to `(r, 0)`: `r`, `z`, `c`, `s` as `Blas::rotg` defines them.
    fn rotg(a: Self, b: Self) -> (Self, Self, Self::Part, Self);
    /// The elements as reals.
    fn reals(x: &[Self]) -> &[Self::Part];
    /// The elements as reals.
    fn reals_mut(x: &mut [Self]) -> &mut [Self::Part];
    /// `y += factor * x` over the length of the shorter slice, on the calling thread. A zero factor is not skipped.
    fn axpy(factor: Self, x: &[Self], y: &mut [Self]);
    /// `x = alpha * x`, part by part; does nothing for `incx == 0`.
    fn scal_real(n: usize, alpha: Self::Part, x: &mut [Self], incx: isize);
    /// The sum of the magnitudes of the parts, summed in f64 and rounded once; zero for `incx == 0`.
    fn asum(n: usize, x: &[Self], incx: isize) -> Self::Part;
    /// The number as a complex f64.
    fn wide(self) -> Complex64;
    /// Rounds a sum.
    fn rounded(sum: Complex64) -> Self;

    /// The conjugate if `conj` is set.
    fn conj_if(self, conj: bool) -> Self {
        if conj { self.conj() } else { self }
    }
}

/// The power of two by which to scale a number that is so small or so large that its digits or its square would be
/// lost, in f32 or in f64. One for any other number, and for zero, infinity and NaN.
fn scale_of(size: f64) -> f64 {
    const UP: f64 = (1u128 << 100) as f64;
    match size {
        x if x == 0.0 || x.is_infinite() => 1.0,
        x if x < f64::MIN_POSITIVE * UP => UP * UP * UP,
        x if x < 1.0 / UP => UP,
        x if x > f64::MAX / UP => 1.0 / UP / UP / UP,
        x if x > UP => 1.0 / UP,
        _ => 1.0,
    }
}

macro_rules! fields { ($($real:ty),*) => {$(
    impl Field for $real {
        type Part = $real;
        const IDENTITY: Self = 1.0;

        fn conj(self) -> Self {
            self
        }
        fn re(self) -> Self {
            self
        }
        fn im(self) -> Self {
            0.0
        }
        fn from_part(re: Self) -> Self {
            re
        }
        fn over(self, divisor: Self) -> Self {
            self / divisor
        }
        fn times(self, factor: Self) -> Self {
            self * factor
        }
        fn size(self) -> Self {
            self.abs()
        }
        fn infinity() -> Self {
            Self::INFINITY
        }
        fn rotg(a: Self, b: Self) -> (Self, Self, Self, Self) {
            let scale = scale_of(a.abs().max(b.abs()).into()) as $real;
            let (a, b) = (a * scale, b * scale);
            let r = a.hypot(b);
            if r == 0.0 {
                return (0.0, 0.0, 1.0, 0.0);
            }
            let r = r.copysign(if a.abs() > b.abs() { a } else { b });
            let (c, s) = (a / r, b / r);
            let r = r / scale;
            let z = if a.abs() > b.abs() {
                s
            } else if c != 0.0 {
                1.0 / c
            } else {
                1.0
            };
            (r, z, c, s)
        }
        fn reals(x: &[Self]) -> &[Self] {
            x
        }
        fn reals_mut(x: &mut [Self]) -> &mut [Self] {
            x
        }
        fn axpy(factor: Self, x: &[Self], y: &mut [Self]) {
            kernel::axpy(Factor::real(factor), x, y);
        }
        fn scal_real(n: usize, alpha: $real, x: &mut [Self], incx: isize) {
            update::scal(n, Factor::real(alpha), x, incx);
        }
        fn asum(n: usize, x: &[Self], incx: isize) -> $real {
            magnitudes(n, x, incx) as $real
        }
        fn wide(self) -> Complex64 {
            Complex::new(self.into(), 0.0)
        }
        fn rounded(sum: Complex64) -> Self {
            sum.re as $real
        }
    }

    impl Field for Complex<$real> {
        type Part = $real;
        const IDENTITY: Self = Complex { re: 1.0, im: 0.0 };

        fn conj(self) -> Self {
            Complex::conj(&self)
        }
        fn re(self) -> $real {
            self.re
        }
        fn im(self) -> $real {
            self.im
        }
        fn from_part(re: $real) -> Self {
            Complex { re, im: 0.0 }
        }
        fn over(self, divisor: Self) -> Self {
            // Smith's method: uses the ratio of the smaller part of the divisor to the larger one.
            let Complex { re: a, im: b } = self;
            let Complex { re: c, im: d } = divisor;
            if d == 0.0 {
                Complex::new(a / c, b / c)
            } else if c.abs() >= d.abs() {
                let ratio = d / c;
                let denominator = c + d * ratio;
                Complex::new((a + b * ratio) / denominator, (b - a * ratio) / denominator)
            } else {
                let ratio = c / d;
                let denominator = c * ratio + d;
                Complex::new((a * ratio + b) / denominator, (b * ratio - a) / denominator)
            }
        }
        fn times(self, factor: $real) -> Self {
            Complex::new(self.re * factor, self.im * factor)
        }
        fn size(self) -> $real {
            self.re.abs() + self.im.abs()
        }
        fn infinity() -> Self {
            Complex::new(<$real>::INFINITY, 0.0)
        }
        fn rotg(a: Self, b: Self) -> (Self, Self, $real, Self) {
            let largest = |z: Self| z.re.abs().max(z.im.abs());
            // `a` may be much smaller than `b`, so its direction is computed from `a` alone, with a scale of its own.
            let alone = a.times(scale_of(largest(a).into()) as $real);
            let length = alone.re.hypot(alone.im);
            if length == 0.0 {
                return (b, b, 0.0, Self::IDENTITY);
            }
            let direction = Complex::new(alone.re / length, alone.im / length);
            let scale = scale_of(largest(a).max(largest(b)).into()) as $real;
            let (x, y) = (a.times(scale), b.times(scale));
            let size = x.re.hypot(x.im);
            let norm = size.hypot(y.re.hypot(y.im));
            let s = direction * Complex::new(y.re / norm, -y.im / norm);
            let r = direction.times(norm);
            (Complex::new(r.re / scale, r.im / scale), b, size / norm, s)
        }
        fn reals(x: &[Self]) -> &[$real] {
            bytemuck::cast_slice(x)
        }
        fn reals_mut(x: &mut [Self]) -> &mut [$real] {
            bytemuck::cast_slice_mut(x)
        }
        fn axpy(factor: Self, x: &[Self], y: &mut [Self]) {
            kernel::axpy(Factor::complex(factor), Self::reals(x), Self::reals_mut(y));
        }
        fn scal_real(n: usize, alpha: $real, x: &mut [Self], incx: isize) {
            update::scal(n, Factor::real(alpha), x, incx);
        }
        fn asum(n: usize, x: &[Self], incx: isize) -> $real {
            magnitudes(n, x, incx) as $real
        }
        fn wide(self) -> Complex64 {
            Complex::new(self.re.into(), self.im.into())
        }
        fn rounded(sum: Complex64) -> Self {
            Complex::new(sum.re as $real, sum.im as $real)
        }
    }
)*} }
fields!(f32, f64);

impl<R: kernel::Real> ComplexLanes<R> {
    /// The complex sum of the lanes; with the first factors conjugated if `conj` is set.
    pub(super) fn product(&self, conj: bool) -> Complex64 {
        let ([rr, ii], [ri, ir]): ([f64; 2], [f64; 2]) = (halves(&self.straight), halves(&self.crossed));
        if conj { Complex64::new(rr + ii, ri - ir) } else { Complex64::new(rr - ii, ri + ir) }
    }
}
