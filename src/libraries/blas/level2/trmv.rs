//! Products and systems of a triangular matrix and a vector: trmv, tbmv, tpmv, trsv, tbsv, tpsv.

use super::super::prelude::*;
use super::triangle::{Form, Storage, Store, Triangle};
use super::turn::Turn;

/// `x = A * x`, or by [`Blas::trsv`] `x = A^-1 * x`, with a triangular matrix in a full one, by bands, or packed.
///
/// Unless set: nothing is transposed or conjugated, the diagonal is as stored.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Trmv {
    a: Form,
    turn: Turn,
    diag: Diag,
}

impl Trmv {
    /// A is `[n, n]`, of which the triangle `uplo` is read.
    pub fn new(uplo: Uplo) -> Self {
        Self::stored(uplo, Storage::Full)
    }

    /// A is `[k + 1, n]`, the diagonal and `k` diagonals beside it, each a row whose elements stand in their columns: element
    /// `(i, j)` is at `[k + i - j, j]` of an upper triangle, at `[i - j, j]` of a lower one. Its columns are contiguous.
    pub fn banded(uplo: Uplo) -> Self {
        Self::stored(uplo, Storage::Banded)
    }

    /// A is `[n * (n + 1) / 2]`, the columns of the triangle one after the other.
    pub fn packed(uplo: Uplo) -> Self {
        Self::stored(uplo, Storage::Packed)
    }

    fn stored(uplo: Uplo, storage: Storage) -> Self {
        Trmv { a: Form { uplo, storage }, turn: Turn::default(), diag: Diag::NonUnit }
    }

    /// What is done to a banded or packed matrix before it is used. A full one is transposed by its view.
    pub fn trans(mut self, trans: Transpose) -> Self {
        self.turn.trans = trans;
        self
    }

    /// Takes the conjugate of A; of real types A itself. BLAS conjugates only what it also transposes: a full matrix whose rows
    /// are contiguous, such as the transposed view of one whose columns are.
    pub fn conjugate_a(mut self) -> Self {
        self.turn.conjugate = true;
        self
    }

    /// The kind of diagonal.
    pub fn diag(mut self, diag: Diag) -> Self {
        self.diag = diag;
        self
    }
}

/// A product, or a system to be solved.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Triangular<T: BlasElement, const SOLVE: bool> {
    a: Triangle,
    trans: Transpose,
    diag: Diag,
    x: Strided,
    _type: PhantomData<T>,
}

impl<T: BlasElement, const SOLVE: bool> Routine for Triangular<T, SOLVE> {
    const NAME: &'static str = if SOLVE { "trsv" } else { "trmv" };
    const OPERANDS: OperandNames = (&["a"], &["x"]);
    type Reads = (T,);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (a,): &Spans<(T,)>, (x,): &Spans<(T,)>) -> Result<()> {
        self.a.check(a.len())?;
        self.x.check_n("x", x.len(), self.a.n, "n")
    }

    fn cost(&self) -> Cost {
        let elements = self.a.elements();
        Cost { flops: elements.saturating_mul(2), bytes: elements.saturating_mul(size_of::<T>() as u64) }
    }

    #[cfg(feature = "host")]
    fn host(&self, (a,): (&[T],), (x,): (&mut [T],)) -> Result<()> {
        let routine = if SOLVE { numerics::level2::trsv } else { numerics::level2::trmv };
        routine(self.a.on_host(), self.trans.on_host(), self.diag == Diag::Unit, a, x, self.x.on_host());
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let (Triangular { a: triangle, trans, diag, .. }, (a,), (x,)) = (self, *queue.reads(), *queue.writes());
        if triangle.n == 0 {
            return Ok(());
        }
        let (uplo, trans, diag) = (triangle.uplo.code(), trans.code::<T>(), diag.code());
        let (n, lda, incx) = (triangle.n as i64, triangle.lda as i64, self.x.inc64());
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
    /// `x = A * x` with a triangular matrix (`cublas<t>trmv`, `tbmv`, `tpmv`); see [`Trmv`]. x is `[n]`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the shapes do not agree, or neither the rows nor the columns of A are contiguous
    /// ([`contiguous`](crate::Device::contiguous) makes a copy whose rows are); [`Error::Unsupported`] for a conjugate that is
    /// not transposed too; a stale or foreign buffer. `x` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Uplo, blas::Trmv};
    /// let device = Device::host()?;
    /// let (blas, a) = (device.blas(), device.tensor([2, 2], [2.0f64, 0.0, 1.0, 4.0])?);
    /// let x = blas.trmv(Trmv::new(Uplo::Lower), &a, device.tensor([2], [1.0, 10.0])?)?;
    /// assert_eq!(device.to_vec(&x)?, [2.0, 41.0]);
    /// let x = blas.trsv(Trmv::new(Uplo::Lower), &a, x)?; // and back
    /// assert_eq!(device.to_vec(&x)?, [1.0, 10.0]);
    /// let x = blas.trmv(Trmv::new(Uplo::Upper), a.transpose(), x)?;
    /// assert_eq!(device.to_vec(&x)?, [12.0, 40.0]);
    /// # Ok(()) }
    /// ```
    #[doc(alias = "tbmv")]
    #[doc(alias = "tpmv")]
    pub fn trmv<'a, T: BlasElement>(
        &self,
        spec: Trmv,
        a: impl ReadableTensor<'a, T>,
        x: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        self.triangular::<T, false>(spec, &a.into(), x.into())
    }

    /// Solves `A * x = b` with a triangular matrix, where x holds b (`cublas<t>trsv`, `tbsv`, `tpsv`); see [`Trmv`].
    /// The diagonal is not checked for zeros: a zero gives infinities and NaN.
    ///
    /// # Errors
    /// As [`trmv`](Self::trmv).
    #[doc(alias = "tbsv")]
    #[doc(alias = "tpsv")]
    pub fn trsv<'a, T: BlasElement>(
        &self,
        spec: Trmv,
        a: impl ReadableTensor<'a, T>,
        x: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        self.triangular::<T, true>(spec, &a.into(), x.into())
    }

    fn triangular<T: BlasElement, const SOLVE: bool>(
        &self,
        Trmv { a: form, turn, diag }: Trmv,
        a: &TensorRef<'_, T>,
        x: Part<T>,
    ) -> Submitted<Tensor<T>> {
        let made = || {
            let (of_a, of_x) = (a.layout(), x.layout());
            let (triangle, order) = form.triangle(of_a, of_x.len(), turn.wanted::<T>())?;
            let trans = match form.storage {
                Storage::Full => turn.of_full::<T>(order)?,
                Storage::Banded | Storage::Packed => turn.of_stored::<T>()?,
            };
            let at = Strided::vector("x", of_x)?.beside("x", of_x, triangle.n, of_a)?;
            Ok((Triangular { a: triangle, trans, diag, x: at, _type: PhantomData }, (a.window()?,)))
        };
        self.writes::<T, Triangular<T, SOLVE>>(made(), x)
    }
}
