//! Numbers of several matrices side by side: one lane for each matrix.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// f32 or f64.
pub(super) trait Real:
    Copy
    + Default
    + PartialOrd
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + 'static
{
    const ONE: Self;
    const NAN: Self;
    const EPSILON: Self;
    /// The smallest normal number over epsilon.
    const LEAST: Self;
    /// `self * by + plus`, rounded once.
    fn fused(self, by: Self, plus: Self) -> Self;
    fn root(self) -> Self;
    fn size(self) -> Self;
    fn signed_as(self, sign: Self) -> Self;
    fn of_count(n: usize) -> Self;
    /// The power of two of a size, and its inverse. The exponent stays so far from the ends of the range that both are normal.
    fn powers(self) -> (Self, Self);
}

macro_rules! reals { ($($t:ty, $bits:ty, $shift:literal, $mask:literal, $bias:literal, $most:literal;)*) => { $(
    impl Real for $t {
        const ONE: Self = 1.0;
        const NAN: Self = <$t>::NAN;
        const EPSILON: Self = <$t>::EPSILON;
        const LEAST: Self = <$t>::MIN_POSITIVE / <$t>::EPSILON;
        #[inline(always)]
        fn fused(self, by: Self, plus: Self) -> Self {
            self.mul_add(by, plus)
        }
        #[inline(always)]
        fn root(self) -> Self {
            self.sqrt()
        }
        #[inline(always)]
        fn size(self) -> Self {
            self.abs()
        }
        #[inline(always)]
        fn signed_as(self, sign: Self) -> Self {
            self.copysign(sign)
        }
        #[inline(always)]
        fn of_count(n: usize) -> Self {
            n as $t
        }
        #[inline(always)]
        fn powers(self) -> (Self, Self) {
            let exponent = ((self.to_bits() >> $shift) & $mask).clamp($bias - $most, $bias + $most);
            (<$t>::from_bits(exponent << $shift), <$t>::from_bits((2 * $bias - exponent) << $shift))
        }
    }
)* } }
reals! { f32, u32, 23, 0xff, 127, 100; f64, u64, 52, 0x7ff, 1023, 1000; }

/// A number of each of `L` matrices.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Wide<T, const L: usize>(pub(super) [T; L]);

impl<T: Real, const L: usize> Wide<T, L> {
    #[inline(always)]
    pub(super) fn of(x: T) -> Self {
        Wide([x; L])
    }

    #[inline(always)]
    pub(super) fn zero() -> Self {
        Wide::of(T::default())
    }

    #[inline(always)]
    pub(super) fn map(self, f: impl Fn(T) -> T) -> Self {
        Wide(self.0.map(f))
    }

    /// What `f` makes of the two numbers of each lane.
    #[inline(always)]
    pub(super) fn with(self, other: Self, f: impl Fn(T, T) -> T) -> Self {
        let mut all = self.0;
        all.iter_mut().zip(other.0).for_each(|(x, y)| *x = f(*x, y));
        Wide(all)
    }

    /// `self * by + plus`, rounded once.
    #[inline(always)]
    pub(super) fn fma(self, by: Self, plus: Self) -> Self {
        let mut all = plus.0;
        for (sum, (x, y)) in all.iter_mut().zip(self.0.into_iter().zip(by.0)) {
            *sum = x.fused(y, *sum);
        }
        Wide(all)
    }

    #[inline(always)]
    pub(super) fn times(self, by: Self) -> Self {
        self.with(by, T::mul)
    }

    #[inline(always)]
    pub(super) fn plus(self, other: Self) -> Self {
        self.with(other, T::add)
    }

    #[inline(always)]
    pub(super) fn minus(self, other: Self) -> Self {
        self.with(other, T::sub)
    }

    #[inline(always)]
    pub(super) fn over(self, by: Self) -> Self {
        self.with(by, T::div)
    }

    #[inline(always)]
    pub(super) fn negative(self) -> Self {
        self.map(T::neg)
    }

    /// The larger size; a NaN is none.
    #[inline(always)]
    pub(super) fn most(self, x: Self) -> Self {
        self.with(x, |most, x| if x.size() > most { x.size() } else { most })
    }

    /// `self` where `when` is above zero, else `other`.
    #[inline(always)]
    pub(super) fn or(self, other: Self, when: Self) -> Self {
        let mut all = other.0;
        all.iter_mut().zip(self.0.into_iter().zip(when.0)).for_each(|(y, (x, when))| {
            *y = if when > T::default() { x } else { *y };
        });
        Wide(all)
    }

    /// One where `f` holds of the two numbers, else zero.
    #[inline(always)]
    pub(super) fn test(self, other: Self, f: impl Fn(T, T) -> bool) -> Self {
        self.with(other, |x, y| if f(x, y) { T::ONE } else { T::default() })
    }

    /// Whether a lane is above zero.
    #[inline(always)]
    pub(super) fn any(self) -> bool {
        self.0.iter().fold(false, |any, x| any | (*x > T::default()))
    }

    /// The power of two of each size, and its inverse.
    #[inline(always)]
    pub(super) fn powers(self) -> (Self, Self) {
        (self.map(|x| x.powers().0), self.map(|x| x.powers().1))
    }
}
