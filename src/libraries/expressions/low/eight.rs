//! Floating point of 8 bits, by operations on `f32` and its bits: see [`F8E4M3`](crate::F8E4M3).

use super::{Lane, Low, LowOp, Value};

/// A format.
pub(super) struct Eight {
    /// Bits of the significand.
    mantissa: u32,
    /// What is added to the exponent.
    bias: u32,
    /// The codes of the largest finite value, of infinity (0 if it has none) and of the first NaN.
    max: u32,
    infinity: u32,
    nan: u32,
}

pub(super) const E4M3: Eight = Eight { mantissa: 3, bias: 7, max: 0x7e, infinity: 0, nan: 0x7f };
pub(super) const E5M2: Eight = Eight { mantissa: 2, bias: 15, max: 0x7b, infinity: 0x7c, nan: 0x7d };

/// The code of a computed NaN.
const NAN: u32 = 0x7f;

impl Eight {
    const fn finite(&self, code: u32) -> f32 {
        f32::from_bits(code << (23 - self.mantissa)) * f32::from_bits((254 - self.bias) << 23)
    }
}

impl Low {
    fn word(&mut self, bits: u32) -> Value {
        self.constant(Lane::U32, bits.into())
    }

    /// The value of a code, exactly.
    pub(super) fn widen(&mut self, format: &Eight, code: Value) -> Value {
        let code = self.convert(code, Lane::U32);
        let [all, shift, up, infinity, nan] =
            [0x7f, 23 - format.mantissa, 24, format.infinity, format.nan].map(|bits| self.word(bits));
        let size = self.same(LowOp::And, [code, all]);
        // Exponent and significand are moved to their places; the product corrects the bias, also of subnormals.
        let moved = self.same(LowOp::Shl, [size, shift]);
        let moved = self.reinterpret(moved, Lane::F32);
        let factor = self.constant(Lane::F32, ((254 - format.bias) << 23).into());
        let finite = self.same(LowOp::Mul, [moved, factor]);
        let mut value = self.reinterpret(finite, Lane::U32);
        if format.infinity != 0 {
            let is_infinite = self.compare(LowOp::Eq, size, infinity);
            let bits = self.word(f32::INFINITY.to_bits());
            value = self.same(LowOp::Select, [is_infinite, bits, value]);
        }
        let is_nan = self.compare(LowOp::Ge, size, nan);
        let bits = self.word(f32::NAN.to_bits());
        value = self.same(LowOp::Select, [is_nan, bits, value]);
        let sign = self.same(LowOp::Sub, [code, size]);
        let sign = self.same(LowOp::Shl, [sign, up]);
        let value = self.same(LowOp::Or, [value, sign]);
        self.reinterpret(value, Lane::F32)
    }

    /// The nearest code, ties to even; magnitudes above the largest finite value become that one.
    pub(super) fn narrow(&mut self, format: &Eight, x: Value) -> Value {
        let bits = self.reinterpret(x, Lane::U32);
        let shift = 23 - format.mantissa;
        let unit = 127 + 1 - format.bias - format.mantissa;
        let magic_bits = (unit + 23) << 23;
        let [all, largest, one, by, below_half, rebias, magic] = [
            0x7fff_ffff,
            format.finite(format.max).to_bits(),
            1,
            shift,
            (1 << (shift - 1)) - 1,
            (127 - format.bias) << format.mantissa,
            magic_bits,
        ]
        .map(|bits| self.word(bits));
        let size = self.same(LowOp::And, [bits, all]);
        let clamped = self.same(LowOp::Min, [size, largest]);
        // Half a unit of the bits that stay, less one unless they are odd: ties go to even.
        let kept = self.same(LowOp::Shr, [clamped, by]);
        let odd = self.same(LowOp::And, [kept, one]);
        let sum = self.same(LowOp::Add, [clamped, below_half]);
        let sum = self.same(LowOp::Add, [sum, odd]);
        let rounded = self.same(LowOp::Shr, [sum, by]);
        let normal = self.same(LowOp::Sub, [rounded, rebias]);
        // Of subnormals the sum with a large number rounds to a multiple, whose factor is in the low bits.
        let number = self.reinterpret(clamped, Lane::F32);
        let large = self.constant(Lane::F32, magic_bits.into());
        let near = self.same(LowOp::Add, [number, large]);
        let near = self.reinterpret(near, Lane::U32);
        let subnormal = self.same(LowOp::Sub, [near, magic]);
        let least = self.word((127 + 1 - format.bias) << 23);
        let is_normal = self.compare(LowOp::Ge, clamped, least);
        let code = self.same(LowOp::Select, [is_normal, normal, subnormal]);
        let [mask, down, nan] = [0x80, 24, NAN].map(|bits| self.word(bits));
        let sign = self.same(LowOp::Shr, [bits, down]);
        let sign = self.same(LowOp::And, [sign, mask]);
        let code = self.same(LowOp::Or, [code, sign]);
        let is_nan = self.compare(LowOp::Ne, x, x);
        let code = self.same(LowOp::Select, [is_nan, nan, code]);
        self.convert(code, Lane::U8)
    }
}
