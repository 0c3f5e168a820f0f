//! The element types, and what the routines need to know about them.

use crate::core::element::{Element, Letter};
#[cfg(feature = "host")]
use crate::numerics::level1::HostLevel1;
use half::{bf16, f16};
use num_complex::Complex;

/// An element type of vectors: f32, f64, `Complex` of both, and the halves f16 and bf16, whose scalars are given in
/// f32. Sealed, as [`Element`] is.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no element type of vectors in BLAS",
    label = "expected f32, f64, Complex<f32>, Complex<f64>, f16 or bf16"
)]
pub trait VectorElement: Element {
    /// The type of `alpha`.
    type Scalar: Element;
    /// The type of a norm: the real type.
    type Norm: Element;
    #[doc(hidden)]
    const CODES: VectorCodes;
    #[doc(hidden)]
    #[cfg(feature = "host")]
    type Host: HostVector<Self, Self::Scalar, Self::Norm>;
}

/// cuBLAS's codes for a vector operation's types.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct VectorCodes {
    /// `cudaDataType` of the elements.
    pub element: u32,
    /// `cudaDataType` of `alpha`.
    pub scalar: u32,
    /// `cudaDataType` of a norm.
    pub norm: u32,
    /// `cudaDataType` of the computation.
    pub compute: u32,
}

/// The host's vector operations. Increments are not zero.
#[doc(hidden)]
#[cfg(feature = "host")]
pub trait HostVector<T, S, N> {
    /// `y = alpha * x + y`.
    fn axpy(n: usize, alpha: S, x: &[T], incx: isize, y: &mut [T], incy: isize);
    /// `x = alpha * x`.
    fn scal(n: usize, alpha: S, x: &mut [T], incx: isize);
    /// The sum of products.
    fn dot(conjugate: bool, n: usize, x: &[T], incx: isize, y: &[T], incy: isize) -> T;
    /// The Euclidean norm.
    fn nrm2(n: usize, x: &[T], incx: isize) -> N;
}

/// Forwards to `numerics`.
#[doc(hidden)]
#[cfg(feature = "host")]
#[derive(Debug)]
pub struct Numerics;

macro_rules! vector_elements { ($($t:ty, $scalar:ty, $norm:ty, $e:literal, $s:literal, $n:literal, $c:literal;)*) => { $(
    impl VectorElement for $t {
        type Scalar = $scalar;
        type Norm = $norm;
        const CODES: VectorCodes = VectorCodes { element: $e, scalar: $s, norm: $n, compute: $c };
        #[cfg(feature = "host")]
        type Host = Numerics;
    }
    #[cfg(feature = "host")]
    impl HostVector<$t, $scalar, $norm> for Numerics {
        fn axpy(n: usize, alpha: $scalar, x: &[$t], incx: isize, y: &mut [$t], incy: isize) {
            <$t as HostLevel1>::axpy(n, alpha, x, incx, y, incy);
        }
        fn scal(n: usize, alpha: $scalar, x: &mut [$t], incx: isize) {
            <$t as HostLevel1>::scal(n, alpha, x, incx);
        }
        fn dot(conjugate: bool, n: usize, x: &[$t], incx: isize, y: &[$t], incy: isize) -> $t {
            let dot = if conjugate { <$t as HostLevel1>::dotc } else { <$t as HostLevel1>::dot };
            dot(n, x, incx, y, incy)
        }
        fn nrm2(n: usize, x: &[$t], incx: isize) -> $norm {
            <$t as HostLevel1>::nrm2(n, x, incx)
        }
    }
)* } }
// cudaDataType: R_32F 0, R_64F 1, R_16F 2, C_32F 4, C_64F 5, R_16BF 14.
vector_elements! {
    f32, f32, f32, 0, 0, 0, 0;
    f64, f64, f64, 1, 1, 1, 1;
    Complex<f32>, Complex<f32>, f32, 4, 4, 0, 4;
    Complex<f64>, Complex<f64>, f64, 5, 5, 1, 5;
    f16, f32, f16, 2, 0, 2, 0;
    bf16, f32, bf16, 14, 0, 14, 0;
}

/// What the host engine needs of an element whose real type is `R`.
#[doc(hidden)]
#[cfg(feature = "host")]
pub trait OnHost<R>: crate::numerics::Field<Part = R> + crate::numerics::level3::HostLevel3 {}
#[cfg(feature = "host")]
impl<T: crate::numerics::Field + crate::numerics::level3::HostLevel3> OnHost<T::Part> for T {}

/// What the host engine needs of an element whose real type is `R`: nothing in this build.
#[doc(hidden)]
#[cfg(not(feature = "host"))]
pub trait OnHost<R> {}
#[cfg(not(feature = "host"))]
impl<T, R> OnHost<R> for T {}

/// An element type that every routine supports: f32, f64, `Complex<f32>`, `Complex<f64>`. Sealed, as [`Element`] is.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no element type of this routine",
    label = "expected f32, f64, Complex<f32> or Complex<f64>"
)]
pub trait BlasElement:
    VectorElement<Scalar = Self, Norm = <Self as BlasElement>::Real>
    + From<<Self as BlasElement>::Real>
    + super::GemmElement<Scalar = Self, Out = Self>
    + OnHost<<Self as BlasElement>::Real>
{
    /// The type of the real and the imaginary part.
    type Real: BlasElement<Real = Self::Real>;
    #[doc(hidden)]
    const LETTER: Letter;
    /// The number with this real part and no imaginary part.
    #[doc(hidden)]
    fn from_real(re: Self::Real) -> Self;
}

macro_rules! blas_elements { ($($t:ty, $real:ty, $letter:ident;)*) => { $(
    impl BlasElement for $t {
        type Real = $real;
        const LETTER: Letter = Letter::$letter;
        fn from_real(re: $real) -> Self {
            re.into()
        }
    }
)* } }
blas_elements! { f32, f32, S; f64, f64, D; Complex<f32>, f32, C; Complex<f64>, f64, Z; }

/// An element type with an imaginary part: `Complex<f32>`, `Complex<f64>`. Only these have `hemv` and similar routines.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no complex element type",
    label = "expected Complex<f32> or Complex<f64>",
    note = "for real matrices take the symmetric routine: its name begins with `s` in place of `h`"
)]
pub trait ComplexElement: BlasElement {}
impl ComplexElement for Complex<f32> {}
impl ComplexElement for Complex<f64> {}

/// An element type without an imaginary part: f32, f64. Only these have `rotm` and similar routines.
pub trait RealElement: BlasElement<Real = Self> {}
impl RealElement for f32 {}
impl RealElement for f64 {}
