//! Arithmetic of `f32` and `f64`.
//!
//! Each result is rounded once, in the direction of the instruction. The approximate instructions (`ex2.approx`, ..) have no
//! specified bits: here each is the exact function, rounded once or twice.

use super::exact;
use super::lanes::{Apply, Lane, Row, lanes};
use super::rounding::{Rounding, direct64, sum_to_odd, to_single, two_sum};
use super::types::{Kind, Type};

/// A floating-point instruction by its name, modifiers and type. `.ftz` and `.sat` are the decoder's.
pub(super) fn float(name: &str, mods: &[&str], ty: Type) -> Option<Apply> {
    if ty.kind != Kind::Float {
        return None;
    }
    match name {
        "testp" => return test(mods, ty),
        "slct" => return select(mods),
        _ => {}
    }
    let approximate = mods.contains(&"approx") || mods.contains(&"full");
    match ty.bits {
        32 if approximate => approximate_single(name),
        32 => match Rounding::parse(mods) {
            Rounding::Nearest => single(name, mods),
            how => single_directed(name, how),
        },
        64 if approximate => approximate_double(name),
        64 => match Rounding::parse(mods) {
            Rounding::Nearest => double(name),
            how => double_directed(name, how),
        },
        _ => None,
    }
}

/// The smaller and the larger number. A NaN is dropped; -0 is below +0.
macro_rules! extremum {
    ($ty:ty, $a:ident, $b:ident, $less:tt) => {
        if $a.is_nan() {
            $b
        } else if $b.is_nan() {
            $a
        } else if $a == $b {
            // Zeros of both signs.
            if ($a.is_sign_negative() && 0 $less 1) || ($a.is_sign_positive() && 1 $less 0) { $a } else { $b }
        } else if $a $less $b {
            $a
        } else {
            $b
        }
    };
}

/// Returns NaN where one is.
macro_rules! with_nan {
    ($ty:ty, $a:ident, $b:ident, $less:tt) => {
        if $a.is_nan() || $b.is_nan() { <$ty>::NAN } else { extremum!($ty, $a, $b, $less) }
    };
}

fn single(name: &str, mods: &[&str]) -> Option<Apply> {
    let nan = mods.contains(&"NaN");
    Some(match name {
        "add" => lanes!(|a: f32, b: f32| a + b),
        "sub" => lanes!(|a: f32, b: f32| a - b),
        "mul" => lanes!(|a: f32, b: f32| a * b),
        "fma" | "mad" => lanes!(|a: f32, b: f32, c: f32| a.mul_add(b, c)),
        "div" => lanes!(|a: f32, b: f32| a / b),
        "rcp" => lanes!(|a: f32| 1.0 / a),
        "sqrt" => lanes!(|a: f32| a.sqrt()),
        "min" if nan => lanes!(|a: f32, b: f32| with_nan!(f32, a, b, <)),
        "max" if nan => lanes!(|a: f32, b: f32| with_nan!(f32, a, b, >)),
        "min" => lanes!(|a: f32, b: f32| extremum!(f32, a, b, <)),
        "max" => lanes!(|a: f32, b: f32| extremum!(f32, a, b, >)),
        // Moves of bits.
        "neg" => lanes!(|a: u32| a ^ 1 << 31),
        "abs" => lanes!(|a: u32| a & !(1 << 31)),
        "copysign" => lanes!(|a: u32, b: u32| b & !(1 << 31) | a & 1 << 31),
        _ => return None,
    })
}

fn double(name: &str) -> Option<Apply> {
    Some(match name {
        "add" => lanes!(|a: f64, b: f64| a + b),
        "sub" => lanes!(|a: f64, b: f64| a - b),
        "mul" => lanes!(|a: f64, b: f64| a * b),
        "fma" | "mad" => lanes!(|a: f64, b: f64, c: f64| a.mul_add(b, c)),
        "div" => lanes!(|a: f64, b: f64| a / b),
        "rcp" => lanes!(|a: f64| 1.0 / a),
        "sqrt" => lanes!(|a: f64| a.sqrt()),
        "min" => lanes!(|a: f64, b: f64| extremum!(f64, a, b, <)),
        "max" => lanes!(|a: f64, b: f64| extremum!(f64, a, b, >)),
        "neg" => lanes!(|a: u64| a ^ 1 << 63),
        "abs" => lanes!(|a: u64| a & !(1 << 63)),
        "copysign" => lanes!(|a: u64, b: u64| b & !(1 << 63) | a & 1 << 63),
        _ => return None,
    })
}

/// `slct` of floats.
fn select(mods: &[&str]) -> Option<Apply> {
    Some(match *mods.last()? {
        "s32" => lanes!(|a: u64, b: u64, c: i32| if c >= 0 { a } else { b }),
        "f32" => lanes!(|a: u64, b: u64, c: f32| if c >= 0.0 { a } else { b }),
        _ => return None,
    })
}

