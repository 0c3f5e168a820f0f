//! Arithmetic, comparison, bits and selection of single values.

use super::{Map1, Map2, Map3};

macro_rules! unary { ($($name:ident ($($t:ty),*) |$a:ident| $body:expr;)*) => { $(
    $(impl Map1<$t> for $name {
        type R = $t;
        #[inline(always)]
        fn map($a: $t) -> $t { $body }
    })*
)* } }

macro_rules! binary { ($($name:ident ($($t:ty),*) |$a:ident, $b:ident| $body:expr;)*) => { $(
    $(impl Map2<$t> for $name {
        type R = $t;
        #[inline(always)]
        fn map($a: $t, $b: $t) -> $t { $body }
    })*
)* } }

macro_rules! compare { ($($name:ident |$a:ident, $b:ident| $body:expr;)*) => { $(
    pub(super) struct $name;
    compare!(@ $name |$a, $b| $body; i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);
)* };
(@ $name:ident |$a:ident, $b:ident| $body:expr; $($t:ty),*) => { $(
    impl Map2<$t> for $name {
        type R = u8;
        #[inline(always)]
        fn map($a: $t, $b: $t) -> u8 { ($body).into() }
    }
)* } }

macro_rules! names { ($($name:ident)*) => { $(pub(super) struct $name;)* } }
names!(Add Sub Mul Div Rem Min Max Minimum Maximum And Or Xor Shl Shr Copysign Neg Abs Select Fma Not Move
    Sqrt Floor Ceil Trunc RoundEven Canon);

binary! {
    Add (u8, u16, u32, u64) |a, b| a.wrapping_add(b);
    Sub (u8, u16, u32, u64) |a, b| a.wrapping_sub(b);
    Mul (u8, u16, u32, u64) |a, b| a.wrapping_mul(b);
    Add (f32, f64) |a, b| a + b;
    Sub (f32, f64) |a, b| a - b;
    Mul (f32, f64) |a, b| a * b;
    Div (f32, f64) |a, b| a / b;
    Rem (f32, f64) |a, b| a % b;
    Div (i8, i16, i32, i64, u8, u16, u32, u64) |a, b| if b == 0 { 0 } else { a.wrapping_div(b) };
    Rem (i8, i16, i32, i64, u8, u16, u32, u64) |a, b| if b == 0 { 0 } else { a.wrapping_rem(b) };
    Min (i8, i16, i32, i64, u8, u16, u32, u64) |a, b| a.min(b);
    Max (i8, i16, i32, i64, u8, u16, u32, u64) |a, b| a.max(b);
    And (u8, u16, u32, u64) |a, b| a & b;
    Or (u8, u16, u32, u64) |a, b| a | b;
    Xor (u8, u16, u32, u64) |a, b| a ^ b;
}

/// The order of zeros needs their bits: -0 is below +0.
macro_rules! extremes { ($($t:ty, $bits:ty),*) => { $(
    impl Map2<$t> for Min {
        type R = $t;
        #[inline(always)]
        fn map(a: $t, b: $t) -> $t {
            let least = if a < b || b.is_nan() { a } else { b };
            if a == b { <$t>::from_bits(a.to_bits() | b.to_bits()) } else { least }
        }
    }
    impl Map2<$t> for Max {
        type R = $t;
        #[inline(always)]
        fn map(a: $t, b: $t) -> $t {
            let most = if a > b || b.is_nan() { a } else { b };
            if a == b { <$t>::from_bits(a.to_bits() & b.to_bits()) } else { most }
        }
    }
    impl Map2<$t> for Minimum {
        type R = $t;
        #[inline(always)]
        fn map(a: $t, b: $t) -> $t {
            let least = if a < b || a.is_nan() { a } else { b };
            if a == b { <$t>::from_bits(a.to_bits() | b.to_bits()) } else { least }
        }
    }
    impl Map2<$t> for Maximum {
        type R = $t;
        #[inline(always)]
        fn map(a: $t, b: $t) -> $t {
            let most = if a > b || a.is_nan() { a } else { b };
            if a == b { <$t>::from_bits(a.to_bits() & b.to_bits()) } else { most }
        }
    }
    impl Map2<$t> for Copysign {
        type R = $t;
        #[inline(always)]
        fn map(a: $t, b: $t) -> $t {
            const SIGN: $bits = 1 << (<$bits>::BITS - 1);
            <$t>::from_bits(a.to_bits() & !SIGN | b.to_bits() & SIGN)
        }
    }
    impl Map1<$t> for Neg {
        type R = $t;
        #[inline(always)]
        fn map(a: $t) -> $t { -a }
    }
    impl Map1<$t> for Abs {
        type R = $t;
        #[inline(always)]
        fn map(a: $t) -> $t { a.abs() }
    }
    impl Map3<$t> for Fma {
        type A = $t;
        #[inline(always)]
        fn map(a: $t, b: $t, c: $t) -> $t { a.mul_add(b, c) }
    }
)* } }
extremes!(f32, u32, f64, u64);

