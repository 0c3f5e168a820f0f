//! The element types of matrix products, and the types of their results.

use super::modes::Math;
use crate::core::element::Element;
#[cfg(feature = "host")]
use crate::numerics::{GemmSpec, gemm::HostGemm};
use half::{bf16, f16};
use num_complex::Complex;

/// An element type of matrix products: f32, f64, `Complex` of both, f16, bf16 (scalars in f32), and i8 (scalars and
/// result in i32). Sealed, as [`Element`] is.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no element type of matrix products",
    label = "expected f32, f64, Complex<f32>, Complex<f64>, f16, bf16 or i8"
)]
pub trait GemmElement: Element {
    /// The type of `alpha` and `beta`.
    type Scalar: Element;
    /// The type of `C`.
    type Out: Element;
    #[doc(hidden)]
    const ONE: Self::Scalar;
    /// The library's codes of the types of A, C and the computation.
    #[doc(hidden)]
    const CODES: GemmCodes;
    #[doc(hidden)]
    #[cfg(feature = "host")]
    fn multiply(spec: &GemmSpec<Self::Scalar>, a: &[Self], b: &[Self], c: &mut [Self::Out]);
}

/// cuBLAS's codes for a product's types.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct GemmCodes {
    /// `cudaDataType` of A and B.
    pub input: u32,
    /// `cudaDataType` of C.
    pub output: u32,
    /// `cublasComputeType_t`.
    pub compute: u32,
}

#[cfg(feature = "cuda")]
impl GemmCodes {
    /// Whether the library computes groups of products of this type in one call: real types.
    pub(super) fn grouped(self) -> bool {
        const REAL: [u32; 4] = [0, 1, 2, 14];
        REAL.contains(&self.input)
    }

    /// `cublasComputeType_t` in a math mode.
    pub(super) fn compute_in(self, math: Math) -> u32 {
        const SINGLE: [u32; 2] = [0, 4];
        match math {
            // Each type's pedantic code follows the plain one.
            Math::Pedantic => self.compute + 1,
            Math::Tf32 if SINGLE.contains(&self.input) => 77, // 32F_FAST_TF32
            Math::Default | Math::Tf32 | Math::EmulatedBf16x9 => self.compute,
        }
    }
}

macro_rules! gemm_elements { ($($t:ty, $scalar:ty, $out:ty, $one:expr, $i:literal, $o:literal, $c:literal;)*) => { $(
    impl GemmElement for $t {
        type Scalar = $scalar;
        type Out = $out;
        const ONE: $scalar = $one;
        const CODES: GemmCodes = GemmCodes { input: $i, output: $o, compute: $c };
        #[cfg(feature = "host")]
        fn multiply(spec: &GemmSpec<$scalar>, a: &[$t], b: &[$t], c: &mut [$out]) {
            <$t as HostGemm>::gemm(spec, a, b, c);
        }
    }
)* } }
// cudaDataType: R_32F 0, R_64F 1, R_16F 2, R_8I 3, C_32F 4, C_64F 5, R_32I 10, R_16BF 14;
// cublasComputeType_t: 32F 68, 64F 70, 32I 72.
gemm_elements! {
    f32, f32, f32, 1.0, 0, 0, 68;
    f64, f64, f64, 1.0, 1, 1, 70;
    Complex<f32>, Complex<f32>, Complex<f32>, Complex { re: 1.0, im: 0.0 }, 4, 4, 68;
    Complex<f64>, Complex<f64>, Complex<f64>, Complex { re: 1.0, im: 0.0 }, 5, 5, 70;
    f16, f32, f16, 1.0, 2, 2, 68;
    bf16, f32, bf16, 1.0, 14, 14, 68;
    i8, i32, i32, 1, 3, 10, 72;
}

/// An element type whose products can be stored as f32: f16 and bf16. Sealed, as [`Element`] is.
pub trait MixedElement: GemmElement<Scalar = f32> {
    #[doc(hidden)]
    #[cfg(feature = "host")]
    fn multiply_single(spec: &GemmSpec<f32>, a: &[Self], b: &[Self], c: &mut [f32]);
}

macro_rules! mixed_elements { ($($t:ty),*) => { $(
    impl MixedElement for $t {
        #[cfg(feature = "host")]
        fn multiply_single(spec: &GemmSpec<f32>, a: &[Self], b: &[Self], c: &mut [f32]) {
            crate::numerics::widen::gemm_widened(spec, a, b, c);
        }
    }
)* } }
mixed_elements!(f16, bf16);

/// The type in which a product of `T` is stored.
pub(super) trait Kind<T: GemmElement>: Send + Sync + 'static {
    /// Whether the result is f32 although A and B are halves: the routines are then called `gemm_mixed`.
    const MIXED: bool;
    /// The type of C.
    type Out: Element;
    /// Its `cudaDataType`.
    #[cfg(feature = "cuda")]
    const OUTPUT: u32;
    /// The product on the host engine.
    #[cfg(feature = "host")]
    fn multiply(spec: &GemmSpec<T::Scalar>, a: &[T], b: &[T], c: &mut [Self::Out]);
}

/// As `T::Out`.
#[derive(serde::Serialize, serde::Deserialize)]
pub(super) struct Same;

/// As f32.
#[derive(serde::Serialize, serde::Deserialize)]
pub(super) struct Single;

impl<T: GemmElement> Kind<T> for Same {
    const MIXED: bool = false;
    type Out = T::Out;
    #[cfg(feature = "cuda")]
    const OUTPUT: u32 = T::CODES.output;
    #[cfg(feature = "host")]
    fn multiply(spec: &GemmSpec<T::Scalar>, a: &[T], b: &[T], c: &mut [T::Out]) {
        T::multiply(spec, a, b, c);
    }
}

impl<T: MixedElement> Kind<T> for Single {
    const MIXED: bool = true;
    type Out = f32;
    #[cfg(feature = "cuda")]
    const OUTPUT: u32 = 0;
    #[cfg(feature = "host")]
    fn multiply(spec: &GemmSpec<f32>, a: &[T], b: &[T], c: &mut [f32]) {
        T::multiply_single(spec, a, b, c);
    }
}
