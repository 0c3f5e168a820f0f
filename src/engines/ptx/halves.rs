//! Arithmetic of `f16` and `bf16`, alone and in pairs.
//!
//! Products and sums of two are exact in `f64` or rounded to odd there; then they are rounded once.

use super::floats::narrow;
use super::lanes::{Apply, Lane, Row, lanes};
use super::types::{Kind, Type};
use half::{bf16, f16};

/// A narrow float.
pub(super) trait Narrow: Lane {
    fn wide(self) -> f64;
    fn near(value: f64) -> Self;
}

impl Narrow for f16 {
    fn wide(self) -> f64 {
        self.to_f64()
    }
    fn near(value: f64) -> Self {
        f16::from_f32(odd(value))
    }
}

impl Narrow for bf16 {
    fn wide(self) -> f64 {
        self.to_f64()
    }
    fn near(value: f64) -> Self {
        bf16::from_f32(odd(value))
    }
}

/// As an `f32` that is rounded to odd: rounded once more to at most 22 bits, it is that of one rounding.
fn odd(value: f64) -> f32 {
    let near = value as f32;
    let (exact, bits) = (f64::from(near), near.to_bits());
    match exact == value || value.is_nan() || value.is_infinite() {
        true => near,
        false => f32::from_bits(if exact.abs() > value.abs() { bits - 1 } else { bits } | 1),
    }
}

fn fma<T: Narrow>(a: T, b: T, c: T) -> T {
    let (product, c) = (a.wide() * b.wide(), c.wide());
    T::near(if product == 0.0 || c == 0.0 { product + c } else { narrow(product, c) })
}

/// What `.ftz` does: a subnormal number is zero, with its sign. Of `bf16` there is no such modifier.
pub(super) fn flush(ty: Type) -> Option<Apply> {
    fn one(a: u32) -> u32 {
        if a & 0x7c00 == 0 { a & 0x8000 } else { a & 0xffff }
    }
    Some(match (ty.kind, ty.bits) {
        (Kind::Float, 16) => lanes!(|a: u32| one(a)),
        (Kind::Halves, _) => lanes!(|a: u32| one(a) | one(a >> 16) << 16),
        _ => return None,
    })
}

fn pairs<T: Narrow>(a: [T; 2], b: [T; 2], f: impl Fn(f64, f64) -> f64) -> [T; 2] {
    let ([a, x], [b, y]) = (a, b);
    [T::near(f(a.wide(), b.wide())), T::near(f(x.wide(), y.wide()))]
}

fn fma_pair<T: Narrow>(a: [T; 2], b: [T; 2], c: [T; 2]) -> [T; 2] {
    let ([a, x], [b, y], [c, z]) = (a, b, c);
    [fma(a, b, c), fma(x, y, z)]
}

fn least(a: f64, b: f64) -> f64 {
    match () {
        () if a.is_nan() => b,
        () if b.is_nan() => a,
        () if a == b && a.is_sign_negative() => a,
        () if a == b => b,
        () => a.min(b),
    }
}

fn greatest(a: f64, b: f64) -> f64 {
    -least(-a, -b)
}

fn with_nan(a: f64, b: f64, f: fn(f64, f64) -> f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { f(a, b) }
}

/// An instruction by its name, modifiers and type.
pub(super) fn half(name: &str, mods: &[&str], ty: Type) -> Option<Apply> {
    match (ty.kind, ty.bits) {
        (Kind::Float, 16) => alone_f16(name, mods),
        (Kind::Brain, 16) => alone_bf16(name, mods),
        (Kind::Halves, _) => paired_f16(name, mods),
        (Kind::Brains, _) => paired_bf16(name, mods),
        _ => None,
    }
}