/// `testp`.
fn test(mods: &[&str], ty: Type) -> Option<Apply> {
    macro_rules! of {
        ($ty:ty) => {
            Some(match *mods.first()? {
                "finite" => lanes!(|a: $ty| a.is_finite()),
                "infinite" => lanes!(|a: $ty| a.is_infinite()),
                "number" => lanes!(|a: $ty| !a.is_nan()),
                "notanumber" => lanes!(|a: $ty| a.is_nan()),
                // As GPUs have it, of zero too.
                "normal" => lanes!(|a: $ty| a.is_normal() || a == 0.0),
                "subnormal" => lanes!(|a: $ty| a.is_subnormal()),
                _ => return None,
            })
        };
    }
    if ty.bits == 64 { of!(f64) } else { of!(f32) }
}

/// The sum of two numbers; an exact zero from two signs is -0 when rounded down.
fn sum(a: f64, b: f64, how: Rounding) -> (f64, f64) {
    let (s, e) = two_sum(a, b);
    let cancelled = s == 0.0 && a.is_sign_negative() != b.is_sign_negative() && how == Rounding::Down;
    (if cancelled { -0.0 } else { s }, if s.is_finite() { e } else { 0.0 })
}

fn quotient(a: f32, b: f32, how: Rounding) -> f32 {
    let (a, b) = (f64::from(a), f64::from(b));
    let q = a / b;
    let rest = if q.is_finite() && b.is_finite() { (-q).mul_add(b, a) / b } else { 0.0 };
    to_single(q, rest, how)
}

fn root(a: f32, how: Rounding) -> f32 {
    let a = f64::from(a);
    let s = a.sqrt();
    let rest = if s > 0.0 && s.is_finite() { (-s).mul_add(s, a) / (2.0 * s) } else { 0.0 };
    to_single(s, rest, how)
}

fn fused(a: f32, b: f32, c: f32, how: Rounding) -> f32 {
    // The product of two `f32` is exact.
    let (s, e) = sum(f64::from(a) * f64::from(b), c.into(), how);
    to_single(s, e, how)
}

/// One formula in each direction.
macro_rules! directed {
    ($how:expr, $mode:ident, |$($x:ident: $X:ty),+| $e:expr) => {
        match $how {
            Rounding::Zero => lanes!(|$($x: $X),+| { const $mode: Rounding = Rounding::Zero; $e }),
            Rounding::Down => lanes!(|$($x: $X),+| { const $mode: Rounding = Rounding::Down; $e }),
            Rounding::Up => lanes!(|$($x: $X),+| { const $mode: Rounding = Rounding::Up; $e }),
            Rounding::Nearest => lanes!(|$($x: $X),+| { const $mode: Rounding = Rounding::Nearest; $e }),
        }
    };
}

fn single_directed(name: &str, how: Rounding) -> Option<Apply> {
    Some(match name {
        "add" => directed!(how, HOW, |a: f32, b: f32| fused(a, 1.0, b, HOW)),
        "sub" => directed!(how, HOW, |a: f32, b: f32| fused(a, 1.0, -b, HOW)),
        "mul" => directed!(how, HOW, |a: f32, b: f32| to_single(f64::from(a) * f64::from(b), 0.0, HOW)),
        "fma" => directed!(how, HOW, |a: f32, b: f32, c: f32| fused(a, b, c, HOW)),
        "div" => directed!(how, HOW, |a: f32, b: f32| quotient(a, b, HOW)),
        "rcp" => directed!(how, HOW, |a: f32| quotient(1.0, a, HOW)),
        "sqrt" => directed!(how, HOW, |a: f32| root(a, HOW)),
        _ => return None,
    })
}

fn double_directed(name: &str, how: Rounding) -> Option<Apply> {
    fn add(a: f64, b: f64, how: Rounding) -> f64 {
        let (s, e) = sum(a, b, how);
        let e = if s.is_infinite() && a.is_finite() && b.is_finite() { 1.0 } else { e };
        direct64(s, e, how)
    }
    Some(match name {
        "add" => directed!(how, HOW, |a: f64, b: f64| add(a, b, HOW)),
        "sub" => directed!(how, HOW, |a: f64, b: f64| add(a, -b, HOW)),
        "mul" => directed!(how, HOW, |a: f64, b: f64| exact::product(a, b, HOW)),
        "div" => directed!(how, HOW, |a: f64, b: f64| exact::quotient(a, b, HOW)),
        "rcp" => directed!(how, HOW, |a: f64| exact::quotient(1.0, a, HOW)),
        "sqrt" => directed!(how, HOW, |a: f64| exact::root(a, HOW)),
        _ => return None,
    })
}

fn approximate_single(name: &str) -> Option<Apply> {
    fn of(a: f32, f: fn(f64) -> f64) -> f32 {
        f(a.into()) as f32
    }
    Some(match name {
        "div" => lanes!(|a: f32, b: f32| a / b),
        "rcp" => lanes!(|a: f32| 1.0 / a),
        "sqrt" => lanes!(|a: f32| a.sqrt()),
        "rsqrt" => lanes!(|a: f32| of(a, |a| 1.0 / a.sqrt())),
        "ex2" => lanes!(|a: f32| of(a, f64::exp2)),
        "lg2" => lanes!(|a: f32| of(a, f64::log2)),
        "sin" => lanes!(|a: f32| of(a, f64::sin)),
        "cos" => lanes!(|a: f32| of(a, f64::cos)),
        "tanh" => lanes!(|a: f32| of(a, f64::tanh)),
        _ => return None,
    })
}

