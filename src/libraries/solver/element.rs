//! The element types.

#[cfg(feature = "expressions")]
use crate::core::error::Result;
#[cfg(feature = "expressions")]
use crate::device::Device;
#[cfg(feature = "expressions")]
use crate::device::tensor::TensorRef;
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
    /// The largest sum of a column's magnitudes in each matrix.
    #[doc(hidden)]
    #[cfg(feature = "expressions")]
    fn largest_columns(device: &Device, x: &TensorRef<'_, Self>) -> Result<Vec<f64>>;
}

/// A number of the real type.
#[cfg(feature = "expressions")]
pub(super) fn real<R: BlasElement>(x: f64) -> R {
    match size_of::<R>() {
        4 => bytemuck::cast(x as f32),
        _ => bytemuck::cast(x),
    }
}

macro_rules! elements { ($($t:ty, $real:ty;)*) => { $(
    impl SolverElement for $t {
        type Complex = Complex<$real>;
        fn parts(x: &mut [Complex<$real>]) -> &mut [Complex<$real>] {
            x
        }
        #[cfg(feature = "expressions")]
        fn largest_columns(device: &Device, x: &TensorRef<'_, Self>) -> Result<Vec<f64>> {
            let columns = device.norm1(x, -2)?;
            let largest = device.to_vec(&device.max(&columns, -1)?)?;
            Ok(largest.into_iter().map(f64::from).collect())
        }
    }
)* } }
elements! { f32, f32; f64, f64; Complex<f32>, f32; Complex<f64>, f64; }
