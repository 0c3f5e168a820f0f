//! The four element types, for the factorizations.

use super::faer::{General, Spectral};
use crate::numerics::Field;
use crate::numerics::gemm::Native;
use crate::numerics::level1::HostLevel1;
use num_complex::Complex64;

/// f32, f64 or their complex: products by [`Native`], scalars by [`Field`], vectors by [`HostLevel1`].
pub(crate) trait Number:
    Native<Real = <Self as Field>::Part>
    + Field
    + HostLevel1<Scalar = Self, Norm = <Self as Field>::Part>
    + std::ops::AddAssign
    + Spectral
{
    /// The type that spectra without symmetry are computed in.
    type Wide: Number + General;
    /// The distance from 1 to the next number.
    const EPSILON: f64;
    /// The least number whose inverse is finite.
    const LEAST: f64;
}

macro_rules! numbers { ($($t:ty, $real:ty, $wide:ty;)*) => { $(
    impl Number for $t {
        type Wide = $wide;
        const EPSILON: f64 = <$real>::EPSILON as f64;
        const LEAST: f64 = <$real>::MIN_POSITIVE as f64;
    }
)* } }
numbers! { f32, f32, f64; f64, f64, f64; num_complex::Complex<f32>, f32, Complex64; Complex64, f64, Complex64; }

/// The conjugate.
#[inline(always)]
pub(super) fn conj<T: Number>(x: T) -> T {
    Field::conj(x)
}

/// The real part in f64.
#[inline(always)]
pub(super) fn re<T: Number>(x: T) -> f64 {
    Field::re(x).into()
}

/// A number rounded from f64.
#[inline(always)]
pub(super) fn real<T: Number>(x: f64) -> T {
    T::rounded(Complex64::new(x, 0.0))
}

/// The modulus, in f64, without overflow of intermediate results.
#[inline(always)]
pub(super) fn modulus<T: Number>(x: T) -> f64 {
    let x = x.wide();
    x.re.hypot(x.im)
}

/// The Euclidean norm.
pub(super) fn norm<T: Number>(x: &[T]) -> f64 {
    T::nrm2(x.len(), x, 1).into()
}

/// Whether `x` is neither NaN nor infinite.
pub(super) fn is_finite<T: Number>(x: T) -> bool {
    let x = x.wide();
    x.re.is_finite() && x.im.is_finite()
}
