//! Numbers of the host. Loops over these vectorise: nothing here branches.

use super::format::{Double, Single};
use super::real::{Bits, Real};

macro_rules! host {
    ($real:ty, $bits:ty, $wide:ty, $format:ty) => {
        impl Real for $real {
            type Format = $format;
            type Bits = Word<$bits>;
            type Mask = bool;
            #[inline(always)]
            fn lit(x: f64) -> Self {
                x as $real
            }
            #[inline(always)]
            fn fma(self, b: Self, c: Self) -> Self {
                self.mul_add(b, c)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                <$real>::sqrt(self)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                <$real>::abs(self)
            }
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                <$real>::copysign(self, sign)
            }
            #[inline(always)]
            fn bits(self) -> Word<$bits> {
                Word(self.to_bits())
            }
            #[inline(always)]
            fn lt(self, than: Self) -> bool {
                self < than
            }
            #[inline(always)]
            fn le(self, than: Self) -> bool {
                self <= than
            }
            #[inline(always)]
            fn is(self, other: Self) -> bool {
                self == other
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                <$real>::is_nan(self)
            }
            #[inline(always)]
            fn select(mask: bool, yes: Self, no: Self) -> Self {
                if mask { yes } else { no }
            }
        }

        impl Bits for Word<$bits> {
            type Real = $real;
            #[inline(always)]
            fn lit(x: i64) -> Self {
                Word(x as $bits)
            }
            #[inline(always)]
            fn mul_high(self, b: Self) -> Self {
                Word((<$wide>::from(self.0) * <$wide>::from(b.0) >> <$bits>::BITS) as $bits)
            }
            #[inline(always)]
            fn shl(self, by: u32) -> Self {
                Word(self.0.wrapping_shl(by))
            }
            #[inline(always)]
            fn shr(self, by: u32) -> Self {
                Word(self.0.wrapping_shr(by))
            }
            #[inline(always)]
            fn shl_by(self, by: Self) -> Self {
                Word(self.0.wrapping_shl(by.0 as u32))
            }
            #[inline(always)]
            fn shr_by(self, by: Self) -> Self {
                Word(self.0.wrapping_shr(by.0 as u32))
            }
            #[inline(always)]
            fn is(self, other: Self) -> bool {
                self.0 == other.0
            }
            #[inline(always)]
            fn below(self, other: Self) -> bool {
                self.0 < other.0
            }
            #[inline(always)]
            fn select(mask: bool, yes: Self, no: Self) -> Self {
                if mask { yes } else { no }
            }
            #[inline(always)]
            fn real(self) -> $real {
                <$real>::from_bits(self.0)
            }
        }

        host!(op $bits, Add add wrapping_add, Sub sub wrapping_sub, Mul mul wrapping_mul);
        host!(bit $bits, BitAnd bitand, BitOr bitor, BitXor bitxor);
    };
    (op $bits:ty, $($trait:ident $name:ident $call:ident),*) => { $(
        impl std::ops::$trait for Word<$bits> {
            type Output = Self;
            #[inline(always)]
            fn $name(self, b: Self) -> Self {
                Word(self.0.$call(b.0))
            }
        }
    )* };
    (bit $bits:ty, $($trait:ident $name:ident),*) => { $(
        impl std::ops::$trait for Word<$bits> {
            type Output = Self;
            #[inline(always)]
            fn $name(self, b: Self) -> Self {
                Word(std::ops::$trait::$name(self.0, b.0))
            }
        }
    )* };
}

/// The bits of a number: arithmetic wraps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word<T>(pub T);

host!(f32, u32, u64, Single);
host!(f64, u64, u128, Double);

/// A number of which the loops of other libraries take functions: inlined, so that they take on the instructions of the loop.
#[cfg(feature = "dnn")]
pub(in crate::libraries) trait Elementary {
    fn exponential(self) -> Self;
    fn logarithm(self) -> Self;
}
macro_rules! elementary { ($($t:ty)*) => { $(
    #[cfg(feature = "dnn")]
    impl Elementary for $t {
        #[inline(always)]
        fn exponential(self) -> Self {
            super::exponential::exp(self)
        }
        #[inline(always)]
        fn logarithm(self) -> Self {
            super::logarithm::log(self)
        }
    }
)* } }
elementary!(f32 f64);