macro_rules! alone {
    ($fn:ident, $ty:ty) => {
        fn $fn(name: &str, mods: &[&str]) -> Option<Apply> {
            let (nan, relu) = (mods.contains(&"NaN"), mods.contains(&"relu"));
            Some(match name {
                "add" => lanes!(|a: $ty, b: $ty| <$ty>::near(a.wide() + b.wide())),
                "sub" => lanes!(|a: $ty, b: $ty| <$ty>::near(a.wide() - b.wide())),
                "mul" => lanes!(|a: $ty, b: $ty| <$ty>::near(a.wide() * b.wide())),
                "fma" if relu => lanes!(|a: $ty, b: $ty, c: $ty| {
                    let value = fma(a, b, c);
                    if value.wide() > 0.0 || value.is_nan() { value } else { <$ty>::ZERO }
                }),
                "fma" => lanes!(|a: $ty, b: $ty, c: $ty| fma(a, b, c)),
                "min" if nan => lanes!(|a: $ty, b: $ty| <$ty>::near(with_nan(a.wide(), b.wide(), least))),
                "max" if nan => lanes!(|a: $ty, b: $ty| <$ty>::near(with_nan(a.wide(), b.wide(), greatest))),
                "min" => lanes!(|a: $ty, b: $ty| <$ty>::near(least(a.wide(), b.wide()))),
                "max" => lanes!(|a: $ty, b: $ty| <$ty>::near(greatest(a.wide(), b.wide()))),
                "neg" => lanes!(|a: u16| a ^ 1 << 15),
                "abs" => lanes!(|a: u16| a & !(1 << 15)),
                "ex2" => lanes!(|a: $ty| <$ty>::near(a.wide().exp2())),
                "tanh" => lanes!(|a: $ty| <$ty>::near(a.wide().tanh())),
                _ => return None,
            })
        }
    };
}
alone!(alone_f16, f16);
alone!(alone_bf16, bf16);

macro_rules! paired {
    ($fn:ident, $ty:ty) => {
        fn $fn(name: &str, mods: &[&str]) -> Option<Apply> {
            let nan = mods.contains(&"NaN");
            Some(match name {
                "add" => lanes!(|a: [$ty; 2], b: [$ty; 2]| pairs(a, b, |a, b| a + b)),
                "sub" => lanes!(|a: [$ty; 2], b: [$ty; 2]| pairs(a, b, |a, b| a - b)),
                "mul" => lanes!(|a: [$ty; 2], b: [$ty; 2]| pairs(a, b, |a, b| a * b)),
                "fma" if !mods.contains(&"relu") => {
                    lanes!(|a: [$ty; 2], b: [$ty; 2], c: [$ty; 2]| fma_pair(a, b, c))
                }
                "min" if nan => lanes!(|a: [$ty; 2], b: [$ty; 2]| pairs(a, b, |a, b| with_nan(a, b, least))),
                "max" if nan => lanes!(|a: [$ty; 2], b: [$ty; 2]| pairs(a, b, |a, b| with_nan(a, b, greatest))),
                "min" => lanes!(|a: [$ty; 2], b: [$ty; 2]| pairs(a, b, least)),
                "max" => lanes!(|a: [$ty; 2], b: [$ty; 2]| pairs(a, b, greatest)),
                "neg" => lanes!(|a: u32| a ^ 0x8000_8000),
                "abs" => lanes!(|a: u32| a & !0x8000_8000),
                "ex2" => lanes!(|a: [$ty; 2]| pairs(a, a, |a, _| a.exp2())),
                "tanh" => lanes!(|a: [$ty; 2]| pairs(a, a, |a, _| a.tanh())),
                _ => return None,
            })
        }
    };
}
paired!(paired_f16, f16);
paired!(paired_bf16, bf16);

fn clamp<T: Narrow>(a: T) -> T {
    let value = a.wide();
    T::near(if value > 0.0 { value.min(1.0) } else { 0.0 })
}

pub(super) fn saturate(ty: Type) -> Option<Apply> {
    Some(match (ty.kind, ty.bits) {
        (Kind::Float, 16) => lanes!(|a: f16| clamp(a)),
        (Kind::Brain, 16) => lanes!(|a: bf16| clamp(a)),
        (Kind::Halves, _) => lanes!(|a: [f16; 2]| a.map(clamp)),
        (Kind::Brains, _) => lanes!(|a: [bf16; 2]| a.map(clamp)),
        _ => return None,
    })
}

/// The sum of two, as an atomic addition makes it.
pub(super) fn added(ty: Type, a: u64, b: u64) -> u64 {
    fn add<T: Narrow>(a: u64, b: u64) -> u64 {
        T::near(T::take(a).wide() + T::take(b).wide()).put()
    }
    fn both<T: Narrow>(a: u64, b: u64) -> u64 {
        pairs(<[T; 2]>::take(a), <[T; 2]>::take(b), |a, b| a + b).put()
    }
    match (ty.kind, ty.bits) {
        (Kind::Float, _) => add::<f16>(a, b),
        (Kind::Brain, _) => add::<bf16>(a, b),
        (Kind::Halves, _) => both::<f16>(a, b),
        _ => both::<bf16>(a, b),
    }
}
