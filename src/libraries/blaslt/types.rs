//! The combinations of element types.

use crate::core::element::Element;
use crate::core::fp8::{F8E4M3, F8E5M2};
use half::{bf16, f16};
use num_complex::Complex;

mod sealed {
    pub trait Sealed {}
}

/// In place of a type of C: the default type for the type of D.
#[derive(Clone, Copy, Debug)]
pub enum Auto {}

/// An element type of A that can be multiplied by a `B` into a `D`, with a C of type `C`. Sealed; see
/// [the table](crate::blaslt#element-types).
#[diagnostic::on_unimplemented(
    message = "matrices of `{Self}` and `{B}` have no product in `{D}`",
    label = "no such row in the table of element types in `windlass::blaslt`"
)]
pub trait MatmulElement<B: Element, D: Element, C = Auto>: Element {
    /// All types of such a product.
    type Types: MatmulTypes<A = Self, B = B, D = D>;
}

/// The types of one product. Sealed: the rows of [the table](crate::blaslt#element-types).
pub trait MatmulTypes: sealed::Sealed + Sized + Send + Sync + 'static {
    /// The type of A.
    type A: Element;
    /// The type of B.
    type B: Element;
    /// The type of C.
    type C: Element;
    /// The type of D.
    type D: Element;
    /// The type of `alpha` and `beta`, in which everything between the product and D is computed.
    type Scalar: Element;
    /// The type of a bias and of its gradient.
    type Bias: Element;
    /// The type of a stored pre-activation.
    type Aux: Element;
    #[doc(hidden)]
    const ONE: Self::Scalar;
    #[doc(hidden)]
    const CODES: Codes;
    #[doc(hidden)]
    #[cfg(feature = "host")]
    fn run(job: HostJob<'_, Self>);
}

/// A product as the host engine takes it.
#[cfg(feature = "host")]
#[doc(hidden)]
pub(super) type HostJob<'x, T> = crate::numerics::matmul::Job<
    'x,
    <T as MatmulTypes>::A,
    <T as MatmulTypes>::B,
    <T as MatmulTypes>::C,
    <T as MatmulTypes>::D,
    <T as MatmulTypes>::Scalar,
    <T as MatmulTypes>::Bias,
    <T as MatmulTypes>::Aux,
>;

/// The library's numbers for a product's types.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Codes {
    /// `cudaDataType` of A, B, C and D.
    pub matrices: [u32; 4],
    /// `cublasComputeType_t`.
    pub compute: u32,
    /// `cudaDataType` of alpha and beta.
    pub scale: u32,
    /// `cudaDataType` of a bias.
    pub bias: u32,
    /// `cudaDataType` of a stored pre-activation.
    pub aux: u32,
}

/// Numbers of `cudaDataType`.
#[allow(dead_code, reason = "some are only named where there is a GPU's library")]
pub(crate) mod data {
    pub(in crate::libraries::blaslt) const F32: u32 = 0;
    pub(in crate::libraries::blaslt) const F64: u32 = 1;
    pub(in crate::libraries::blaslt) const F16: u32 = 2;
    pub(in crate::libraries::blaslt) const I8: u32 = 3;
    pub(in crate::libraries::blaslt) const C32: u32 = 4;
    pub(in crate::libraries::blaslt) const C64: u32 = 5;
    pub(in crate::libraries::blaslt) const I32: u32 = 10;
    pub(in crate::libraries::blaslt) const BF16: u32 = 14;
    pub(in crate::libraries::blaslt) const F8E4M3: u32 = 28;
    pub(in crate::libraries::blaslt) const F8E5M2: u32 = 29;
}

/// `cudaDataType` of an element type that matrices have.
const fn data_type(dtype: crate::core::element::DType) -> u32 {
    use crate::core::element::DType;
    match dtype {
        DType::F32 => data::F32,
        DType::F64 => data::F64,
        DType::F16 => data::F16,
        DType::I8 => data::I8,
        DType::C32 => data::C32,
        DType::C64 => data::C64,
        DType::I32 => data::I32,
        DType::Bf16 => data::BF16,
        DType::F8E4M3 => data::F8E4M3,
        DType::F8E5M2 => data::F8E5M2,
        _ => u32::MAX,
    }
}

