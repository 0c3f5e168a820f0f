//! The element types as exact pairs of a real and an imaginary part.

use half::{bf16, f16};
use num_complex::{Complex, Complex32, Complex64};

use super::double::Double;
use super::terms::{Side, add_product_of};
use crate::core::fp8::{F8E4M3, F8E5M2};

/// A complex number in double-double.
pub type Pair = Complex<Double>;

/// An element type of the engine.
pub trait Value: Copy + Default {
    /// Half the distance from 1 to the next larger value: the relative error of one rounding.
    const UNIT: f64;
    /// The smallest positive value: twice the absolute error of one rounding that underflows.
    const TINY: f64;
    /// Whether there is an imaginary part.
    const COMPLEX: bool;

    /// The real and imaginary part.
    fn parts(self) -> [f64; 2];
    /// The nearest value; a real type drops the imaginary part.
    fn nearest(x: Pair) -> Self;
}

macro_rules! real {
    ($($t:ty, $unit:expr, $tiny:expr, |$x:ident| $round:expr;)*) => {$(
        impl Value for $t {
            const UNIT: f64 = $unit;
            const TINY: f64 = $tiny;
            const COMPLEX: bool = false;

            fn parts(self) -> [f64; 2] {
                [self.into(), 0.0]
            }

            fn nearest(x: Pair) -> Self {
                let $x = x.re;
                $round
            }
        }
    )*};
}
/// Two to the power of `e`.
const fn two(e: i32) -> f64 {
    let field = (1023 + e) as u64;
    if e >= -1022 { f64::from_bits(field << 52) } else { f64::from_bits(1 << (e + 1074)) }
}
real! {
    f64, two(-53), two(-1074), |x| x.to_f64();
    f32, two(-24), two(-149), |x| x.to_f32();
    f16, two(-11), two(-24), |x| x.to_narrow(f16::from_f32);
    bf16, two(-8), two(-133), |x| x.to_narrow(bf16::from_f32);
    F8E4M3, two(-4), two(-9), |x| x.to_narrow(F8E4M3::from_f32);
    F8E5M2, two(-3), two(-16), |x| x.to_narrow(F8E5M2::from_f32);
}

macro_rules! integer {
    ($($t:ty)*) => {$(
        /// Exact except for one rounding to an integer; saturates.
        impl Value for $t {
            const UNIT: f64 = 0.0;
            const TINY: f64 = 1.0;
            const COMPLEX: bool = false;

            fn parts(self) -> [f64; 2] {
                [self.into(), 0.0]
            }

            fn nearest(x: Pair) -> Self {
                x.re.to_f64().round_ties_even() as Self
            }
        }
    )*};
}
integer! { i8 i32 }

macro_rules! complex {
    ($($t:ty, $real:ty;)*) => {$(
        impl Value for $t {
            const UNIT: f64 = <$real>::UNIT;
            const TINY: f64 = <$real>::TINY;
            const COMPLEX: bool = true;

            fn parts(self) -> [f64; 2] {
                [self.re.into(), self.im.into()]
            }

            fn nearest(x: Pair) -> Self {
                Self::new(<$real>::nearest(x), <$real>::nearest(Complex::new(x.im, x.re)))
            }
        }
    )*};
}
complex! { Complex32, f32; Complex64, f64; }

/// The value as a pair.
pub(super) fn exact<T: Value>(x: T) -> Pair {
    let [re, im] = x.parts();
    Complex::new(re.into(), im.into())
}

/// `sum + x * y`.
pub(super) fn add_product<X: Value, Y: Value>(sum: Pair, x: X, y: Y, conj_x: bool, conj_y: bool) -> Pair {
    let side = |complex, conj| Side { complex, conj };
    add_product_of(sum, (x.parts(), side(X::COMPLEX, conj_x)), (y.parts(), side(Y::COMPLEX, conj_y)))
}

/// `factor * x`, where a real `factor` has no imaginary part to multiply by.
pub(super) fn scaled<S: Value>(factor: S, x: Pair) -> Pair {
    let factor_pair = exact(factor);
    if S::COMPLEX { times(factor_pair, x) } else { Complex::new(factor_pair.re * x.re, factor_pair.re * x.im) }
}

/// `x * y`.
#[inline]
pub(super) fn times(x: Pair, y: Pair) -> Pair {
    Complex::new(x.re * y.re + -(x.im * y.im), x.re * y.im + x.im * y.re)
}

/// `x + y`.
#[inline]
pub(super) fn sum(x: Pair, y: Pair) -> Pair {
    Complex::new(x.re + y.re, x.im + y.im)
}

/// The sum of the magnitudes of the parts: at least the magnitude of the number. The product of two sizes is at least
/// each part of the product of the numbers.
pub(super) fn size<T: Value>(x: T) -> f64 {
    let [re, im] = x.parts();
    re.abs() + im.abs()
}

/// The element at `i`, zero outside.
#[inline]
pub(super) fn at<T: Copy + Default>(x: &[T], i: usize) -> T {
    x.get(i).copied().unwrap_or_default()
}
