//! The element types.

use crate::libraries::blas::BlasElement;
use num_complex::Complex;

/// What the host engine needs of an element: nothing in this build.
#[cfg(not(feature = "host"))]
#[doc(hidden)]
pub trait HostSolver<R> {}
#[cfg(not(feature = "host"))]
impl<T: BlasElement> HostSolver<T::Real> for T {}
#[cfg(feature = "host")]
#[doc(hidden)]
pub use super::host::HostSolver;

/// An element type of every factorization: f32, f64, `Complex<f32>`, `Complex<f64>`. Sealed, as [`Element`](crate::Element)
/// is.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no element type of factorizations",
    label = "expected f32, f64, Complex<f32> or Complex<f64>"
)]
pub trait SolverElement: BlasElement + HostSolver<<Self as BlasElement>::Real> {
    /// The complex type of the same precision.
    type Complex: SolverElement;
    #[doc(hidden)]
    fn parts(x: &mut [Self::Complex]) -> &mut [Complex<Self::Real>];
}

macro_rules! elements { ($($t:ty, $real:ty;)*) => { $(
    impl SolverElement for $t {
        type Complex = Complex<$real>;
        fn parts(x: &mut [Complex<$real>]) -> &mut [Complex<$real>] {
            x
        }
    }
)* } }
elements! { f32, f32; f64, f64; Complex<f32>, f32; Complex<f64>, f64; }
