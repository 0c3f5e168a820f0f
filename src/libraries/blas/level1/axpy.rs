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
    /// [`Error::InvalidArgument`] when the shapes differ or an operand is no [vector](crate::blas#conventions); a stale or foreign
    /// buffer. `y` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let (x, y) = (device.tensor([2], [1.0f64, 2.0])?, device.tensor([2], [0.5, 0.5])?);
    /// let y = device.blas().axpy(10.0, &x, y)?;
    /// let y = device.blas().axpy(1.0, x.flip(0)?, y)?; // x backwards
    /// assert_eq!(device.to_vec(&y)?, [12.5, 21.5]);
    /// # Ok(()) }
    /// ```
    pub fn axpy<'a, 'b, T: VectorElement>(
        &self,
        alpha: impl Into<Numbers<'a, T::Scalar>>,
        x: impl ReadableTensor<'b, T>,
        y: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        let (alpha, x, y) = (alpha.into(), x.into(), y.into());
        let made = x.operand().and_then(|(x, of_x)| {
            let [of_x, of_y] = Strided::of([("x", &of_x), ("y", y.layout())])?;
            let (alpha, at) = alpha.one("alpha")?;
            Ok((Axpy::<T> { alpha, x: of_x, y: of_y }, (x, at)))
        });
        self.writes(made, y)
    }
}
