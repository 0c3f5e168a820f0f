//! Loops compiled for more instructions than the target's baseline, and SIMD vectors of any width.

use std::ops::{Add, Div, Mul, Neg, Sub};

use num_complex::{Complex32, Complex64};
use pulp::Simd;

/// A loop that [`run`] compiles for several instruction sets.
pub(super) trait Kernel {
    type Output;

    /// Must be `inline(always)`: only inlined code is compiled with the target features of its caller.
    fn body(self) -> Self::Output;
}

/// Runs the loop, with AVX2 if the machine has it.
///
/// AVX-512 is not used: these loops are limited by memory bandwidth, for which AVX2 is enough.
pub(super) fn run<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn avx2<K: Kernel>(kernel: K) -> K::Output {
            kernel.body()
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the machine has AVX2, as checked above.
            return unsafe { avx2(kernel) };
        }
    }
    kernel.body()
}

/// Real or complex numbers in SIMD vectors of the machine's width (by crate `pulp`, which crate `gemm` uses too).
pub trait Vectors:
    Copy + Default + Send + Sync + Add<Output = Self> + Sub<Output = Self> + Neg<Output = Self> + 'static
{
    /// A SIMD vector of `Self`.
    type Vector<S: Simd>: Copy + bytemuck::Pod;

    /// The whole vectors in `x`, and the remaining elements.
    fn vectors<S: Simd>(x: &[Self]) -> (&[Self::Vector<S>], &[Self]);
    /// The whole vectors in `x`, and the remaining elements.
    fn vectors_mut<S: Simd>(x: &mut [Self]) -> (&mut [Self::Vector<S>], &mut [Self]);
    /// The sum of a vector's elements.
    fn sum<S: Simd>(simd: S, vector: Self::Vector<S>) -> Self;
    fn splat<S: Simd>(simd: S, x: Self) -> Self::Vector<S>;
    /// Loads `x`, which has fewer elements than a vector; the other lanes are zero.
    fn load<S: Simd>(simd: S, x: &[Self]) -> Self::Vector<S>;
    /// Stores the first elements of `vector` in `x`, which has fewer elements than a vector.
    fn store<S: Simd>(simd: S, x: &mut [Self], vector: Self::Vector<S>);
    fn plus<S: Simd>(simd: S, x: Self::Vector<S>, y: Self::Vector<S>) -> Self::Vector<S>;
    /// `x * y + z`, fused if the machine has an instruction for that.
    fn fma<S: Simd>(simd: S, x: Self::Vector<S>, y: Self::Vector<S>, z: Self::Vector<S>) -> Self::Vector<S>;
}

/// The real type of an element's parts, with vector operations.
pub(crate) trait Lanes: Vectors + PartialOrd + Mul<Output = Self> + Div<Output = Self> {
    /// `self * factor + term`, rounded once.
    fn mul_add(self, factor: Self, term: Self) -> Self;
    fn abs(self) -> Self;
    fn quotient<S: Simd>(simd: S, x: Self::Vector<S>, y: Self::Vector<S>) -> Self::Vector<S>;
}

macro_rules! vectors { ($($t:ty, $vector:ident, $get:ident, $get_mut:ident, $splat:ident, $load:expr, $store:expr,
    $add:ident, $fma:ident, $sum:ident;)*) => { $(
    impl Vectors for $t {
        type Vector<S: Simd> = S::$vector;

        #[inline(always)]
        fn vectors<S: Simd>(x: &[Self]) -> (&[S::$vector], &[Self]) {
            S::$get(x)
        }
        #[inline(always)]
        fn vectors_mut<S: Simd>(x: &mut [Self]) -> (&mut [S::$vector], &mut [Self]) {
            S::$get_mut(x)
        }
        #[inline(always)]
        fn sum<S: Simd>(simd: S, vector: S::$vector) -> Self {
            simd.$sum(vector)
        }
        #[inline(always)]
        fn splat<S: Simd>(simd: S, x: Self) -> S::$vector {
            simd.$splat(x)
        }
        #[inline(always)]
        fn load<S: Simd>(simd: S, x: &[Self]) -> S::$vector {
            $load(simd, x)
        }
        #[inline(always)]
        fn store<S: Simd>(simd: S, x: &mut [Self], vector: S::$vector) {
            $store(simd, x, vector);
        }
        #[inline(always)]
        fn plus<S: Simd>(simd: S, x: S::$vector, y: S::$vector) -> S::$vector {
            simd.$add(x, y)
        }
        #[inline(always)]
        fn fma<S: Simd>(simd: S, x: S::$vector, y: S::$vector, z: S::$vector) -> S::$vector {
            simd.$fma(x, y, z)
        }
    }
)* } }
vectors! {
    f32, f32s, as_simd_f32s, as_mut_simd_f32s, splat_f32s, S::partial_load_f32s, S::partial_store_f32s, add_f32s, mul_add_e_f32s,
        reduce_sum_f32s;
    f64, f64s, as_simd_f64s, as_mut_simd_f64s, splat_f64s, S::partial_load_f64s, S::partial_store_f64s, add_f64s, mul_add_e_f64s,
        reduce_sum_f64s;
    Complex32, c32s, as_simd_c32s, as_mut_simd_c32s, splat_c32s, load_c32s, store_c32s, add_c32s, mul_add_e_c32s,
        reduce_sum_c32s;
    Complex64, c64s, as_simd_c64s, as_mut_simd_c64s, splat_c64s, S::partial_load_c64s, S::partial_store_c64s, add_c64s, mul_add_e_c64s,
        reduce_sum_c64s;
}

/// `pulp`'s own function casts the slice to f64, which panics unless it is aligned for f64. This one casts it to f32.
/// The cast of the vector fails only without SIMD, where a vector has one element and no partial load occurs.
#[inline(always)]
fn load_c32s<S: Simd>(simd: S, x: &[Complex32]) -> S::c32s {
    bytemuck::try_cast(simd.partial_load_f32s(bytemuck::cast_slice(x)))
        .unwrap_or_else(|_| simd.splat_c32s(Complex32::ZERO))
}

/// As [`load_c32s`].
#[inline(always)]
fn store_c32s<S: Simd>(simd: S, x: &mut [Complex32], vector: S::c32s) {
    if let Ok(vector) = bytemuck::try_cast(vector) {
        simd.partial_store_f32s(bytemuck::cast_slice_mut(x), vector);
    }
}

macro_rules! lanes { ($($t:ty, $div:ident;)*) => { $(
    impl Lanes for $t {
        #[inline(always)]
        fn mul_add(self, factor: Self, term: Self) -> Self {
            <$t>::mul_add(self, factor, term)
        }
        #[inline(always)]
        fn abs(self) -> Self {
            <$t>::abs(self)
        }
        #[inline(always)]
        fn quotient<S: Simd>(simd: S, x: Self::Vector<S>, y: Self::Vector<S>) -> Self::Vector<S> {
            simd.$div(x, y)
        }
    }
)* } }
lanes! { f32, div_f32s; f64, div_f64s; }
