//! Rounding of exact results in a given direction.
//!
//! An exact result is the unevaluated sum of two numbers of type `f64`: the error of a sum is found by the method of Knuth
//! (TwoSum), that of a product by fma.

/// A direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounding {
    Nearest,
    Zero,
    Down,
    Up,
}

impl Rounding {
    /// From the modifiers of an instruction.
    pub(super) fn parse(mods: &[&str]) -> Rounding {
        let has = |names: [&str; 2]| mods.iter().any(|m| names.contains(m));
        match () {
            () if has(["rz", "rzi"]) => Rounding::Zero,
            () if has(["rm", "rmi"]) => Rounding::Down,
            () if has(["rp", "rpi"]) => Rounding::Up,
            () => Rounding::Nearest,
        }
    }
}

/// `a + b` and its error.
pub(super) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    let t = s - a;
    (s, (a - (s - t)) + (b - t))
}

/// `a + b` rounded to odd: rounded once more to at most 51 bits, the result is that of one rounding.
pub(super) fn sum_to_odd(a: f64, b: f64) -> f64 {
    if b == 0.0 {
        return a; // also -0
    }
    let (s, e) = two_sum(a, b);
    match s.is_finite() && e != 0.0 && s.to_bits() & 1 == 0 {
        true if (e > 0.0) == (s > 0.0) => f64::from_bits(s.to_bits() + 1),
        true => f64::from_bits(s.to_bits() - 1),
        false => s,
    }
}

/// Moves the nearest number `near` in the given direction, if the exact value is not it: `rest` is what `near` lacks.
macro_rules! direct {
    ($name:ident, $ty:ty) => {
        pub(super) fn $name(near: $ty, rest: f64, how: Rounding) -> $ty {
            if !near.is_finite() {
                // Beyond the largest: a finite exact value rounds to it in two of the directions.
                let toward_zero = match how {
                    Rounding::Zero => true,
                    Rounding::Down => near > 0.0,
                    Rounding::Up => near < 0.0,
                    Rounding::Nearest => false,
                };
                let exact = rest != 0.0 && near.is_infinite();
                return if toward_zero && exact { <$ty>::MAX.copysign(near) } else { near };
            }
            match how {
                Rounding::Down if rest < 0.0 => near.next_down(),
                Rounding::Up if rest > 0.0 => near.next_up(),
                Rounding::Zero if near > 0.0 && rest < 0.0 => near.next_down(),
                Rounding::Zero if near < 0.0 && rest > 0.0 => near.next_up(),
                _ => near,
            }
        }
    };
}
direct!(direct32, f32);
direct!(direct64, f64);

/// The exact value `high + low` as an `f32`.
pub(super) fn to_single(high: f64, low: f64, how: Rounding) -> f32 {
    if how == Rounding::Nearest {
        return sum_to_odd(high, low) as f32;
    }
    let (high, low) = if high.is_finite() && low != 0.0 { two_sum(high, low) } else { (high, low) };
    let near = high as f32;
    if near.is_infinite() && high.is_finite() {
        return direct32(near, -1.0f64.copysign(high), how);
    }
    let rest = if near.is_finite() { (high - f64::from(near)) + low } else { 0.0 };
    direct32(near, rest, how)
}
