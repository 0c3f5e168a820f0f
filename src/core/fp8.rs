//! 8-bit floating point, as the tensor cores use it (OCP FP8).
//!
//! The crate has its own types for two reasons. They must match a GPU's conversions code by code. And the loops of the
//! host engine that convert whole panels must become vector instructions, which a table or a branch for each element
//! would prevent.

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The parameters of an 8-bit format.
struct Format {
    /// Bits of the mantissa.
    mantissa: u32,
    /// What is added to the exponent (the exponent bias).
    bias: u32,
    /// The code of the largest finite value.
    max: u8,
    /// The code of infinity. If the format has none: a value that no code without its sign has.
    infinity: u8,
    /// The first code that is NaN. Conversions produce the last one, [`NAN`].
    nan: u8,
}

const NAN: u8 = 0x7f;
const E4M3: Format = Format { mantissa: 3, bias: 7, max: 0x7e, infinity: 0xff, nan: 0x7f };
const E5M2: Format = Format { mantissa: 2, bias: 15, max: 0x7b, infinity: 0x7c, nan: 0x7d };

impl Format {
    /// The value of a finite code without its sign.
    #[inline(always)]
    const fn finite(&self, code: u8) -> f32 {
        // Moves the code's exponent and mantissa to their places in an f32; the product then corrects the difference of
        // the biases. A subnormal code becomes a subnormal f32, which the product corrects as well.
        f32::from_bits((code as u32) << (23 - self.mantissa)) * f32::from_bits((254 - self.bias) << 23)
    }

    /// The nearest code, ties to even; saturating.
    #[inline(always)]
    const fn encode(&self, x: f32) -> u8 {
        let (sign, size) = ((x.to_bits() >> 24) as u8 & 0x80, x.to_bits() & 0x7fff_ffff);
        let max = self.finite(self.max).to_bits();
        let clamped = if size > max { max } else { size };
        let shift = 23 - self.mantissa;
        // Adds half a unit of the bits that stay, less one unless these bits are odd: ties go to even.
        let rounded = (clamped + ((1 << (shift - 1)) - 1) + ((clamped >> shift) & 1)) >> shift;
        let normal = rounded.wrapping_sub((127 - self.bias) << self.mantissa);
        // Below the smallest normal value all values are multiples of the smallest one. Adding 2^23 times the smallest
        // one makes the hardware's rounding leave the multiple, which is the code, in the low bits.
        let unit = 127 + 1 - self.bias - self.mantissa;
        let magic = f32::from_bits((unit + 23) << 23);
        let subnormal = (f32::from_bits(clamped) + magic).to_bits() - magic.to_bits();
        let is_normal = clamped >= (127 + 1 - self.bias) << 23;
        let code = if is_normal { normal } else { subnormal };
        let code = if size > 0x7f80_0000 { NAN } else { code as u8 };
        sign | code
    }
}

macro_rules! float8 { ($($(#[$meta:meta])* $name:ident, $format:ident;)*) => { $(
    $(#[$meta])*
    #[derive(Clone, Copy, Default, Pod, Zeroable, Serialize, Deserialize)]
    #[serde(transparent)]
    #[repr(transparent)]
    pub struct $name(u8);

    impl $name {
        /// The largest finite value.
        pub const MAX: Self = $name($format.max);
        /// The smallest finite value.
        pub const MIN: Self = $name(0x80 | $format.max);
        /// The smallest positive value.
        pub const MIN_POSITIVE_SUBNORMAL: Self = $name(1);
        /// The smallest positive normal value.
        pub const MIN_POSITIVE: Self = $name(1 << $format.mantissa);
        /// The distance from 1 to the next larger value.
        pub const EPSILON: Self = Self::from_f32(1.0 / (1 << $format.mantissa) as f32);
        /// Not a number.
        pub const NAN: Self = $name(NAN);
        /// One.
        pub const ONE: Self = Self::from_f32(1.0);
        /// Zero.
        pub const ZERO: Self = $name(0);

        /// The value with this code.
        #[inline]
        pub const fn from_bits(bits: u8) -> Self {
            $name(bits)
        }

        /// The code.
        #[inline]
        pub const fn to_bits(self) -> u8 {
            self.0
        }

        /// The nearest value, ties to even. A magnitude above the largest finite value, infinity included, becomes that
        /// value with its sign (NVIDIA's `satfinite`); NaN stays NaN.
        #[inline]
        pub const fn from_f32(x: f32) -> Self {
            $name($format.encode(x))
        }

        /// The nearest value, as [`from_f32`](Self::from_f32), rounded once.
        pub fn from_f64(x: f64) -> Self {
            // Rounds to f32 toward zero, and sets the last bit if that was inexact: so the second rounding sees no
            // false tie.
            let near = x as f32;
            let odd = if f64::from(near) == x || !near.is_finite() || near.to_bits() & 1 == 1 {
                near
            } else if near == 0.0 {
                f32::from_bits(1).copysign(near)
            } else {
                let inward = f64::from(near).abs() > x.abs();
                f32::from_bits(if inward { near.to_bits() - 1 } else { near.to_bits() + 1 })
            };
            Self::from_f32(odd)
        }

        /// The same value in f32, exactly.
        #[inline]
        pub const fn to_f32(self) -> f32 {
            let size = self.0 & 0x7f;
            let value = if size >= $format.nan {
                f32::NAN
            } else if size == $format.infinity {
                f32::INFINITY
            } else {
                $format.finite(size)
            };
            f32::from_bits(value.to_bits() | ((self.0 & 0x80) as u32) << 24)
        }

        /// The same value in f64, exactly.
        #[inline]
        pub const fn to_f64(self) -> f64 {
            self.to_f32() as f64
        }

        /// Whether it is not a number.
        #[inline]
        pub const fn is_nan(self) -> bool {
            self.0 & 0x7f >= $format.nan
        }

        /// Whether it is neither infinite nor NaN.
        #[inline]
        pub const fn is_finite(self) -> bool {
            self.0 & 0x7f <= $format.max
        }
    }

    impl PartialEq for $name {
        fn eq(&self, other: &Self) -> bool {
            self.to_f32() == other.to_f32()
        }
    }

    impl PartialOrd for $name {
        fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
            self.to_f32().partial_cmp(&other.to_f32())
        }
    }

    impl fmt::Debug for $name {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            fmt::Debug::fmt(&self.to_f32(), f)
        }
    }

    impl fmt::Display for $name {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            fmt::Display::fmt(&self.to_f32(), f)
        }
    }

    impl From<$name> for f32 {
        fn from(x: $name) -> f32 {
            x.to_f32()
        }
    }

    impl From<$name> for f64 {
        fn from(x: $name) -> f64 {
            x.to_f64()
        }
    }
)* } }