/// Only the upper word of the result is defined; the lower is zero.
fn approximate_double(name: &str) -> Option<Apply> {
    fn upper(a: f64) -> f64 {
        f64::from_bits(a.to_bits() & !0xffff_ffff)
    }
    Some(match name {
        "rcp" => lanes!(|a: f64| upper(1.0 / a)),
        "rsqrt" => lanes!(|a: f64| upper(1.0 / a.sqrt())),
        _ => return None,
    })
}

/// Whether PTX leaves the bits of the result of this instruction open.
pub(super) fn is_approximate(mods: &[&str]) -> bool {
    mods.contains(&"approx") || mods.contains(&"full")
}

/// What `.ftz` does to an `f32`: a subnormal number is zero, with its sign.
pub(super) fn flush() -> Apply {
    lanes!(|a: u32| if a & 0x7f80_0000 == 0 { a & 1 << 31 } else { a })
}

/// The same of any type that has the modifier.
pub(super) fn flush_of(ty: Type) -> Option<Apply> {
    match (ty.kind, ty.bits) {
        (Kind::Float, 32) => Some(flush()),
        _ => super::halves::flush(ty),
    }
}

/// Whether a result with `.ftz` can lie below the smallest normal number and be rounded to it: GPUs flush it, unless it would be
/// rounded as high with exponents without a limit. So it is computed again with operands that are 2^64 times as large.
pub(super) fn is_rounded(name: &str, mods: &[&str], ty: Type) -> bool {
    matches!(name, "mul" | "fma" | "mad" | "div") && !is_approximate(mods) && ty.kind == Kind::Float && ty.bits == 32
}

pub(super) fn enlarge() -> Apply {
    lanes!(|a: f32| a * 18_446_744_073_709_551_616.0)
}

/// The result, unless the enlarged one says that it is too small.
pub(super) fn unless_tiny() -> Apply {
    // 2^-62
    lanes!(|a: u32, b: u32| if b & 0x7fff_ffff < 0x2080_0000 { a & 1 << 31 } else { a })
}

/// What `.sat` does: into 0 to 1, and NaN is 0.
pub(super) fn saturate(ty: Type) -> Option<Apply> {
    Some(match (ty.kind, ty.bits) {
        (Kind::Float, 32) => lanes!(|a: f32| if a > 0.0 { a.min(1.0) } else { 0.0 }),
        (Kind::Float, 64) => lanes!(|a: f64| if a > 0.0 { a.min(1.0) } else { 0.0 }),
        _ => return super::halves::saturate(ty),
    })
}

/// A comparison: the plain ones are false of NaN, those that end in `u` true.
#[expect(clippy::neg_cmp_op_on_partial_ord, clippy::double_comparisons, reason = "what they are of NaN is the point")]
pub(super) fn compare(how: &str, ty: Type) -> Option<Apply> {
    macro_rules! of {
        ($ty:ty) => {
            Some(match how {
                "eq" => lanes!(|a: $ty, b: $ty| a == b),
                "ne" => lanes!(|a: $ty, b: $ty| a < b || a > b),
                "lt" => lanes!(|a: $ty, b: $ty| a < b),
                "le" => lanes!(|a: $ty, b: $ty| a <= b),
                "gt" => lanes!(|a: $ty, b: $ty| a > b),
                "ge" => lanes!(|a: $ty, b: $ty| a >= b),
                "equ" => lanes!(|a: $ty, b: $ty| !(a < b || a > b)),
                "neu" => lanes!(|a: $ty, b: $ty| a != b),
                "ltu" => lanes!(|a: $ty, b: $ty| !(a >= b)),
                "leu" => lanes!(|a: $ty, b: $ty| !(a > b)),
                "gtu" => lanes!(|a: $ty, b: $ty| !(a <= b)),
                "geu" => lanes!(|a: $ty, b: $ty| !(a < b)),
                "num" => lanes!(|a: $ty, b: $ty| !(a.is_nan() || b.is_nan())),
                "nan" => lanes!(|a: $ty, b: $ty| a.is_nan() || b.is_nan()),
                _ => return None,
            })
        };
    }
    match (ty.kind, ty.bits) {
        (Kind::Float, 32) => of!(f32),
        (Kind::Float, 64) => of!(f64),
        (Kind::Float, 16) => of!(half::f16),
        (Kind::Brain, 16) => of!(half::bf16),
        _ => None,
    }
}

/// The nearest `f16` or `bf16` of an exact sum.
pub(super) fn narrow(high: f64, low: f64) -> f64 {
    sum_to_odd(high, low)
}
