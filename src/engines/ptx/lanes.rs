//! A register of a warp, and functions of registers lane by lane.

use half::{bf16, f16};

/// The lanes of a warp.
pub(super) const LANES: usize = 32;

/// A register of all lanes of a warp. A narrower value is in the low bits, and what is above means nothing.
pub(super) type Row = [u64; LANES];

/// An instruction that only computes: from up to three registers to one, for all lanes.
pub(super) type Apply = fn(&mut Row, [&Row; 3]);

/// A value in a register.
pub(super) trait Lane: Copy {
    fn take(bits: u64) -> Self;
    fn put(self) -> u64;
}

macro_rules! integers {
    ($($ty:ty as $bits:ty),*) => { $(impl Lane for $ty {
        #[inline(always)]
        fn take(bits: u64) -> Self { bits as $ty }
        #[inline(always)]
        fn put(self) -> u64 { self as $bits as u64 }
    })* };
}
integers!(u8 as u8, u16 as u16, u32 as u32, u64 as u64, i8 as u8, i16 as u16, i32 as u32, i64 as u64);

impl Lane for bool {
    #[inline(always)]
    fn take(bits: u64) -> Self {
        bits & 1 != 0
    }
    #[inline(always)]
    fn put(self) -> u64 {
        self.into()
    }
}

/// The NaN that an instruction computes: one pattern in each type of at most 32 bits.
impl Lane for f32 {
    #[inline(always)]
    fn take(bits: u64) -> Self {
        f32::from_bits(bits as u32)
    }
    #[inline(always)]
    fn put(self) -> u64 {
        if self.is_nan() { 0x7fff_ffff } else { self.to_bits().into() }
    }
}

impl Lane for f64 {
    #[inline(always)]
    fn take(bits: u64) -> Self {
        f64::from_bits(bits)
    }
    #[inline(always)]
    fn put(self) -> u64 {
        self.to_bits()
    }
}

impl Lane for f16 {
    fn take(bits: u64) -> Self {
        f16::from_bits(bits as u16)
    }
    fn put(self) -> u64 {
        if self.is_nan() { 0x7fff } else { self.to_bits().into() }
    }
}

impl Lane for bf16 {
    fn take(bits: u64) -> Self {
        bf16::from_bits(bits as u16)
    }
    fn put(self) -> u64 {
        if self.is_nan() { 0x7fff } else { self.to_bits().into() }
    }
}

/// A pair of halves: the first is in the low bits.
impl<T: Lane> Lane for [T; 2] {
    fn take(bits: u64) -> Self {
        [T::take(bits & 0xffff), T::take(bits >> 16 & 0xffff)]
    }
    fn put(self) -> u64 {
        let [low, high] = self;
        low.put() | high.put() << 16
    }
}

/// An [`Apply`] from a formula for one lane.
macro_rules! lanes {
    (|$a:ident: $A:ty| $e:expr) => {{
        fn apply(d: &mut Row, [a, _, _]: [&Row; 3]) {
            for (d, a) in d.iter_mut().zip(a) {
                let $a = <$A as Lane>::take(*a);
                *d = Lane::put($e);
            }
        }
        apply as Apply
    }};
    (|$a:ident: $A:ty, $b:ident: $B:ty| $e:expr) => {{
        fn apply(d: &mut Row, [a, b, _]: [&Row; 3]) {
            for ((d, a), b) in d.iter_mut().zip(a).zip(b) {
                let ($a, $b) = (<$A as Lane>::take(*a), <$B as Lane>::take(*b));
                *d = Lane::put($e);
            }
        }
        apply as Apply
    }};
    (|$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty| $e:expr) => {{
        fn apply(d: &mut Row, [a, b, c]: [&Row; 3]) {
            for (((d, a), b), c) in d.iter_mut().zip(a).zip(b).zip(c) {
                let ($a, $b, $c) = (<$A as Lane>::take(*a), <$B as Lane>::take(*b), <$C as Lane>::take(*c));
                *d = Lane::put($e);
            }
        }
        apply as Apply
    }};
}
pub(super) use lanes;

/// A copy of the first register.
pub(super) fn identity() -> Apply {
    lanes!(|a: u64| a)
}
