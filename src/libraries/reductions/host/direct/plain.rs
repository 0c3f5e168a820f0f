//! Element types, and the numbers that they are computed in.

use half::{bf16, f16};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64 as x86;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Sub};

/// Bits of a number.
pub(super) trait Bits:
    Copy + PartialEq + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self>
{
    const NONE: Self;
    const ALL: Self;
    fn new(bits: u64) -> Self;
    fn number(self) -> i64;
}

/// A number that accumulates.
pub(super) trait Real:
    Copy + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    type Bits: Bits;
    const ZERO: Self;
    /// Changes no sum.
    const NO_SUMMAND: Self;
    const LEAST: Self;
    fn bits(self) -> Self::Bits;
    fn from_bits(bits: Self::Bits) -> Self;
    fn count(n: usize) -> Self;
    /// `self * b + c`, rounded once.
    fn fma(self, b: Self, c: Self) -> Self;
    fn abs(self) -> Self;
    /// With the one pattern of NaN.
    fn canonical(self) -> Self;

    /// Bits that are all set if it is no number.
    #[inline(always)]
    #[expect(clippy::eq_op, reason = "NaN")]
    fn nan(self) -> Self::Bits {
        if self != self { Self::Bits::ALL } else { Self::Bits::NONE }
    }

    /// Bits that are all set if it has the same bits.
    #[inline(always)]
    fn is(self, other: Self) -> Self::Bits {
        if self.bits() == other.bits() { Self::Bits::ALL } else { Self::Bits::NONE }
    }
}

macro_rules! reals { ($($t:ty, $bits:ty, $nan:literal;)*) => { $(
    impl Bits for $bits {
        const NONE: Self = 0;
        const ALL: Self = !0;
        #[inline(always)]
        fn new(bits: u64) -> Self {
            bits as $bits
        }
        #[inline(always)]
        fn number(self) -> i64 {
            self as i64
        }
    }
    impl Real for $t {
        type Bits = $bits;
        const ZERO: Self = 0.0;
        const NO_SUMMAND: Self = -0.0;
        const LEAST: Self = <$t>::NEG_INFINITY;
        #[inline(always)]
        fn bits(self) -> $bits {
            self.to_bits()
        }
        #[inline(always)]
        fn from_bits(bits: $bits) -> Self {
            <$t>::from_bits(bits)
        }
        #[inline(always)]
        fn count(n: usize) -> Self {
            n as $t
        }
        #[inline(always)]
        fn fma(self, b: Self, c: Self) -> Self {
            self.mul_add(b, c)
        }
        #[inline(always)]
        fn abs(self) -> Self {
            <$t>::abs(self)
        }
        #[inline(always)]
        fn canonical(self) -> Self {
            if self.is_nan() { <$t>::from_bits($nan) } else { self }
        }
    }
)* } }
reals! {
    f32, u32, 0x7fff_ffff;
    f64, u64, 0x7fff_ffff_ffff_ffff;
}

/// An element.
pub(super) trait Plain: Copy + Default {
    type Own: Real;

    /// `N` elements as what they are computed in.
    ///
    /// # Safety
    /// They are there, and aligned. The CPU has the vectors.
    unsafe fn open<const N: usize>(src: *const Self) -> [Self::Own; N];

    /// The last elements of a group, fewer than `N`; what follows is zero.
    ///
    /// # Safety
    /// As [`open`](Self::open), for these elements.
    #[inline(always)]
    unsafe fn open_last<const N: usize>(src: *const Self, len: usize) -> [Self::Own; N] {
        let mut last = [Self::default(); N];
        // SAFETY: the elements are there (the caller's promise), and the copy has `N`.
        unsafe {
            std::ptr::copy_nonoverlapping(src, last.as_mut_ptr(), len.min(N));
            Self::open(last.as_ptr())
        }
    }
}

macro_rules! itself { ($($t:ty)*) => { $(
    impl Plain for $t {
        type Own = $t;
        #[inline(always)]
        unsafe fn open<const N: usize>(src: *const $t) -> [$t; N] {
            // SAFETY: the caller's promise.
            unsafe { *src.cast() }
        }
    }
)* } }
itself!(f32 f64);

impl Plain for f16 {
    type Own = f32;
    #[inline(always)]
    unsafe fn open<const N: usize>(src: *const f16) -> [f32; N] {
        let mut own = [0.0; N];
        #[cfg(target_arch = "x86_64")]
        for (k, own) in own.chunks_exact_mut(8).enumerate() {
            // SAFETY: eight elements on either side; loads and stores need no alignment. The CPU has the instruction (the caller's
            // promise).
            unsafe {
                let bits = x86::_mm_loadu_si128(src.add(8 * k).cast());
                x86::_mm256_storeu_ps(own.as_mut_ptr(), x86::_mm256_cvtph_ps(bits));
            }
        }
        let rest = if cfg!(target_arch = "x86_64") { N / 8 * 8 } else { 0 };
        for (k, own) in own.iter_mut().enumerate().skip(rest) {
            // SAFETY: the caller's promise.
            *own = unsafe { *src.add(k) }.to_f32();
        }
        own
    }
}

impl Plain for bf16 {
    type Own = f32;
    #[inline(always)]
    unsafe fn open<const N: usize>(src: *const bf16) -> [f32; N] {
        let mut own = [0.0; N];
        for (k, own) in own.iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            *own = f32::from_bits(u32::from(unsafe { *src.add(k) }.to_bits()) << 16);
        }
        own
    }
}
