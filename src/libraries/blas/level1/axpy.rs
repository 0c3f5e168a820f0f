//! `y = alpha * x + y`.

use super::super::prelude::*;
#[cfg(feature = "cuda")]
use crate::libraries::blas::native::handle;

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Axpy<T: VectorElement> {
    alpha: T::Scalar,
    x: Strided,
    y: Strided,
}

impl<T: VectorElement> Routine for Axpy<T> {
    const NAME: &'static str = "axpy";
    const OPERANDS: OperandNames = (&["x", "alpha"], &["y"]);
    type Reads = (T, Option<T::Scalar>);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (x, alpha): &Spans<Self::Reads>, (y,): &Spans<(T,)>) -> Result<()> {
        check_scalar("alpha", alpha)?;
        self.x.check_n("x", x.len(), self.y.n, "the length of y")?;
        self.y.check("y", y.len())
    }

    fn cost(&self) -> Cost {
        let n = self.y.n as u64;
        Cost { flops: 2 * n, bytes: 3 * n * size_of::<T>() as u64 }
    }

    #[cfg(feature = "host")]
    fn host(&self, (x, alpha): (&[T], Option<&[T::Scalar]>), (y,): (&mut [T],)) -> Result<()> {
        T::Host::axpy(self.y.n, value(self.alpha, alpha), x, self.x.inc, y, self.y.inc);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let ((x, alpha), (y,), codes) = (*queue.reads(), *queue.writes(), T::CODES);
        let alpha = Scalar::new(self.alpha, &alpha);
        if self.y.n == 0 || alpha.is_zero() {
            return Ok(());
        }
        let blas = queue.blas(alpha.mode())?;
        // SAFETY: the handle is bound to this slot's leased stream; both vectors lie inside their buffers (checked),
        // which live until this work is done; a scalar in host memory is read before the call returns.
        let status = unsafe {
            blas.api.axpy_ex(
                blas.handle,
                self.y.len64(),
                alpha.pointer(),
                codes.scalar,
                x.address() as *const _,
                codes.element,
                self.x.inc64(),
                y.address() as *mut _,
                codes.element,
                self.y.inc64(),
                codes.compute,
            )
        };
        handle::blas_status(queue, "cublasAxpyEx_64", status)
    }
}

impl Blas {
    /// `y = alpha * x + y` (`cublasAxpyEx`). With `alpha == 0` (by value) x is not read.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the lengths differ or a vector does not lie inside
    /// its buffer; a stale or foreign buffer. `y` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.upload([1.0f64, 2.0])?.into_output();
    /// let y = device.blas().axpy(10.0, &x, device.upload([0.5, 0.5])?.into_output())?.await_result()?;
    /// let y = device.blas().axpy(1.0, x.strided(2, -1), y)?.await_result()?; // x backwards
    /// assert_eq!(device.download(&y)?.await_result()?, [12.5, 21.5]);
    /// # Ok(()) }
    /// ```
    pub fn axpy<'a, T: VectorElement>(
        &self,
        alpha: T::Scalar,
        x: impl ReadableVector<'a, T>,
        y: impl WritableVector<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let (x, y) = (x.into(), y.into());
        self.submit(Axpy::<T> { alpha, x: x.at, y: y.at }, (x.data, None), (y.data,))
    }

    /// As [`axpy`](Self::axpy), with `alpha` read from device memory, the first element, when the work runs.
    ///
    /// # Errors
    /// As [`axpy`](Self::axpy).
    pub fn axpy_at<'a, T: VectorElement>(
        &self,
        alpha: impl Readable<'a, T::Scalar>,
        x: impl ReadableVector<'a, T>,
        y: impl WritableVector<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let (x, y) = (x.into(), y.into());
        let axpy = Axpy::<T> { alpha: T::Scalar::default(), x: x.at, y: y.at };
        self.submit(axpy, (x.data, Some(alpha.into())), (y.data,))
    }
}
