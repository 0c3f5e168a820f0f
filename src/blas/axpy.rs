//! `y = alpha * x + y`.

use super::Blas;
#[cfg(feature = "blas")]
use super::scalar::Aligned;
#[cfg(feature = "host")]
use super::vector::HostVector;
use super::vector::{VectorElement, same_length};
use crate::op::{Cost, Op, Slices, SlicesMut, Spans};
use crate::{DeviceBuffer, Enqueue, In, Result, Submitted, Wire};

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "T: VectorElement")]
pub(super) struct Axpy<T: VectorElement> {
    n: usize,
    alpha: T::Scalar,
}

impl<T: VectorElement> Op for Axpy<T> {
    const NAME: &'static str = "axpy";
    const LIBRARY: &'static str = "blas";
    type Reads = (T,);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (x,): &Spans<(T,)>, (y,): &Spans<(T,)>) -> Result<()> {
        same_length(x.len(), y.len())
    }

    fn cost(&self) -> Cost {
        let n = self.n as u64;
        Cost { flops: 2 * n, bytes: 3 * n * size_of::<T>() as u64 }
    }

    fn host(&self, (x,): Slices<'_, Self>, (y,): SlicesMut<'_, Self>) -> Result<()> {
        #[cfg(feature = "host")]
        T::Host::axpy(self.alpha, x, y);
        #[cfg(not(feature = "host"))]
        let _ = (x, y);
        Ok(())
    }

    #[cfg(feature = "blas")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        if self.n == 0 {
            return Ok(());
        }
        let ((x,), (y,), codes) = (*queue.reads(), *queue.writes(), T::CODES);
        let blas = queue.blas(crate::cuda::PointerMode::Host)?;
        let alpha = Aligned(self.alpha);
        // SAFETY: the handle is bound to this slot's leased stream; both vectors have `n` elements (checked) and live
        // until this work is done; the scalar is read before the call returns.
        let status = unsafe {
            blas.api.axpy_ex(
                blas.handle,
                self.n as i64,
                alpha.pointer(),
                codes.scalar,
                x.address() as *const _,
                codes.element,
                1,
                y.address() as *mut _,
                codes.element,
                1,
                codes.compute,
            )
        };
        queue.blas_status("cublasAxpyEx_64", status)
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
    /// `y = alpha * x + y` (`cublasAxpyEx`).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) when the lengths differ; a stale or foreign buffer.
    /// `y` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.upload([1.0f64, 2.0])?.into_output();
    /// let y = device.blas().axpy(10.0, &x, device.upload([0.5, 0.5])?.into_output())?.await_result()?;
    /// assert_eq!(device.download(&y)?.await_result()?, [10.5, 20.5]);
    /// # Ok(()) }
    /// ```
    pub fn axpy<'a, T: VectorElement>(
        &self,
        alpha: T::Scalar,
        x: impl Into<In<'a, T>>,
        y: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let x = x.into();
        self.device.dispatch(Axpy { n: x.len(), alpha }, (x,), (y,))
    }
}
