//! Products of a symmetric or Hermitian matrix with a vector: symv, sbmv, spmv, hemv, hbmv, hpmv.

use super::super::prelude::*;
use super::triangle::{Store, Triangle, row_major_triangle, triangle_spec};

/// `y = alpha * A * x + beta * y` with a symmetric matrix, or by [`Blas::hemv`] with a Hermitian one, of which one
/// triangle is stored: in a full matrix, by bands, or packed.
///
/// Unless set: A is column-major, `lda` leaves no gaps, `alpha` is 1 and `beta` 0.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
#[must_use]
pub struct Symv<T: BlasElement> {
    a: Triangle,
    alpha: T,
    beta: T,
}

triangle_spec!(Symv<T: BlasElement>, alpha: T::ONE, beta: T::default(); banded);
row_major_triangle!(Symv<T: BlasElement>,
    ///
    /// [`Blas::hemv`] then fails with [`Error::Unsupported`]: the transpose of a Hermitian matrix is its conjugate, and
    /// BLAS has no routine for that.
);
scalars!(Symv<T: BlasElement>, alpha: T, beta: T);

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Product<T: BlasElement, const HERMITIAN: bool> {
    spec: Symv<T>,
    x: Strided,
    y: Strided,
    scalars_at: bool,
}

impl<T: BlasElement, const HERMITIAN: bool> Routine for Product<T, HERMITIAN> {
    const NAME: &'static str = if HERMITIAN { "hemv" } else { "symv" };
    const OPERANDS: OperandNames = (&["a", "x", "alpha", "beta"], &["y"]);
    type Reads = (T, T, Option<T>, Option<T>);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (a, x, alpha, beta): &Spans<Self::Reads>, (y,): &Spans<(T,)>) -> Result<()> {
        check_scalar("alpha", alpha)?;
        check_scalar("beta", beta)?;
        self.spec.a.check(a.len())?;
        self.x.check_n("x", x.len(), self.spec.a.n, "n")?;
        self.y.check_n("y", y.len(), self.spec.a.n, "n")
    }

    fn overwrites(&self, (y,): &Spans<(T,)>) -> bool {
        !self.scalars_at && self.spec.beta == T::default() && self.y.fills(y.len())
    }

    fn cost(&self) -> Cost {
        let elements = self.spec.a.elements();
        Cost { flops: elements.saturating_mul(4), bytes: elements.saturating_mul(size_of::<T>() as u64) }
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, x, alpha, beta): (&[T], &[T], Option<&[T]>, Option<&[T]>), (y,): (&mut [T],)) -> Result<()> {
        let (alpha, beta) = (value(self.spec.alpha, alpha), value(self.spec.beta, beta));
        let (stored, x_at, y_at) = (self.spec.a.on_host(), self.x.on_host(), self.y.on_host());
        numerics::level2::symv(stored, HERMITIAN, alpha, a, x, x_at, beta, y, y_at);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let (spec, (a, x, alpha, beta), (y,)) = (&self.spec, *queue.reads(), *queue.writes());
        let (alpha, beta) = (Scalar::new(spec.alpha, &alpha), Scalar::new(spec.beta, &beta));
        if spec.a.n == 0 {
            return Ok(());
        }
        if alpha.is_zero() {
            return queue.scale(y, self.y, &beta);
        }
        let (uplo, n, lda) = (spec.a.uplo.code(), spec.a.n as i64, spec.a.lda() as i64);
        let (a, x, y) = (a.address() as *const _, x.address() as *const _, y.address() as *mut _);
        let (incx, incy) = (self.x.inc64(), self.y.inc64());
        // SAFETY: the matrix and both vectors lie inside their buffers (checked), which live until this work is done;
        // scalars in host memory are read before the call returns.
        queue.typed(alpha.mode(), |blas, handle| unsafe {
            let (t, h, alpha, beta) = (T::LETTER, handle, alpha.pointer(), beta.pointer());
            match (spec.a.store, HERMITIAN) {
                (Store::Full, false) => blas.symv(t, h, uplo, n, alpha, a, lda, x, incx, beta, y, incy),
                (Store::Full, true) => blas.hemv(t, h, uplo, n, alpha, a, lda, x, incx, beta, y, incy),
                (Store::Band(k), false) => blas.sbmv(t, h, uplo, n, k as i64, alpha, a, lda, x, incx, beta, y, incy),
                (Store::Band(k), true) => blas.hbmv(t, h, uplo, n, k as i64, alpha, a, lda, x, incx, beta, y, incy),
                (Store::Packed, false) => blas.spmv(t, h, uplo, n, alpha, a, x, incx, beta, y, incy),
                (Store::Packed, true) => blas.hpmv(t, h, uplo, n, alpha, a, x, incx, beta, y, incy),
            }
        })
    }
}

impl Blas {
    /// `y = alpha * A * x + beta * y` with a symmetric matrix (`cublas<t>symv`, `sbmv`, `spmv`); see [`Symv`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when `lda` is too small, the matrix or a vector does not lie inside its buffer, or a
    /// vector has another length than the matrix; on a GPU [`Error::Unsupported`] for complex matrices that are banded or
    /// packed, for which BLAS has no routine; a stale or foreign buffer. `y` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Uplo, blas::Symv};
    /// let device = Device::host()?;
    /// let a = device.upload([1.0f64, 2.0, 3.0])?.into_output(); // rows (1, 2) and (2, 3)
    /// let x = device.upload([1.0, 10.0])?.into_output();
    /// let spec = Symv::packed(2, Uplo::Upper);
    /// let y = device.blas().symv(spec, &a, &x, device.uninit(2)?)?.await_result()?;
    /// assert_eq!(device.download(&y)?.await_result()?, [21.0, 32.0]);
    /// # Ok(()) }
    /// ```
    #[doc(alias = "sbmv")]
    #[doc(alias = "spmv")]
    pub fn symv<'a, T: BlasElement>(
        &self,
        spec: impl Into<Scaled<'a, Symv<T>>>,
        a: impl Readable<'a, T>,
        x: impl ReadableVector<'a, T>,
        y: impl WritableVector<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        self.symv_of::<T, false>(spec.into(), a.into(), x.into(), y.into())
    }

    /// `y = alpha * A * x + beta * y` with a Hermitian matrix (`cublas<t>hemv`, `hbmv`, `hpmv`); see [`Symv`]. The
    /// imaginary parts of the diagonal are taken as zero.
    ///
    /// # Errors
    /// As [`symv`](Self::symv).
    #[doc(alias = "hbmv")]
    #[doc(alias = "hpmv")]
    pub fn hemv<'a, T: ComplexElement>(
        &self,
        spec: impl Into<Scaled<'a, Symv<T>>>,
        a: impl Readable<'a, T>,
        x: impl ReadableVector<'a, T>,
        y: impl WritableVector<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        self.symv_of::<T, true>(spec.into(), a.into(), x.into(), y.into())
    }

    fn symv_of<T: BlasElement, const HERMITIAN: bool>(
        &self,
        Scaled { spec, alpha, beta }: Scaled<'_, Symv<T>>,
        a: In<'_, T>,
        x: Vector<'_, T>,
        y: VectorMut<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let spec = if HERMITIAN { spec } else { Symv { a: spec.a.column_major(), ..spec } };
        let product = Product::<T, HERMITIAN> { spec, x: x.at, y: y.at, scalars_at: beta.is_some() };
        self.submit(product, (a, x.data, alpha, beta), (y.data,))
    }
}
