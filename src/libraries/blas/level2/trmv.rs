//! Products and systems of a triangular matrix and a vector: trmv, tbmv, tpmv, trsv, tbsv, tpsv.

use super::super::prelude::*;
use super::triangle::{Store, Triangle, row_major_triangle, triangle_spec};

/// `x = op(A) * x`, or by [`Blas::trsv`] `x = op(A)^-1 * x`, with a triangular matrix in a full one, by bands, or packed.
///
/// Unless set: A is column-major, nothing is transposed, the diagonal is as stored, `lda` leaves no gaps.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
#[must_use]
pub struct Trmv<T: BlasElement> {
    a: Triangle,
    trans: Transpose,
    diag: Diag,
    _type: PhantomData<T>,
}

triangle_spec!(Trmv<T: BlasElement>, trans: Transpose::No, diag: Diag::NonUnit, _type: PhantomData; banded);

row_major_triangle!(Trmv<T: BlasElement>,
    ///
    /// With [`Transpose::Conjugate`] of complex types it fails with [`Error::Unsupported`]: BLAS has no product with a
    /// conjugate that is not transposed too.
);

impl<T: BlasElement> Trmv<T> {
    /// The equivalent problem with a column-major matrix. If there is none, it stays row-major, and the check refuses
    /// it.
    fn column_major(self) -> Self {
        match self.trans.of_transpose::<T>() {
            Some(trans) if self.a.row_major => Trmv { a: self.a.column_major(), trans, ..self },
            _ => self,
        }
    }
}

setters!(Trmv<T: BlasElement> {
    /// What is done to A before it is used.
    trans: Transpose;
    /// The kind of diagonal.
    diag: Diag;
});

/// A product, or a system to be solved.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Triangular<T: BlasElement, const SOLVE: bool> {
    spec: Trmv<T>,
    x: Strided,
}

impl<T: BlasElement, const SOLVE: bool> Routine for Triangular<T, SOLVE> {
    const NAME: &'static str = if SOLVE { "trsv" } else { "trmv" };
    const OPERANDS: OperandNames = (&["a"], &["x"]);
    type Reads = (T,);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (a,): &Spans<(T,)>, (x,): &Spans<(T,)>) -> Result<()> {
        self.spec.a.check(a.len())?;
        self.x.check_n("x", x.len(), self.spec.a.n, "n")
    }

    fn cost(&self) -> Cost {
        let elements = self.spec.a.elements();
        Cost { flops: elements.saturating_mul(2), bytes: elements.saturating_mul(size_of::<T>() as u64) }
    }

    #[cfg(feature = "host")]
    fn host(&self, (a,): (&[T],), (x,): (&mut [T],)) -> Result<()> {
        let routine = if SOLVE { numerics::level2::trsv } else { numerics::level2::trmv };
        let (spec, unit) = (&self.spec, self.spec.diag == Diag::Unit);
        routine(spec.a.on_host(), spec.trans.on_host(), unit, a, x, self.x.on_host());
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let (Trmv { a: triangle, trans, diag, .. }, (a,), (x,)) = (&self.spec, *queue.reads(), *queue.writes());
        if triangle.n == 0 {
            return Ok(());
        }
        let (uplo, trans, diag) = (triangle.uplo.code(), trans.code::<T>(), diag.code());
        let (n, lda, incx) = (triangle.n as i64, triangle.lda() as i64, self.x.inc64());
        let (a, x) = (a.address() as *const _, x.address() as *mut _);
        // SAFETY: the matrix and the vector lie inside their buffers (checked), which live until this work is done.
        queue.typed(PointerMode::Host, |blas, handle| unsafe {
            let (t, h) = (T::LETTER, handle);
            match (triangle.store, SOLVE) {
                (Store::Full, false) => blas.trmv(t, h, uplo, trans, diag, n, a, lda, x, incx),
                (Store::Full, true) => blas.trsv(t, h, uplo, trans, diag, n, a, lda, x, incx),
                (Store::Band(k), false) => blas.tbmv(t, h, uplo, trans, diag, n, k as i64, a, lda, x, incx),
                (Store::Band(k), true) => blas.tbsv(t, h, uplo, trans, diag, n, k as i64, a, lda, x, incx),
                (Store::Packed, false) => blas.tpmv(t, h, uplo, trans, diag, n, a, x, incx),
                (Store::Packed, true) => blas.tpsv(t, h, uplo, trans, diag, n, a, x, incx),
            }
        })
    }
}

impl Blas {
    /// `x = op(A) * x` with a triangular matrix (`cublas<t>trmv`, `tbmv`, `tpmv`); see [`Trmv`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when `lda` is too small, the matrix or the vector does not lie inside its buffer, or
    /// the vector has another length than the matrix; a stale or foreign buffer. `x` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Uplo, blas::Trmv};
    /// let device = Device::host()?;
    /// let a = device.upload([2.0f64, 1.0, 0.0, 4.0])?.into_output(); // rows (2, 0) and (1, 4)
    /// let spec = Trmv::new(2, Uplo::Lower);
    /// let x = device.blas().trmv(spec, &a, device.upload([1.0, 10.0])?.into_output())?.into_output();
    /// let x = device.blas().trsv(spec, &a, x)?.await_result()?; // and back
    /// assert_eq!(device.download(&x)?.await_result()?, [1.0, 10.0]);
    /// # Ok(()) }
    /// ```
    #[doc(alias = "tbmv")]
    #[doc(alias = "tpmv")]
    pub fn trmv<'a, T: BlasElement>(
        &self,
        spec: Trmv<T>,
        a: impl Readable<'a, T>,
        x: impl WritableVector<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let x = x.into();
        self.submit(Triangular::<T, false> { spec: spec.column_major(), x: x.at }, (a.into(),), (x.data,))
    }

    /// Solves `op(A) * x = b` with a triangular matrix, where x holds b (`cublas<t>trsv`, `tbsv`, `tpsv`); see [`Trmv`].
    /// The diagonal is not checked for zeros: a zero gives infinities and NaN.
    ///
    /// # Errors
    /// As [`trmv`](Self::trmv).
    #[doc(alias = "tbsv")]
    #[doc(alias = "tpsv")]
    pub fn trsv<'a, T: BlasElement>(
        &self,
        spec: Trmv<T>,
        a: impl Readable<'a, T>,
        x: impl WritableVector<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let x = x.into();
        self.submit(Triangular::<T, true> { spec: spec.column_major(), x: x.at }, (a.into(),), (x.data,))
    }
}
