//! The products of two vectors, both ways, added to a triangle: syr2, spr2, her2, hpr2.

use super::super::prelude::*;
use super::syr::Syr;
use super::triangle::{Store, Triangle};

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Update<T: BlasElement, const HERMITIAN: bool> {
    a: Triangle,
    alpha: T,
    x: Strided,
    y: Strided,
}

impl<T: BlasElement, const HERMITIAN: bool> Routine for Update<T, HERMITIAN> {
    const NAME: &'static str = if HERMITIAN { "her2" } else { "syr2" };
    const OPERANDS: OperandNames = (&["x", "y", "alpha"], &["a"]);
    type Reads = (T, T, Option<T>);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (x, y, alpha): &Spans<Self::Reads>, (a,): &Spans<(T,)>) -> Result<()> {
        check_scalar("alpha", alpha)?;
        self.x.check_n("x", x.len(), self.a.n, "n")?;
        self.y.check_n("y", y.len(), self.a.n, "n")?;
        self.a.check(a.len())
    }

    fn cost(&self) -> Cost {
        let elements = self.a.elements().saturating_mul(2);
        Cost { flops: elements.saturating_mul(2), bytes: elements.saturating_mul(size_of::<T>() as u64) }
    }

    #[cfg(feature = "host")]
    fn host(&self, (x, y, alpha): (&[T], &[T], Option<&[T]>), (a,): (&mut [T],)) -> Result<()> {
        let (stored, alpha) = (self.a.on_host(), value(self.alpha, alpha));
        numerics::level2::syr2(stored, HERMITIAN, alpha, x, self.x.on_host(), y, self.y.on_host(), a);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let (triangle, (x, y, alpha), (a,)) = (self.a, *queue.reads(), *queue.writes());
        let alpha = Scalar::new(self.alpha, &alpha);
        if triangle.n == 0 || alpha.is_zero() {
            return Ok(());
        }
        let (uplo, n, lda) = (triangle.uplo.code(), triangle.n as i64, triangle.lda as i64);
        let (x, y, a) = (x.address() as *const _, y.address() as *const _, a.address() as *mut _);
        let (incx, incy) = (self.x.inc64(), self.y.inc64());
        // SAFETY: the matrix and both vectors lie inside their buffers (checked), which live until this work is done; a
        // scalar in host memory is read before the call returns.
        queue.typed(alpha.mode(), |blas, handle| unsafe {
            let (t, h, alpha) = (T::LETTER, handle, alpha.pointer());
            match (triangle.store, HERMITIAN) {
                (Store::Packed, false) => blas.spr2(t, h, uplo, n, alpha, x, incx, y, incy, a),
                (Store::Packed, true) => blas.hpr2(t, h, uplo, n, alpha, x, incx, y, incy, a),
                (_, false) => blas.syr2(t, h, uplo, n, alpha, x, incx, y, incy, a, lda),
                (_, true) => blas.her2(t, h, uplo, n, alpha, x, incx, y, incy, a, lda),
            }
        })
    }
}

impl Blas {
    /// `A = alpha * x * y^T + alpha * y * x^T + A` on a triangle (`cublas<t>syr2`, `spr2`); see [`Syr`]. x and y are `[n]`.
    ///
    /// # Errors
    /// As [`syr`](Self::syr).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Uplo, blas::Syr};
    /// let device = Device::host()?;
    /// let (x, y) = (device.tensor([2], [1.0f64, 2.0])?, device.tensor([2], [1.0, 10.0])?);
    /// let a = device.blas().syr2(Syr::packed(Uplo::Upper), &x, &y, device.zeros([3])?)?;
    /// assert_eq!(device.to_vec(&a)?, [2.0, 12.0, 40.0]);
    /// # Ok(()) }
    /// ```
    #[doc(alias = "spr2")]
    pub fn syr2<'a, 'b, T: BlasElement>(
        &self,
        spec: Syr<'_, T>,
        x: impl ReadableTensor<'a, T>,
        y: impl ReadableTensor<'b, T>,
        a: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        self.syr2_of::<T, false>(&spec, &x.into(), &y.into(), a.into())
    }

    /// `A = alpha * x * y^H + conj(alpha) * y * x^H + A` on a triangle (`cublas<t>her2`, `hpr2`); see [`Syr`]. x and y are
    /// `[n]`. The imaginary parts of the diagonal are taken as zero and become zero.
    ///
    /// # Errors
    /// As [`her`](Self::her).
    #[doc(alias = "hpr2")]
    pub fn her2<'a, 'b, T: ComplexElement>(
        &self,
        spec: Syr<'_, T>,
        x: impl ReadableTensor<'a, T>,
        y: impl ReadableTensor<'b, T>,
        a: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        self.syr2_of::<T, true>(&spec, &x.into(), &y.into(), a.into())
    }

    fn syr2_of<T: BlasElement, const HERMITIAN: bool>(
        &self,
        spec: &Syr<'_, T>,
        x: &TensorRef<'_, T>,
        y: &TensorRef<'_, T>,
        a: Part<T>,
    ) -> Submitted<Tensor<T>> {
        let made = || {
            let (of_a, of_x, of_y) = (a.layout(), x.layout(), y.layout());
            let (alpha, alpha_at) = spec.alpha.one("alpha")?;
            let triangle = spec.a.symmetric(of_a, of_x.len(), HERMITIAN)?;
            let x_at = Strided::vector("x", of_x)?.beside("x", of_x, triangle.n, of_a)?;
            let y_at = Strided::vector("y", of_y)?.beside("y", of_y, triangle.n, of_a)?;
            Ok((Update { a: triangle, alpha, x: x_at, y: y_at }, (x.window()?, y.window()?, alpha_at)))
        };
        self.writes::<T, Update<T, HERMITIAN>>(made(), a)
    }
}
