//! The products of two vectors, both ways, added to a triangle: syr2, spr2, her2, hpr2.

use super::super::prelude::*;
use super::triangle::{Store, Triangle, row_major_triangle, triangle_spec};

/// `A = alpha * x * y^T + alpha * y * x^T + A` with a symmetric matrix, or by [`Blas::her2`]
/// `alpha * x * y^H + conj(alpha) * y * x^H + A` with a Hermitian one, of which one triangle is stored: in a full matrix,
/// or packed.
///
/// Unless set: A is column-major, `lda` leaves no gaps, `alpha` is 1. With `alpha == 0` nothing is read or written.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
#[must_use]
pub struct Syr2<T: BlasElement> {
    a: Triangle,
    alpha: T,
}

triangle_spec!(Syr2<T: BlasElement>, alpha: T::ONE);
row_major_triangle!(Syr2<T: BlasElement>,
    ///
    /// [`Blas::her2`] then fails with [`Error::Unsupported`]: the transpose of a Hermitian matrix is its conjugate, and
    /// BLAS has no routine for that.
);
scalars!(Syr2<T: BlasElement>, alpha: T);

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Update<T: BlasElement, const HERMITIAN: bool> {
    spec: Syr2<T>,
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
        self.x.check_n("x", x.len(), self.spec.a.n, "n")?;
        self.y.check_n("y", y.len(), self.spec.a.n, "n")?;
        self.spec.a.check(a.len())
    }

    fn cost(&self) -> Cost {
        let elements = self.spec.a.elements().saturating_mul(2);
        Cost { flops: elements.saturating_mul(2), bytes: elements.saturating_mul(size_of::<T>() as u64) }
    }

    #[cfg(feature = "host")]
    fn host(&self, (x, y, alpha): (&[T], &[T], Option<&[T]>), (a,): (&mut [T],)) -> Result<()> {
        let (stored, alpha) = (self.spec.a.on_host(), value(self.spec.alpha, alpha));
        numerics::level2::syr2(stored, HERMITIAN, alpha, x, self.x.on_host(), y, self.y.on_host(), a);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let (spec, (x, y, alpha), (a,)) = (&self.spec, *queue.reads(), *queue.writes());
        let alpha = Scalar::new(spec.alpha, &alpha);
        if spec.a.n == 0 || alpha.is_zero() {
            return Ok(());
        }
        let (uplo, n, lda) = (spec.a.uplo.code(), spec.a.n as i64, spec.a.lda() as i64);
        let (x, y, a) = (x.address() as *const _, y.address() as *const _, a.address() as *mut _);
        let (incx, incy) = (self.x.inc64(), self.y.inc64());
        // SAFETY: the matrix and both vectors lie inside their buffers (checked), which live until this work is done; a
        // scalar in host memory is read before the call returns.
        queue.typed(alpha.mode(), |blas, handle| unsafe {
            let (t, h, alpha) = (T::LETTER, handle, alpha.pointer());
            match (spec.a.store, HERMITIAN) {
                (Store::Packed, false) => blas.spr2(t, h, uplo, n, alpha, x, incx, y, incy, a),
                (Store::Packed, true) => blas.hpr2(t, h, uplo, n, alpha, x, incx, y, incy, a),
                (_, false) => blas.syr2(t, h, uplo, n, alpha, x, incx, y, incy, a, lda),
                (_, true) => blas.her2(t, h, uplo, n, alpha, x, incx, y, incy, a, lda),
            }
        })
    }
}

impl Blas {
    /// `A = alpha * x * y^T + alpha * y * x^T + A` on a triangle (`cublas<t>syr2`, `spr2`); see [`Syr2`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when `lda` is too small, the matrix or a vector does not lie inside its buffer, or a
    /// vector has another length than the matrix; on a GPU [`Error::Unsupported`] for complex matrices that are packed,
    /// for which BLAS has no routine; a stale or foreign buffer. `a` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Uplo, blas::Syr2};
    /// let device = Device::host()?;
    /// let (x, y) = (device.upload([1.0f64, 2.0])?.into_output(), device.upload([1.0, 10.0])?.into_output());
    /// let a = device.blas().syr2(Syr2::packed(2, Uplo::Upper), &x, &y, device.zeros(3)?)?.await_result()?;
    /// assert_eq!(device.download(&a)?.await_result()?, [2.0, 12.0, 40.0]);
    /// # Ok(()) }
    /// ```
    #[doc(alias = "spr2")]
    pub fn syr2<'a, T: BlasElement>(
        &self,
        spec: impl Into<Scaled<'a, Syr2<T>>>,
        x: impl ReadableVector<'a, T>,
        y: impl ReadableVector<'a, T>,
        a: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        self.syr2_of::<T, false>(spec.into(), x.into(), y.into(), a)
    }

    /// `A = alpha * x * y^H + conj(alpha) * y * x^H + A` on a triangle (`cublas<t>her2`, `hpr2`); see [`Syr2`]. The
    /// imaginary parts of the diagonal are taken as zero and become zero.
    ///
    /// # Errors
    /// As [`syr2`](Self::syr2).
    #[doc(alias = "hpr2")]
    pub fn her2<'a, T: ComplexElement>(
        &self,
        spec: impl Into<Scaled<'a, Syr2<T>>>,
        x: impl ReadableVector<'a, T>,
        y: impl ReadableVector<'a, T>,
        a: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        self.syr2_of::<T, true>(spec.into(), x.into(), y.into(), a)
    }

    fn syr2_of<T: BlasElement, const HERMITIAN: bool>(
        &self,
        Scaled { spec, alpha, .. }: Scaled<'_, Syr2<T>>,
        x: Vector<'_, T>,
        y: Vector<'_, T>,
        a: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let spec = if HERMITIAN { spec } else { Syr2 { a: spec.a.column_major(), ..spec } };
        self.submit(Update::<T, HERMITIAN> { spec, x: x.at, y: y.at }, (x.data, y.data, alpha), (a,))
    }
}
