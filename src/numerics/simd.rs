//! Loops compiled for more than the target's baseline.

use std::ops::{Add, Div, Mul, Neg, Sub};

use pulp::Simd;

/// A loop that [`run`] compiles for several instruction sets.
pub(super) trait Kernel {
    type Output;

    /// Must be `inline(always)`: only inlined code takes on the features of its caller.
    fn body(self) -> Self::Output;
}

/// Runs the loop, with AVX2 where the machine has it.
///
/// AVX-512 is left out: these loops wait for memory, and what AVX2 does for them is enough.
pub(super) fn run<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn avx2<K: Kernel>(kernel: K) -> K::Output {
            kernel.body()
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the machine has AVX2, as was asked just now.
            return unsafe { avx2(kernel) };
        }
    }
    kernel.body()
}

/// The type of a part of an element, as vectors of whatever width the machine has (crate `pulp`, on which crate `gemm`
/// stands as well).
pub(super) trait Lanes:
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
    /// A vector.
    type Vector<S: Simd>: Copy;

    /// `self * factor + term`, rounded once.
    fn mul_add(self, factor: Self, term: Self) -> Self;
    fn abs(self) -> Self;
    /// As many whole vectors as `x` holds.
    fn vectors_mut<S: Simd>(x: &mut [Self]) -> &mut [Self::Vector<S>];
    fn splat<S: Simd>(simd: S, x: Self) -> Self::Vector<S>;
    /// `x * y + z`, fused where the machine has an instruction for that.
    fn fma<S: Simd>(simd: S, x: Self::Vector<S>, y: Self::Vector<S>, z: Self::Vector<S>) -> Self::Vector<S>;
    fn quotient<S: Simd>(simd: S, x: Self::Vector<S>, y: Self::Vector<S>) -> Self::Vector<S>;
}

macro_rules! lanes { ($($t:ty, $vector:ident, $get_mut:ident, $splat:ident, $fma:ident, $div:ident;)*) => { $(
    impl Lanes for $t {
        type Vector<S: Simd> = S::$vector;

        #[inline(always)]
        fn mul_add(self, factor: Self, term: Self) -> Self {
            <$t>::mul_add(self, factor, term)
        }
        #[inline(always)]
        fn abs(self) -> Self {
            <$t>::abs(self)
        }
        #[inline(always)]
        fn vectors_mut<S: Simd>(x: &mut [Self]) -> &mut [S::$vector] {
            S::$get_mut(x).0
        }
        #[inline(always)]
        fn splat<S: Simd>(simd: S, x: Self) -> S::$vector {
            simd.$splat(x)
        }
        #[inline(always)]
        fn fma<S: Simd>(simd: S, x: S::$vector, y: S::$vector, z: S::$vector) -> S::$vector {
            simd.$fma(x, y, z)
        }
        #[inline(always)]
        fn quotient<S: Simd>(simd: S, x: S::$vector, y: S::$vector) -> S::$vector {
            simd.$div(x, y)
        }
    }
)* } }
lanes! {
    f32, f32s, as_mut_simd_f32s, splat_f32s, mul_add_e_f32s, div_f32s;
    f64, f64s, as_mut_simd_f64s, splat_f64s, mul_add_e_f64s, div_f64s;
}
