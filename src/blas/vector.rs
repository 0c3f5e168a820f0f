//! The element types of the vector operations.

#[cfg(feature = "host")]
use crate::numerics::level1::HostLevel1;
use crate::{Complex, Element, bf16, f16};

/// An element type that vectors are made of: f32, f64, `Complex` of both, and the halves f16 and bf16, whose scalars are
/// given in f32. Sealed, as [`Element`] is.
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

/// The host's vector operations; contiguous vectors.
#[doc(hidden)]
#[cfg(feature = "host")]
pub trait HostVector<T, S, N> {
    /// `y = alpha * x + y`.
    fn axpy(alpha: S, x: &[T], y: &mut [T]);
    /// `x = alpha * x`.
    fn scal(alpha: S, x: &mut [T]);
    /// The sum of products.
    fn dot(conjugate: bool, x: &[T], y: &[T]) -> T;
    /// The Euclidean norm.
    fn nrm2(x: &[T]) -> N;
}

/// Passes on to the numerics.
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
        fn axpy(alpha: $scalar, x: &[$t], y: &mut [$t]) {
            <$t as HostLevel1>::axpy(x.len(), alpha, x, 1, y, 1);
        }
        fn scal(alpha: $scalar, x: &mut [$t]) {
            <$t as HostLevel1>::scal(x.len(), alpha, x, 1);
        }
        fn dot(conjugate: bool, x: &[$t], y: &[$t]) -> $t {
            let dot = if conjugate { <$t as HostLevel1>::dotc } else { <$t as HostLevel1>::dot };
            dot(x.len(), x, 1, y, 1)
        }
        fn nrm2(x: &[$t]) -> $norm {
            <$t as HostLevel1>::nrm2(x.len(), x, 1)
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

/// Two vectors of one length.
pub(super) fn same_length(x: usize, y: usize) -> crate::Result<()> {
    if x == y { Ok(()) } else { Err(crate::Error::invalid("x", format!("{x} elements, but y has {y}"))) }
}