/// `cublasComputeType_t`.
const F32: u32 = 68;
const F64: u32 = 70;
pub(super) const I32: u32 = 72;
/// `CUBLAS_COMPUTE_32F_FAST_TF32`.
#[cfg(feature = "cuda")]
pub(super) const TF32: u32 = 77;

macro_rules! types { ($($a:ty, $b:ty, $c:ty => $d:ty, $scalar:ty, $one:expr, $bias:ty, $aux:ty, $compute:expr, $auto:tt;)*) => { $(
    impl sealed::Sealed for ($a, $b, $c, $d) {}
    impl MatmulTypes for ($a, $b, $c, $d) {
        type A = $a;
        type B = $b;
        type C = $c;
        type D = $d;
        type Scalar = $scalar;
        type Bias = $bias;
        type Aux = $aux;
        const ONE: $scalar = $one;
        const CODES: Codes = Codes {
            matrices: [
                data_type(<$a>::DTYPE),
                data_type(<$b>::DTYPE),
                data_type(<$c>::DTYPE),
                data_type(<$d>::DTYPE),
            ],
            compute: $compute,
            scale: data_type(<$scalar>::DTYPE),
            bias: data_type(<$bias>::DTYPE),
            aux: data_type(<$aux>::DTYPE),
        };
        #[cfg(feature = "host")]
        fn run(job: HostJob<'_, Self>) {
            job.run();
        }
    }
    impl MatmulElement<$b, $d, $c> for $a {
        type Types = ($a, $b, $c, $d);
    }
    types!(@$auto $a, $b, $c, $d);
)* };
    (@auto $a:ty, $b:ty, $c:ty, $d:ty) => {
        impl MatmulElement<$b, $d, Auto> for $a {
            type Types = ($a, $b, $c, $d);
        }
    };
    (@named $($rest:tt)*) => {};
}
// A, B, C => D, scalars, one, bias, pre-activation, arithmetic, whether this C is the default for D.
types! {
    f32, f32, f32 => f32, f32, 1.0, f32, f32, F32, auto;
    f64, f64, f64 => f64, f64, 1.0, f64, f64, F64, auto;
    Complex<f32>, Complex<f32>, Complex<f32> => Complex<f32>, Complex<f32>, Complex { re: 1.0, im: 0.0 }, Complex<f32>,
        Complex<f32>, F32, auto;
    Complex<f64>, Complex<f64>, Complex<f64> => Complex<f64>, Complex<f64>, Complex { re: 1.0, im: 0.0 }, Complex<f64>,
        Complex<f64>, F64, auto;
    f16, f16, f16 => f16, f32, 1.0, f16, f16, F32, auto;
    bf16, bf16, bf16 => bf16, f32, 1.0, bf16, bf16, F32, auto;
    f16, f16, f32 => f32, f32, 1.0, f32, f32, F32, auto;
    bf16, bf16, f32 => f32, f32, 1.0, f32, f32, F32, auto;
    i8, i8, i32 => i32, i32, 1, i32, i32, I32, auto;
    i8, i8, i8 => i8, f32, 1.0, f32, f32, I32, auto;
}
macro_rules! fp8_types { ($($a:ty, $b:ty => $($eight:ty),*;)*) => { $(
    types! {
        $a, $b, bf16 => bf16, f32, 1.0, bf16, bf16, F32, auto;
        $a, $b, f16 => f16, f32, 1.0, f16, f16, F32, auto;
        $a, $b, f32 => f32, f32, 1.0, bf16, f32, F32, auto;
        $(
            $a, $b, bf16 => $eight, f32, 1.0, bf16, f16, F32, auto;
            $a, $b, f16 => $eight, f32, 1.0, f16, f16, F32, named;
        )*
    }
)* } }
fp8_types! {
    F8E4M3, F8E4M3 => F8E4M3;
    F8E4M3, F8E5M2 => F8E4M3, F8E5M2;
    F8E5M2, F8E4M3 => F8E4M3, F8E5M2;
}
