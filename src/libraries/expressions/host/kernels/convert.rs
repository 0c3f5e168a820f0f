//! Conversions of single values.

use super::Map1;

/// To the lane `R`, as Rust's `as`: integers wrap, floating point saturates, NaN gives 0.
pub(super) struct To<R>(std::marker::PhantomData<R>);

macro_rules! to { ($($from:ty => $($to:ty),*;)*) => { $($(
    impl Map1<$from> for To<$to> {
        type R = $to;
        #[inline(always)]
        fn map(a: $from) -> $to { a as $to }
    }
)*)* } }

// Where a result has as many bits as the operand or fewer, the sign of neither matters; where it has more, that of the
// operand does.
to! {
    u8 => u16, u32, u64, f32, f64;
    i8 => u16, u32, u64, f32, f64;
    u16 => u8, u32, u64, f32, f64;
    i16 => u32, u64, f32, f64;
    u32 => u8, u16, u64, f32, f64;
    i32 => u64, f32, f64;
    u64 => u8, u16, u32, f32, f64;
    i64 => f32, f64;
    f32 => i64, u64, f64;
    f64 => i64, u64, f32;
}

/// To 32 bits with the instruction that vectors have, for values that fit `i32`; the others are selected.
macro_rules! to_words { ($($from:ty),*) => { $(
    impl Map1<$from> for To<i32> {
        type R = i32;
        #[inline(always)]
        fn map(a: $from) -> i32 {
            let fits = a > -2_147_483_649.0 && a < 2_147_483_648.0;
            // SAFETY: what is converted is 0 or lies between, so that cut to an integer it fits `i32`.
            let word = unsafe { (if fits { a } else { 0.0 }).to_int_unchecked::<i32>() };
            if a >= 2_147_483_648.0 {
                i32::MAX
            } else if a <= -2_147_483_648.0 {
                i32::MIN
            } else {
                word
            }
        }
    }
    impl Map1<$from> for To<u32> {
        type R = u32;
        #[inline(always)]
        fn map(a: $from) -> u32 {
            let upper = a >= 2_147_483_648.0;
            let near = if upper { a - 2_147_483_648.0 } else { a };
            let fits = near > 0.0 && near < 2_147_483_648.0;
            // SAFETY: what is converted is 0 or lies between, so that cut to an integer it fits `i32`.
            let word = unsafe { (if fits { near } else { 0.0 }).to_int_unchecked::<i32>() } as u32;
            if a >= 4_294_967_296.0 {
                u32::MAX
            } else if upper {
                word ^ 0x8000_0000
            } else {
                word
            }
        }
    }
)* } }
to_words!(f32, f64);

/// `f64` to `f32`, toward zero with the last bit set if that was inexact.
pub(super) struct Odd;

impl Map1<f64> for Odd {
    type R = f32;
    #[inline(always)]
    fn map(x: f64) -> f32 {
        let near = x as f32;
        let (size, near_size) = (x.abs(), f64::from(near).abs());
        let above = u32::from(near_size > size);
        f32::from_bits((near.to_bits() - above) | above | u32::from(near_size < size))
    }
}

pub(super) struct WidenF16;
pub(super) struct WidenBf16;
pub(super) struct NarrowF16;
pub(super) struct NarrowBf16;

/// The pattern of a computed NaN.
const NAN: u16 = 0x7fff;

impl Map1<u16> for WidenF16 {
    type R = f32;
    #[inline(always)]
    fn map(bits: u16) -> f32 {
        let size = u32::from(bits & 0x7fff) << 13;
        // Exponent and significand are moved to their places; the product corrects the bias, also of subnormals.
        let finite = f32::from_bits(size) * f32::from_bits((254 - 15) << 23);
        let size = if size >= 0x7c00 << 13 { 0x7f80_0000 | size } else { finite.to_bits() };
        f32::from_bits(size | u32::from(bits & 0x8000) << 16)
    }
}

impl Map1<u16> for WidenBf16 {
    type R = f32;
    #[inline(always)]
    fn map(bits: u16) -> f32 {
        f32::from_bits(u32::from(bits) << 16)
    }
}

