//! What differs between single and double precision: constants and polynomials.
//!
//! `coefficients/find.sollya` finds the polynomials and `coefficients/write.py` writes the two files here. A constant in parts
//! is a sum, the largest part first. Polynomials begin with the coefficient of the highest power.

mod double;
mod single;

pub(super) use double::Double;
pub(super) use single::Single;

/// A floating-point format of IEEE 754.
pub(super) trait Format: Copy + std::fmt::Debug + 'static {
    /// Digits of the significand, with the hidden one.
    const DIGITS: u32;
    /// Of the exponent.
    const BIAS: i64;
    /// ln 2, the first part so short that its products with exponents are exact.
    const LN2_SHORT: [f64; 2];
    const LN2: [f64; 2];
    const LOG2_E: [f64; 2];
    const LOG10_E: [f64; 2];
    const TWO_THIRDS: [f64; 2];
    const PI: [f64; 2];
    const HALF_PI: [f64; 3];
    const QUARTER_PI: [f64; 2];
    const ATAN_HALF: [f64; 2];
    const TWO_OVER_PI: f64;
    const TWO_OVER_ROOT_PI: [f64; 2];
    const ROOT_HALF: [f64; 2];
    /// `sqrt(8 / pi)` and 0.044715.
    const GELU: [f64; 2];
    /// Beyond these `exp` is zero or infinite.
    const EXP_RANGE: [f64; 2];
    const EXP2_RANGE: [f64; 2];
    /// Up to here three parts of pi/2 reduce an angle.
    const CODY_WAITE_LIMIT: f64;
    /// `k` of the variable `(x - k) / (x + k)` that `ERFC` is a polynomial in.
    const ERFC_CENTRE: f64;
    /// From here on `erfc` is zero.
    const ERFC_LIMIT: f64;
    /// From here on `erf` is one.
    const ERF_LIMIT: f64;
    /// The binary digits of 2/pi, in words as wide as the format.
    const TWO_OVER_PI_BITS: &'static [u64];
    /// `(e^r - 1 - r) / r^2`, |r| up to (ln 2)/2.
    const EXP: &'static [f64];
    /// `log((1 + s) / (1 - s)) = 2 s + s^3 (2/3 + s^2 Q(s^2))`, |s| up to `(sqrt(2) - 1) / (sqrt(2) + 1)`.
    const LOG: &'static [f64];
    /// `log(1 + f) = f - f^2/2 + f^3 L(f)`, f from `sqrt(1/2) - 1` to `sqrt(2) - 1`; empty where it would be too long.
    const LOG_DIRECT: &'static [f64];
    /// `sin r = r + r^3 S(r^2)`, |r| up to pi/4.
    const SIN: &'static [f64];
    /// `cos r = 1 - r^2/2 + r^4 C(r^2)`.
    const COS: &'static [f64];
    /// `atan t = t + t^3 A(t^2)`, |t| up to 1/4.
    const ATAN: &'static [f64];
    /// `erf x = x (2/sqrt(pi) + x^2 E(x^2))`, |x| up to 1/2.
    const ERF: &'static [f64];
    /// `(1 + 2 x) e^(x^2) erfc x`, x from 1/2, in `(x - k) / (x + k)`.
    const ERFC: &'static [f64];
    /// `x^(-1/3)` to eight digits, x from 1/2 to 4.
    const CBRT: &'static [f64];
    /// `tanh x = x + x^3 T(x^2)`, |x| up to 0.7. This and what follows is there in single precision only.
    const TANH: &'static [f64];
    /// `(e^2r - 1 - 2r) / 2r^2`, |r| up to (ln 2)/4.
    const TANH_EXP: &'static [f64];
    /// `(e^(-r/2) - 1 + r/2) / r^2`, |r| up to ln 2.
    const GELU_EXP: &'static [f64];
    /// `(x + k)/2 e^(x^2 / 2) erfc(x / sqrt(2))` in `(x - k) / (x + k)`, x up to 14.5. The last coefficient has 48 digits.
    const GELU_TAIL: &'static [f64];
    /// That `k`.
    const GELU_CENTRE: f64 = 1.5;
    /// Whether the short forms of functions serve: those of single precision.
    const IS_SHORT: bool = Self::DIGITS == 24;
    /// `1.5 * 2^(DIGITS - 1)`: a sum with it is rounded to an integer, which then stands in the last bits.
    const MAGIC: f64 = 1.5 * (1u64 << (Self::DIGITS - 1)) as f64;
    /// The bits of `MAGIC`.
    const MAGIC_BITS: i64 = ((Self::BIAS + Self::DIGITS as i64 - 1) << (Self::DIGITS - 1)) | (1 << (Self::DIGITS - 2));
    /// The bits of one.
    const ONE: i64 = Self::BIAS << (Self::DIGITS - 1);
    /// Of an integer.
    const WIDTH: u32 = if Self::DIGITS == 24 { 32 } else { 64 };
}

/// `2^n` in range of a double.
pub(super) const fn power_of_two(n: i64) -> f64 {
    f64::from_bits(((1023 + n) as u64) << 52)
}