macro_rules! shifts { ($($t:ty, $bits:ty),*) => { $(
    impl Map2<$t> for Shr {
        type R = $t;
        #[inline(always)]
        fn map(a: $t, b: $t) -> $t {
            // A signed value fills with its sign, so that a shift by the last bit is the one beyond the width.
            let last = <$bits>::BITS as $bits - 1;
            let distance = b as $bits;
            let near = a >> distance.min(last);
            if <$t>::MIN == 0 && distance > last { 0 } else { near }
        }
    }
)* } }
shifts!(i8, u8, i16, u16, i32, u32, i64, u64, u8, u8, u16, u16, u32, u32, u64, u64);

macro_rules! bits { ($($t:ty, $signed:ty),*) => { $(
    impl Map2<$t> for Shl {
        type R = $t;
        #[inline(always)]
        fn map(a: $t, b: $t) -> $t {
            let last = <$t>::BITS as $t - 1;
            let near = a << b.min(last);
            if b > last { 0 } else { near }
        }
    }
    impl Map3<$t> for Select {
        type A = u8;
        #[inline(always)]
        fn map(a: u8, b: $t, c: $t) -> $t { if a != 0 { b } else { c } }
    }
    impl Map1<$t> for Neg {
        type R = $t;
        #[inline(always)]
        fn map(a: $t) -> $t { a.wrapping_neg() }
    }
    impl Map1<$signed> for Abs {
        type R = $signed;
        #[inline(always)]
        fn map(a: $signed) -> $signed { a.wrapping_abs() }
    }
)* } }
bits!(u8, i8, u16, i16, u32, i32, u64, i64);

/// Gives each NaN the one pattern; see [`Then`].
pub(in crate::libraries) trait Canonical: Copy {
    fn canonical(self) -> Self;
}

impl Canonical for f32 {
    #[inline(always)]
    fn canonical(self) -> f32 {
        if self.is_nan() { f32::from_bits(0x7fff_ffff) } else { self }
    }
}

impl Canonical for f64 {
    #[inline(always)]
    fn canonical(self) -> f64 {
        if self.is_nan() { f64::from_bits(0x7fff_ffff_ffff_ffff) } else { self }
    }
}

/// A product as the first operand of an operation. Both are rounded.
pub(super) struct OfProduct<O>(std::marker::PhantomData<O>);

/// A product as the second operand.
pub(super) struct WithProduct<O>(std::marker::PhantomData<O>);

impl<T: std::ops::Mul<Output = T>, O: Map2<T, R = T>> Map3<T> for OfProduct<O> {
    type A = T;
    #[inline(always)]
    fn map(a: T, b: T, c: T) -> T {
        O::map(a * b, c)
    }
}

impl<T: std::ops::Mul<Output = T>, O: Map2<T, R = T>> Map3<T> for WithProduct<O> {
    type A = T;
    #[inline(always)]
    fn map(a: T, b: T, c: T) -> T {
        O::map(c, a * b)
    }
}

/// An operation whose result is stored: what most outputs end with, in one loop.
pub(super) struct Then<O>(std::marker::PhantomData<O>);

impl<T, O: Map1<T, R: Canonical>> Map1<T> for Then<O> {
    type R = O::R;
    #[inline(always)]
    fn map(a: T) -> O::R {
        O::map(a).canonical()
    }
}

impl<T: Canonical, O: Map2<T, R = T>> Map2<T> for Then<O> {
    type R = T;
    #[inline(always)]
    fn map(a: T, b: T) -> T {
        O::map(a, b).canonical()
    }
}

impl<T: Canonical, O: Map3<T, A = T>> Map3<T> for Then<O> {
    type A = T;
    #[inline(always)]
    fn map(a: T, b: T, c: T) -> T {
        O::map(a, b, c).canonical()
    }
}

unary! {
    Not (u8, u16, u32, u64) |a| !a;
    Move (u8, u16, u32, u64) |a| a;
    Sqrt (f32, f64) |a| a.sqrt();
    Floor (f32, f64) |a| a.floor();
    Ceil (f32, f64) |a| a.ceil();
    Trunc (f32, f64) |a| a.trunc();
    RoundEven (f32, f64) |a| a.round_ties_even();
    Canon (f32, f64) |a| a.canonical();
}

compare! {
    Eq |a, b| a == b;
    Ne |a, b| a != b;
    Lt |a, b| a < b;
    Le |a, b| a <= b;
}
