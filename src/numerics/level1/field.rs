//! The four types of BLAS as fields, with the two loops that level 2 is made of.

use std::fmt::Debug;
use std::ops::{Add, Mul, Neg, Sub};

use num_complex::{Complex, Complex64};

use super::kernel::{self, ComplexLanes, Factor, LANES};
use super::reduce::{halves, total};

/// f32, f64, or a complex number of two of them.
pub trait Field:
    Copy
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
    /// The type of its parts.
    type Part: Field<Part = Self::Part> + PartialOrd + Into<f64>;
    /// One.
    const ONE: Self;
    /// Reals in one element.
    const PARTS: usize;

    /// The conjugate; a real number itself.
    fn conj(self) -> Self;
    /// The real part.
    fn re(self) -> Self::Part;
    /// The imaginary part.
    fn im(self) -> Self::Part;
    /// A real number.
    fn real(re: Self::Part) -> Self;
    /// The quotient, which overflows or underflows on the way only where it is near doing so itself.
    fn over(self, divisor: Self) -> Self;
    /// The elements as reals.
    fn reals(x: &[Self]) -> &[Self::Part];
    /// The elements as reals.
    fn reals_mut(x: &mut [Self]) -> &mut [Self::Part];
    /// `y += factor * x`, over as many elements as both have, on this thread. No factor is skipped.
    fn axpy(factor: Self, x: &[Self], y: &mut [Self]);
    /// The sum of `x_i * y_i`, of `conj(x_i) * y_i`, over as many elements as both have, on this thread.
    fn dot(conj: bool, x: &[Self], y: &[Self]) -> Complex64;
    /// Rounds a sum.
    fn nearest(sum: Complex64) -> Self;

    /// The conjugate where asked for.
    fn conj_if(self, conj: bool) -> Self {
        if conj { self.conj() } else { self }
    }
}

macro_rules! fields { ($($real:ty),*) => {$(
    impl Field for $real {
        type Part = $real;
        const ONE: Self = 1.0;
        const PARTS: usize = 1;

        fn conj(self) -> Self {
            self
        }
        fn re(self) -> Self {
            self
        }
        fn im(self) -> Self {
            0.0
        }
        fn real(re: Self) -> Self {
            re
        }
        fn over(self, divisor: Self) -> Self {
            self / divisor
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
        fn dot(_: bool, x: &[Self], y: &[Self]) -> Complex64 {
            let n = x.len().min(y.len());
            let mut lanes = [0.0; LANES];
            kernel::dot(&mut lanes, x.get(..n).unwrap_or_default(), y.get(..n).unwrap_or_default());
            Complex::new(total(&lanes), 0.0)
        }
        fn nearest(sum: Complex64) -> Self {
            sum.re as $real
        }
    }

    impl Field for Complex<$real> {
        type Part = $real;
        const ONE: Self = Complex { re: 1.0, im: 0.0 };
        const PARTS: usize = 2;

        fn conj(self) -> Self {
            Complex::conj(&self)
        }
        fn re(self) -> $real {
            self.re
        }
        fn im(self) -> $real {
            self.im
        }
        fn real(re: $real) -> Self {
            Complex { re, im: 0.0 }
        }
        fn over(self, divisor: Self) -> Self {
            // Smith's method: the smaller part of the divisor over the larger one.
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
        fn reals(x: &[Self]) -> &[$real] {
            bytemuck::cast_slice(x)
        }
        fn reals_mut(x: &mut [Self]) -> &mut [$real] {
            bytemuck::cast_slice_mut(x)
        }
        fn axpy(factor: Self, x: &[Self], y: &mut [Self]) {
            kernel::axpy(Factor::complex(factor), Self::reals(x), Self::reals_mut(y));
        }
        fn dot(conj: bool, x: &[Self], y: &[Self]) -> Complex64 {
            let n = x.len().min(y.len());
            let mut lanes = ComplexLanes::new();
            let (x, y) = (x.get(..n).unwrap_or_default(), y.get(..n).unwrap_or_default());
            kernel::complex_dot(&mut lanes, Self::reals(x), Self::reals(y));
            lanes.product(conj)
        }
        fn nearest(sum: Complex64) -> Self {
            Complex::new(sum.re as $real, sum.im as $real)
        }
    }
)*} }
fields!(f32, f64);

impl<R: kernel::Real> ComplexLanes<R> {
    /// The sum that the lanes make up; with the first factors conjugated if asked for.
    pub(super) fn product(&self, conj: bool) -> Complex64 {
        let ([rr, ii], [ri, ir]): ([f64; 2], [f64; 2]) = (halves(&self.straight), halves(&self.crossed));
        if conj { Complex64::new(rr + ii, ri - ir) } else { Complex64::new(rr - ii, ri + ir) }
    }
}