float8! {
    /// 8-bit floating point with 4 bits of exponent and 3 of mantissa (`CUDA_R_8F_E4M3`): up to 448, no infinity.
    ///
    /// Equality compares values: zero has two codes, and NaN equals nothing. Serialized as its code.
    ///
    /// ```
    /// use windlass::F8E4M3;
    /// assert_eq!(F8E4M3::from_f32(1.07).to_f32(), 1.125);
    /// assert_eq!(F8E4M3::from_f32(1e6), F8E4M3::MAX);
    /// assert!(F8E4M3::from_f32(f32::NAN).is_nan());
    /// ```
    F8E4M3, E4M3;
    /// 8-bit floating point with 5 bits of exponent and 2 of mantissa (`CUDA_R_8F_E5M2`): up to 57344, and infinity,
    /// which no conversion produces.
    ///
    /// Equality compares values: zero has two codes, and NaN equals nothing. Serialized as its code.
    ///
    /// ```
    /// use windlass::F8E5M2;
    /// assert_eq!(F8E5M2::from_f32(1.1).to_f32(), 1.0);
    /// assert_eq!(F8E5M2::from_f32(f32::INFINITY).to_f32(), 57344.0);
    /// ```
    F8E5M2, E5M2;
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    /// All finite values of one format with their codes, from the definition: sign, exponent, mantissa.
    fn defined(mantissa: i32, bias: i32, max: u8) -> Vec<(u8, f64)> {
        let value = |code: u8| {
            let (exponent, fraction) = (i32::from(code >> mantissa), f64::from(code & ((1 << mantissa) - 1)));
            let unit = 2f64.powi(-mantissa);
            match exponent {
                0 => fraction * unit * 2f64.powi(1 - bias),
                e => (1.0 + fraction * unit) * 2f64.powi(e - bias),
            }
        };
        (0..=max).map(|code| (code, value(code))).collect()
    }

    /// The nearest code by looking at the neighbours, ties to the even code, saturating.
    fn nearest(values: &[(u8, f64)], x: f64) -> u8 {
        let sign = if x.is_sign_negative() { 0x80 } else { 0 };
        let size = x.abs();
        let above = values.partition_point(|(_, v)| *v < size);
        let Some(&(high, high_value)) = values.get(above) else { return sign | values.last().unwrap().0 };
        let Some(&(low, low_value)) = above.checked_sub(1).and_then(|i| values.get(i)) else { return sign | high };
        let (down, up) = (size - low_value, high_value - size);
        sign | if down < up || (down == up && low % 2 == 0) { low } else { high }
    }

    macro_rules! format_tests {
        ($module:ident, $t:ident, $mantissa:literal, $bias:literal, $max:literal) => {
            mod $module {
                use super::*;

                #[test]
                fn every_code_has_its_value_and_comes_back() {
                    let values = defined($mantissa, $bias, $max);
                    for (code, value) in &values {
                        for (sign, factor) in [(0, 1.0), (0x80, -1.0)] {
                            let x = $t::from_bits(code | sign);
                            assert_eq!(x.to_f64().to_bits(), (value * factor).to_bits(), "{code:#x}");
                            assert_eq!($t::from_f32(x.to_f32()).to_bits(), x.to_bits());
                            assert_eq!($t::from_f64(x.to_f64()).to_bits(), x.to_bits());
                            assert!(x.is_finite() && !x.is_nan());
                        }
                    }
                    let rest: Vec<u8> = ($max + 1..=0x7f).collect();
                    for x in rest.iter().flat_map(|c| [*c, *c | 0x80]).map($t::from_bits) {
                        assert!(!x.is_finite());
                        assert_eq!(x.is_nan(), !x.to_f32().is_infinite());
                        assert_eq!(x.is_nan(), x != x);
                    }
                }

                #[test]
                fn conversions_round_to_nearest_and_saturate() {
                    let values = defined($mantissa, $bias, $max);
                    let check = |x: f64| {
                        let want = if x.is_nan() { None } else { Some(nearest(&values, x)) };
                        let got = $t::from_f64(x);
                        match want {
                            Some(want) => assert_eq!(got.to_bits(), want, "{x:e}"),
                            None => assert!(got.is_nan()),
                        }
                        if f64::from(x as f32) == x || x.is_nan() {
                            assert_eq!($t::from_f32(x as f32).to_bits() & 0x7f, got.to_bits() & 0x7f, "{x:e}");
                        }
                    };
                    (0..=u16::MAX).for_each(|bits| check(f16::from_bits(bits).to_f64()));
                    (0..=u16::MAX).for_each(|bits| check(bf16::from_bits(bits).to_f64()));
                    // Each tie between neighbours, and the f32 and f64 values next to it.
                    for pair in values.windows(2) {
                        let tie = (pair[0].1 + pair[1].1) / 2.0;
                        let near = (tie as f32).to_bits();
                        for x in [tie, tie.next_up(), tie.next_down()] {
                            check(x);
                            check(-x);
                        }
                        for bits in near.saturating_sub(2)..near + 3 {
                            check(f64::from(f32::from_bits(bits)));
                        }
                    }
                    // A stride that is coprime to 2^32 visits all exponents and no two neighbours.
                    (0..1 << 18).for_each(|i: u32| check(f64::from(f32::from_bits(i.wrapping_mul(0x9e37_79b1)))));
                    for x in [f64::MAX, f64::INFINITY, 1e-300, 0.0, f64::from(f32::MAX) * 1.0001] {
                        check(x);
                        check(-x);
                    }
                }
            }
        };
    }
    format_tests!(e4m3, F8E4M3, 3, 7, 0x7e);
    format_tests!(e5m2, F8E5M2, 2, 15, 0x7b);

    #[test]
    fn constants_are_what_they_are_called() {
        assert_eq!([F8E4M3::MAX.to_f32(), F8E4M3::MIN.to_f32()], [448.0, -448.0]);
        assert_eq!([F8E5M2::MAX.to_f32(), F8E5M2::MIN.to_f32()], [57344.0, -57344.0]);
        assert_eq!([F8E4M3::EPSILON.to_f32(), F8E5M2::EPSILON.to_f32()], [0.125, 0.25]);
        assert_eq!(F8E4M3::MIN_POSITIVE.to_f64(), 2f64.powi(-6));
        assert_eq!(F8E5M2::MIN_POSITIVE.to_f64(), 2f64.powi(-14));
        assert_eq!(F8E4M3::MIN_POSITIVE_SUBNORMAL.to_f64(), 2f64.powi(-9));
        assert_eq!(F8E5M2::MIN_POSITIVE_SUBNORMAL.to_f64(), 2f64.powi(-16));
        assert_eq!(F8E4M3::ONE.to_f32() + F8E4M3::ZERO.to_f32(), 1.0);
        assert_eq!(F8E5M2::from_bits(0x7c).to_f32(), f32::INFINITY);
        assert!(F8E4M3::from_bits(0x80) == F8E4M3::ZERO && F8E4M3::ONE > F8E4M3::from_f32(-2.0));
        assert_eq!(format!("{} {:?}", F8E4M3::from_f32(1.5), F8E5M2::from_f32(-0.25)), "1.5 -0.25");
    }

    #[test]
    fn a_value_is_serialized_as_its_code() {
        let bytes = postcard::to_allocvec(&[F8E4M3::ONE, F8E4M3::NAN]).unwrap();
        assert_eq!(bytes, [56, 127]);
        let back: [F8E5M2; 2] = postcard::from_bytes(&[60, 252]).unwrap();
        assert_eq!((back[0].to_f32(), back[1].to_f32()), (1.0, f32::NEG_INFINITY));
    }
}
