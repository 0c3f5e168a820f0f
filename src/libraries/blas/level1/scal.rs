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
        T::Host::scal(self.x.n, value(self.alpha, alpha), x, self.x.ascending().inc);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let ((alpha,), (x,), codes, at) = (*queue.reads(), *queue.writes(), T::CODES, self.x.ascending());
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
    /// `x = alpha * x` (`cublasScalEx`). A NaN stays a NaN, also for `alpha == 0`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when `x` is no [vector](crate::blas#conventions); a stale or foreign buffer. It comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.tensor([2, 2], [1.0f32, 2.0, 3.0, 4.0])?;
    /// let x = device.blas().scal(2.0, x.part(|all| all.index(1, 0))?)?; // a column
    /// assert_eq!(device.to_vec(&x)?, [2.0, 2.0, 6.0, 4.0]);
    /// # Ok(()) }
    /// ```
    pub fn scal<'a, T: VectorElement>(
        &self,
        alpha: impl Into<Numbers<'a, T::Scalar>>,
        x: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        let (alpha, x) = (alpha.into(), x.into());
        let made = Strided::of([("x", x.layout())]).and_then(|[of_x]| {
            let (alpha, at) = alpha.one("alpha")?;
            Ok((Scal::<T> { alpha, x: of_x }, (at,)))
        });
        self.writes(made, x)
    }

    /// `x = alpha * x` for a real `alpha` (`cublas<t>scal`, `csscal`, `zdscal`): it multiplies both parts of a complex
    /// number, so that no infinity is multiplied by a zero. (cuBLAS 13.1 multiplies as if `alpha` were complex: an
    /// infinity may turn the other part into a NaN there.)
    ///
    /// # Errors
    /// As [`scal`](Self::scal).
    #[doc(alias = "csscal")]
    #[doc(alias = "zdscal")]
    pub fn scal_real<'a, T: BlasElement>(
        &self,
        alpha: impl Into<Numbers<'a, T::Real>>,
        x: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        let (alpha, x) = (alpha.into(), x.into());
        let made = Strided::of([("x", x.layout())]).and_then(|[of_x]| {
            let (alpha, at) = alpha.one("alpha")?;
            Ok((ScalReal::<T> { alpha, x: of_x }, (at,)))
        });
        self.writes(made, x)
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
        T::scal_real(self.x.n, value(self.alpha, alpha), x, self.x.ascending().inc);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let ((alpha,), (x,), at) = (*queue.reads(), *queue.writes(), self.x.ascending());
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
