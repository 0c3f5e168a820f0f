//! Elements on the host, with the arithmetic of the kernels: halves are computed in `f32`, and a computed NaN has one pattern.

use crate::core::element::Element;
use half::{bf16, f16};
use std::ops::{Add, Div, Mul, Sub};

/// A number that is compared.
pub(super) trait Number: Copy + Send + Sync {
    /// Not above any other one.
    const LOWEST: Self;

    /// Whether it takes the place of the largest one so far: the first NaN is the largest.
    fn is_ahead(self, best: Self) -> bool;
}

/// A floating point number.
pub(super) trait Float: Number {
    /// In what it is computed.
    type Wide: Copy
        + Add<Output = Self::Wide>
        + Sub<Output = Self::Wide>
        + Mul<Output = Self::Wide>
        + Div<Output = Self::Wide>;

    fn wide(self) -> Self::Wide;
    fn narrow(wide: Self::Wide) -> Self;
    fn wide_of(n: i64) -> Self::Wide;
}

macro_rules! integers { ($($t:ty),*) => { $(
    impl Number for $t {
        const LOWEST: Self = <$t>::MIN;
        fn is_ahead(self, best: Self) -> bool {
            self > best
        }
    }
)* } }
integers!(i8, u8);

macro_rules! floats { ($($t:ty, $wide:ty, $lowest:expr, |$x:ident| $widen:expr, |$y:ident| $narrow:expr, $nan:expr;)*) => { $(
    impl Number for $t {
        const LOWEST: Self = $lowest;
        #[inline(always)]
        fn is_ahead(self, best: Self) -> bool {
            let (x, best) = (self.wide(), best.wide());
            x > best || (x.is_nan() && !best.is_nan())
        }
    }
    impl Float for $t {
        type Wide = $wide;
        #[inline(always)]
        fn wide(self) -> $wide {
            let $x = self;
            $widen
        }
        #[inline(always)]
        fn narrow(wide: $wide) -> Self {
            if wide.is_nan() {
                return <$t>::from_bits($nan);
            }
            let $y = wide;
            $narrow
        }
        #[inline(always)]
        fn wide_of(n: i64) -> $wide {
            n as $wide
        }
    }
)* } }
floats! {
    f32, f32, f32::NEG_INFINITY, |x| x, |y| y, 0x7fff_ffff;
    f64, f64, f64::NEG_INFINITY, |x| x, |y| y, 0x7fff_ffff_ffff_ffff;
    f16, f32, f16::NEG_INFINITY, |x| x.to_f32(), |y| f16::from_f32(y), 0x7fff;
    bf16, f32, bf16::NEG_INFINITY, |x| x.to_f32(), |y| bf16::from_f32(y), 0x7fff;
}

/// A floating point number that is computed in its own type.
pub(super) trait Own:
    Float<Wide = Self>
    + Element
    + Default
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
{
    fn of(x: f64) -> Self;
    /// `self * b + c`, rounded once.
    fn fused(self, b: Self, c: Self) -> Self;
    fn floor(self) -> Self;
    /// To the nearest whole number, ties to even.
    fn round_even(self) -> Self;
    /// Kept between both; NaN becomes the lower one.
    fn within(self, low: Self, high: Self) -> Self;
    /// A whole number that lies in the range.
    fn index(self) -> u32;
}
macro_rules! own { ($($t:ty)*) => { $(
    impl Own for $t {
        #[inline(always)]
        fn of(x: f64) -> Self {
            x as $t
        }
        #[inline(always)]
        fn fused(self, b: Self, c: Self) -> Self {
            self.mul_add(b, c)
        }
        #[inline(always)]
        fn floor(self) -> Self {
            <$t>::floor(self)
        }
        #[inline(always)]
        fn round_even(self) -> Self {
            self.round_ties_even()
        }
        #[inline(always)]
        fn within(self, low: Self, high: Self) -> Self {
            let x = if self > low { self } else { low };
            if x < high { x } else { high }
        }
        #[inline(always)]
        fn index(self) -> u32 {
            self as u32
        }
    }
)* } }
own!(f32 f64);
