//! Products, quotients and roots of `f64` in a given direction, from whole numbers that are exact.

use super::rounding::Rounding;

/// `mantissa * 2^exponent`, and whether the exact value is a little larger.
struct Exact {
    negative: bool,
    mantissa: u128,
    exponent: i32,
    more: bool,
}

/// Mantissa, with its first bit at 2^52, and exponent of a positive number.
fn parts(x: f64) -> (u64, i32) {
    let bits = x.to_bits() & !(1 << 63);
    let (exponent, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
    if exponent > 0 {
        return (fraction | 1 << 52, exponent - 1075);
    }
    let shift = fraction.leading_zeros().saturating_sub(11);
    (fraction << shift, -1074 - shift as i32)
}

impl Exact {
    fn rounded(self, how: Rounding) -> f64 {
        let Exact { negative, mantissa, exponent, more } = self;
        let top = 128 - mantissa.leading_zeros() as i32 + exponent;
        let mut last = (top - 53).max(-1074);
        let shift = last - exponent;
        let (mut kept, rest, half) = match shift {
            ..=0 => (mantissa << shift.unsigned_abs(), 0, 1),
            1..=127 => (mantissa >> shift, mantissa & ((1 << shift) - 1), 1 << (shift - 1)),
            _ => (0, 1, 2),
        };
        let inexact = rest != 0 || more;
        let up = match how {
            Rounding::Zero => false,
            Rounding::Down => inexact && negative,
            Rounding::Up => inexact && !negative,
            Rounding::Nearest => rest > half || rest == half && (more || kept & 1 != 0),
        };
        kept += u128::from(up);
        if kept >> 53 != 0 {
            (kept, last) = (kept >> 1, last + 1);
        }
        let toward_zero = match how {
            Rounding::Zero => true,
            Rounding::Down => !negative,
            Rounding::Up => negative,
            Rounding::Nearest => false,
        };
        let bits = match kept >> 52 {
            _ if last > 971 => if toward_zero { f64::MAX } else { f64::INFINITY }.to_bits(),
            0 => kept as u64,
            // The first bit of the mantissa adds one to the exponent.
            _ => (((last + 1074) as u64) << 52) + kept as u64,
        };
        f64::from_bits(bits | u64::from(negative) << 63)
    }
}

fn is_plain(x: f64) -> bool {
    x.is_finite() && x != 0.0
}

pub(super) fn product(a: f64, b: f64, how: Rounding) -> f64 {
    if !is_plain(a) || !is_plain(b) {
        return a * b;
    }
    let ((m, e), (n, f)) = (parts(a), parts(b));
    let negative = a.is_sign_negative() != b.is_sign_negative();
    Exact { negative, mantissa: u128::from(m) * u128::from(n), exponent: e + f, more: false }.rounded(how)
}

pub(super) fn quotient(a: f64, b: f64, how: Rounding) -> f64 {
    if !is_plain(a) || !is_plain(b) {
        return a / b;
    }
    let ((m, e), (n, f)) = (parts(a), parts(b));
    let (m, n) = (u128::from(m) << 70, u128::from(n));
    let negative = a.is_sign_negative() != b.is_sign_negative();
    Exact { negative, mantissa: m / n, exponent: e - f - 70, more: m % n != 0 }.rounded(how)
}

pub(super) fn root(a: f64, how: Rounding) -> f64 {
    if !is_plain(a) || a < 0.0 {
        return a.sqrt();
    }
    let (m, e) = parts(a);
    let shift = 70 + (e & 1);
    let m = u128::from(m) << shift;
    let root = m.isqrt();
    Exact { negative: false, mantissa: root, exponent: (e - shift) / 2, more: root * root != m }.rounded(how)
}
