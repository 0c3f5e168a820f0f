//! The arithmetic that the functions are written in: numbers of the host, or symbols of a kernel.
//!
//! Only operations that IEEE 754 defines to the last bit, and operations on integers: so every engine gives the same bits.
//! The payload and the sign of a NaN are the exception; no function looks at them.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

use super::format::Format;

/// A floating-point number, or a symbol for one. Every operation rounds once, to nearest even; nothing is contracted.
pub(super) trait Real:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    type Format: Format;
    type Bits: Bits<Real = Self>;
    type Mask: Copy + BitAnd<Output = Self::Mask> + BitOr<Output = Self::Mask> + Not<Output = Self::Mask>;
    /// A constant, rounded to the format.
    fn lit(x: f64) -> Self;
    /// `self * b + c`, rounded once.
    fn fma(self, b: Self, c: Self) -> Self;
    fn sqrt(self) -> Self;
    fn abs(self) -> Self;
    /// With the sign of another.
    fn copysign(self, sign: Self) -> Self;
    fn bits(self) -> Self::Bits;
    fn lt(self, than: Self) -> Self::Mask;
    fn le(self, than: Self) -> Self::Mask;
    /// Equal: false for NaN, true for zeros of either sign.
    fn is(self, other: Self) -> Self::Mask;
    fn is_nan(self) -> Self::Mask;
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
}

/// An integer as wide as a [`Real`], without a sign where that matters; arithmetic wraps.
pub(super) trait Bits:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
{
    type Real: Real<Bits = Self>;
    /// The low bits of a constant.
    fn lit(x: i64) -> Self;
    /// The upper half of a product.
    fn mul_high(self, b: Self) -> Self;
    /// By a constant below the width.
    fn shl(self, by: u32) -> Self;
    fn shr(self, by: u32) -> Self;
    /// By a number below the width.
    fn shl_by(self, by: Self) -> Self;
    fn shr_by(self, by: Self) -> Self;
    fn is(self, other: Self) -> <Self::Real as Real>::Mask;
    /// Less than, as numbers without sign.
    fn below(self, other: Self) -> <Self::Real as Real>::Mask;
    fn select(mask: <Self::Real as Real>::Mask, yes: Self, no: Self) -> Self;
    /// The number with these bits.
    fn real(self) -> Self::Real;
}