impl Map1<f32> for NarrowF16 {
    type R = u16;
    #[inline(always)]
    fn map(x: f32) -> u16 {
        let (sign, size) = ((x.to_bits() >> 16) & 0x8000, x.to_bits() & 0x7fff_ffff);
        // Half a unit of the bits that stay, less one unless they are odd: ties go to even.
        let rounded = (size + 0xfff + ((size >> 13) & 1)) >> 13;
        let normal = rounded.wrapping_sub((127 - 15) << 10).min(0x7c00);
        // Subnormals are multiples of 2^-24: the sum with 0.5 rounds to one, whose factor is in the low bits.
        let subnormal = (f32::from_bits(size) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
        let code = if size >= (127 + 1 - 15) << 23 { normal } else { subnormal };
        if size > 0x7f80_0000 { NAN } else { (sign | code) as u16 }
    }
}

impl Map1<f32> for NarrowBf16 {
    type R = u16;
    #[inline(always)]
    fn map(x: f32) -> u16 {
        let bits = x.to_bits();
        let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
        if bits & 0x7fff_ffff > 0x7f80_0000 { NAN } else { rounded as u16 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    #[test]
    fn halves_are_those_of_the_crate_half() {
        for bits in 0..=u16::MAX {
            let (x, y) = (f16::from_bits(bits), bf16::from_bits(bits));
            if x.is_nan() {
                assert!(WidenF16::map(bits).is_nan());
                assert_eq!(NarrowF16::map(WidenF16::map(bits)), NAN);
            } else {
                assert_eq!(WidenF16::map(bits).to_bits(), x.to_f32().to_bits());
                assert_eq!(NarrowF16::map(x.to_f32()), bits);
            }
            assert_eq!(WidenBf16::map(bits).to_bits(), u32::from(bits) << 16);
            if !y.is_nan() {
                assert_eq!(NarrowBf16::map(y.to_f32()), bits);
            }
        }
    }

    /// The nearest half, by its definition.
    fn rounded(x: f64) -> u16 {
        if x.abs() >= 65_520.0 {
            return if x < 0.0 { 0xfc00 } else { 0x7c00 };
        }
        let exponent = (((x.to_bits() >> 52) & 0x7ff) as i32 - 1023).max(-14);
        let unit = 2f64.powi(exponent - 10);
        f16::from_f64((x / unit).round_ties_even() * unit).to_bits()
    }

    #[test]
    fn what_is_rounded_to_odd_is_rounded_once() {
        let spread = (0..1u64 << 18).map(|i| f64::from_bits(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        // Ties of halves, and what is next to them in double precision.
        let ties =
            (0..0x7c00u16).map(|bits| f64::from(f32::from_bits(f16::from_bits(bits).to_f32().to_bits() | 0x1000)));
        let near = ties.flat_map(|x| [x, x.next_up(), x.next_down(), -x, -x.next_up()]);
        let ends = [0.0, -0.0, 1e300, -1e300, 1e-300, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, 65_520.0];
        for x in near.chain(spread).chain(ends).filter(|x| !x.is_nan()) {
            assert_eq!(NarrowF16::map(Odd::map(x)), rounded(x), "{x:e}");
        }
        assert!(Odd::map(f64::NAN).is_nan());
    }

    #[test]
    fn integers_are_those_of_the_cast_of_rust() {
        let edges = [0.0, 1.0, 0.5, 2_147_483_647.0, 2_147_483_648.0, 4_294_967_295.0, 4_294_967_296.0, 1e300];
        let near = edges.iter().flat_map(|x: &f64| [*x, x.next_up(), x.next_down(), x + 0.5, x - 0.5]);
        let both = near.chain([f64::NAN, f64::INFINITY]).flat_map(|x| [x, -x]);
        let spread = (0..1u64 << 16).map(|i| f64::from_bits(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        for x in both.chain(spread) {
            let y = x as f32;
            assert_eq!((To::<i32>::map(x), To::<u32>::map(x)), (x as i32, x as u32), "{x:e}");
            assert_eq!((To::<i32>::map(y), To::<u32>::map(y)), (y as i32, y as u32), "{y:e}");
        }
        let words = (0..1u32 << 16).map(|i| f32::from_bits(i.wrapping_mul(0x9e37_79b1)));
        words.for_each(|y| assert_eq!((To::<i32>::map(y), To::<u32>::map(y)), (y as i32, y as u32), "{y:e}"));
    }

    #[test]
    fn rounding_to_halves_is_that_of_the_crate_half() {
        // A stride that is coprime to 2^32 visits all exponents; ties and their neighbours come from the halves.
        let spread = (0..1u32 << 22).map(|i| i.wrapping_mul(0x9e37_79b1));
        let ties = (0..=u16::MAX).flat_map(|bits| {
            let tie = f16::from_bits(bits).to_f32().to_bits() | 0x1000;
            let other = u32::from(bits) << 16 | 0x8000;
            [tie - 1, tie, tie + 1, other - 1, other, other + 1]
        });
        for x in spread.chain(ties).map(f32::from_bits).filter(|x| !x.is_nan()) {
            assert_eq!(NarrowF16::map(x), f16::from_f32(x).to_bits(), "{x:e}");
            assert_eq!(NarrowBf16::map(x), bf16::from_f32(x).to_bits(), "{x:e}");
        }
    }
}
