//! Double-double arithmetic: a number as the sum of two f64, the second at most half an ulp of the first.

use std::ops::{Add, Mul, Neg};

/// A number of about 106 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Double {
    hi: f64,
    lo: f64,
}

impl From<f64> for Double {
    #[inline]
    fn from(hi: f64) -> Self {
        Self { hi, lo: 0.0 }
    }
}

impl Double {
    /// `hi + lo`, where `lo` is the rounding error of `hi`. Infinity and NaN have no remainder.
    #[inline]
    fn new(hi: f64, lo: f64) -> Self {
        if !hi.is_finite() {
            return hi.into();
        }
        let sum = hi + lo;
        Self { hi: sum, lo: if sum.is_finite() { lo - (sum - hi) } else { 0.0 } }
    }

    /// The product of two f64, exact except for underflow.
    #[inline]
    pub fn product(x: f64, y: f64) -> Self {
        let hi = x * y;
        Self::new(hi, x.mul_add(y, -hi))
    }

    /// The nearest f64.
    #[inline]
    pub fn to_f64(self) -> f64 {
        self.hi
    }

    /// Rounds to an f32 that rounds to any type of at most 22 bits as this number itself would. This is "round to odd":
    /// toward zero, with the last bit set if inexact. So the second rounding cannot see a tie where there is none.
    fn to_odd_f32(self) -> f32 {
        let near = self.hi as f32;
        let rest = (self + (-f64::from(near)).into()).hi;
        if rest == 0.0 || !near.is_finite() || near.to_bits() & 1 == 1 {
            return near;
        }
        let away = (rest > 0.0) == (near > 0.0);
        match near {
            0.0 => f32::from_bits(1).copysign(rest as f32),
            // An even last bit: one step either way makes it odd.
            _ => f32::from_bits(if away { near.to_bits() + 1 } else { near.to_bits() - 1 }),
        }
    }

    /// The nearest f32.
    pub fn to_f32(self) -> f32 {
        // Round to odd again, one size larger: an odd last bit represents the part of the number below it.
        let odd = match self.hi.to_bits() {
            bits if self.lo != 0.0 && bits & 1 == 0 => {
                f64::from_bits(if (self.lo > 0.0) == (self.hi > 0.0) { bits + 1 } else { bits - 1 })
            }
            bits => f64::from_bits(bits),
        };
        odd as f32
    }

    /// The nearest value of a type of at most 22 bits, given how an f32 is rounded to it.
    pub fn to_narrow<T>(self, round: impl FnOnce(f32) -> T) -> T {
        round(self.to_odd_f32())
    }

    /// The square root.
    pub fn sqrt(self) -> Self {
        let root = self.hi.sqrt();
        if root == 0.0 || !root.is_finite() {
            return root.into();
        }
        // One step of Newton from the f64 root.
        let rest = self + -Self::product(root, root);
        Self::new(root, rest.hi / (2.0 * root))
    }
}

impl Neg for Double {
    type Output = Self;

    #[inline]
    fn neg(self) -> Self {
        Self { hi: -self.hi, lo: -self.lo }
    }
}

impl Add for Double {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        let hi = self.hi + other.hi;
        let back = hi - self.hi;
        let lost = (self.hi - (hi - back)) + (other.hi - back);
        Self::new(hi, lost + (self.lo + other.lo))
    }
}

impl Mul for Double {
    type Output = Self;

    #[inline]
    fn mul(self, other: Self) -> Self {
        let Self { hi, lo } = Self::product(self.hi, other.hi);
        Self::new(hi, lo + (self.hi * other.lo + self.lo * other.hi))
    }
}
