//! `x = alpha * x`.

use super::super::prelude::*;
#[cfg(feature = "cuda")]
use crate::libraries::blas::native::handle;

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Scal<T: VectorElement> {
    alpha: T::Scalar,
    x: Strided,
}

impl<T: VectorElement> Routine for Scal<T> {
    const NAME: &'static str = "scal";
    const OPERANDS: OperandNames = (&["alpha"], &["x"]);
    type Reads = (Option<T::Scalar>,);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (alpha,): &Spans<Self::Reads>, (x,): &Spans<(T,)>) -> Result<()> {
        check_scalar("alpha", alpha)?;
        self.x.check("x", x.len())
    }

    fn cost(&self) -> Cost {
        let n = self.x.n as u64;
        Cost { flops: n, bytes: 2 * n * size_of::<T>() as u64 }
    }

    #[cfg(feature = "host")]
    fn host(&self, (alpha,): (Option<&[T::Scalar]>,), (x,): (&mut [T],)) -> Result<()> {
        T::Host::scal(self.x.forwards().n, value(self.alpha, alpha), x, self.x.inc);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let ((alpha,), (x,), codes, at) = (*queue.reads(), *queue.writes(), T::CODES, self.x.forwards());
        if at.n == 0 {
            return Ok(());
        }
        let alpha = Scalar::new(self.alpha, &alpha);
        let blas = queue.blas(alpha.mode())?;
        // SAFETY: the handle is bound to this slot's leased stream; the vector lies inside its buffer (checked), which
        // lives until this work is done; a scalar in host memory is read before the call returns.
        let status = unsafe {
            blas.api.scal_ex(
                blas.handle,
                at.len64(),
                alpha.pointer(),
                codes.scalar,
                x.address() as *mut _,
                codes.element,
                at.inc64(),
                codes.compute,
            )
        };
        handle::blas_status(queue, "cublasScalEx_64", status)
    }
}

impl Blas {
    /// `x = alpha * x` (`cublasScalEx`). A NaN stays a NaN, also for `alpha == 0`. A vector that runs backwards is
    /// treated as empty, as in BLAS.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the vector does not lie inside its buffer; a stale
    /// or foreign buffer. It comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.upload([1.0f32, 2.0, 3.0])?.into_output();
    /// let x = device.blas().scal(2.0, x.into_strided(2, 2))?.await_result()?;
    /// assert_eq!(device.download(&x)?.await_result()?, [2.0, 2.0, 6.0]);
    /// # Ok(()) }
    /// ```
    pub fn scal<T: VectorElement>(&self, alpha: T::Scalar, x: impl WritableVector<T>) -> Submitted<DeviceBuffer<T>> {
        let x = x.into();
        self.submit(Scal::<T> { alpha, x: x.at }, (None,), (x.data,))
    }

    /// As [`scal`](Self::scal), with `alpha` read from device memory, the first element, when the work runs.
    ///
    /// # Errors
    /// As [`scal`](Self::scal).
    pub fn scal_at<'a, T: VectorElement>(
        &self,
        alpha: impl Readable<'a, T::Scalar>,
        x: impl WritableVector<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let x = x.into();
        self.submit(Scal::<T> { alpha: T::Scalar::default(), x: x.at }, (Some(alpha.into()),), (x.data,))
    }

    /// `x = alpha * x` for a real `alpha` (`cublas<t>scal`, `csscal`, `zdscal`): it multiplies both parts of a complex
    /// number, so that no infinity is multiplied by a zero. (cuBLAS 13.1 multiplies as if `alpha` were complex: an
    /// infinity may turn the other part into a NaN there.)
    ///
    /// # Errors
    /// As [`scal`](Self::scal).
    #[doc(alias = "csscal")]
    #[doc(alias = "zdscal")]
    pub fn scal_real<T: BlasElement>(&self, alpha: T::Real, x: impl WritableVector<T>) -> Submitted<DeviceBuffer<T>> {
        let x = x.into();
        self.submit(ScalReal::<T> { alpha, x: x.at }, (None,), (x.data,))
    }

    /// As [`scal_real`](Self::scal_real), with `alpha` read from device memory, the first element, when the work runs.
    ///
    /// # Errors
    /// As [`scal`](Self::scal).
    pub fn scal_real_at<'a, T: BlasElement>(
        &self,
        alpha: impl Readable<'a, T::Real>,
        x: impl WritableVector<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let x = x.into();
        self.submit(ScalReal::<T> { alpha: T::Real::default(), x: x.at }, (Some(alpha.into()),), (x.data,))
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct ScalReal<T: BlasElement> {
    alpha: T::Real,
    x: Strided,
}

impl<T: BlasElement> Routine for ScalReal<T> {
    const NAME: &'static str = "scal_real";
    const OPERANDS: OperandNames = (&["alpha"], &["x"]);
    type Reads = (Option<T::Real>,);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (alpha,): &Spans<Self::Reads>, (x,): &Spans<(T,)>) -> Result<()> {
        check_scalar("alpha", alpha)?;
        self.x.check("x", x.len())
    }

    fn cost(&self) -> Cost {
        let n = self.x.n as u64;
        Cost { flops: n, bytes: 2 * n * size_of::<T>() as u64 }
    }

    #[cfg(feature = "host")]
    fn host(&self, (alpha,): (Option<&[T::Real]>,), (x,): (&mut [T],)) -> Result<()> {
        T::scal_real(self.x.forwards().n, value(self.alpha, alpha), x, self.x.inc);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let ((alpha,), (x,), at) = (*queue.reads(), *queue.writes(), self.x.forwards());
        if at.n == 0 {
            return Ok(());
        }
        let alpha = Scalar::new(self.alpha, &alpha);
        // SAFETY: the vector lies inside its buffer (checked), which lives until this work is done, and so does a scalar on
        // the device; one in host memory is read before the call returns.
        queue.typed(alpha.mode(), |blas, handle| unsafe {
            blas.scal_real(T::LETTER, handle, at.len64(), alpha.pointer(), x.address() as *mut _, at.inc64())
        })
    }
}
