//! `x = alpha * x`.

use super::Blas;
#[cfg(feature = "blas")]
use super::scalar::Aligned;
#[cfg(feature = "host")]
use super::vector::HostVector;
use super::vector::VectorElement;
use crate::op::{Cost, Op, Slices, SlicesMut, Spans};
use crate::{DeviceBuffer, Enqueue, Result, Submitted, Wire};

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "T: VectorElement")]
pub(super) struct Scal<T: VectorElement> {
    n: usize,
    alpha: T::Scalar,
}

impl<T: VectorElement> Op for Scal<T> {
    const NAME: &'static str = "scal";
    const LIBRARY: &'static str = "blas";
    type Reads = ();
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (): &Spans<()>, _: &Spans<(T,)>) -> Result<()> {
        Ok(())
    }

    fn cost(&self) -> Cost {
        let n = self.n as u64;
        Cost { flops: n, bytes: 2 * n * size_of::<T>() as u64 }
    }

    fn host(&self, (): Slices<'_, Self>, (x,): SlicesMut<'_, Self>) -> Result<()> {
        #[cfg(feature = "host")]
        T::Host::scal(self.alpha, x);
        #[cfg(not(feature = "host"))]
        let _ = x;
        Ok(())
    }

    #[cfg(feature = "blas")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        if self.n == 0 {
            return Ok(());
        }
        let ((x,), codes) = (*queue.writes(), T::CODES);
        let blas = queue.blas(crate::cuda::PointerMode::Host)?;
        let alpha = Aligned(self.alpha);
        // SAFETY: the handle is bound to this slot's leased stream; the vector has `n` elements and lives until this
        // work is done; the scalar is read before the call returns.
        let status = unsafe {
            blas.api.scal_ex(
                blas.handle,
                self.n as i64,
                alpha.pointer(),
                codes.scalar,
                x.address() as *mut _,
                codes.element,
                1,
                codes.compute,
            )
        };
        queue.blas_status("cublasScalEx_64", status)
    }

    #[cfg(not(feature = "blas"))]
    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Err(crate::Error::unsupported("this build has no cuBLAS front (feature `blas`)"))
    }

    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

impl Blas {
    /// `x = alpha * x` (`cublasScalEx`). A NaN stays one, also for `alpha == 0`.
    ///
    /// # Errors
    /// A stale or foreign buffer; it comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.blas().scal(2.0, device.upload([1.0f32, 2.0])?.into_output())?.await_result()?;
    /// assert_eq!(device.download(&x)?.await_result()?, [2.0, 4.0]);
    /// # Ok(()) }
    /// ```
    pub fn scal<T: VectorElement>(&self, alpha: T::Scalar, x: DeviceBuffer<T>) -> Submitted<DeviceBuffer<T>> {
        self.device.dispatch(Scal { n: x.len(), alpha }, (), (x,))
    }
}
