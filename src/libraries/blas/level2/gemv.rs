//! Products of a general or a band matrix with a vector: gemv, gbmv.

use super::super::prelude::*;

/// `y = alpha * op(A) * x + beta * y` with a general matrix or one stored by bands.
///
/// Unless set: A is column-major, nothing is transposed, `lda` leaves no gaps, `alpha` is 1 and `beta` 0. If A has no
/// rows or no columns, nothing happens, as in BLAS: y is not scaled either.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
#[must_use]
pub struct Gemv<T: BlasElement> {
    pub(super) m: usize,
    pub(super) n: usize,
    /// Diagonals below and above the main one.
    pub(super) band: Option<(usize, usize)>,
    pub(super) trans: Transpose,
    row_major: bool,
    lda: Option<usize>,
    pub(super) alpha: T,
    pub(super) beta: T,
}

impl<T: BlasElement> Gemv<T> {
    /// A matrix of `m` rows and `n` columns as stored.
    pub fn new(m: usize, n: usize) -> Self {
        let (alpha, beta) = (T::ONE, T::default());
        Gemv { m, n, band: None, trans: Transpose::No, row_major: false, lda: None, alpha, beta }
    }

    /// An `m x n` matrix of which the main diagonal, `kl` diagonals below it and `ku` above it are stored, as rows:
    /// element `(i, j)` is at `ku + i - j + j * lda`, and each column has `kl + ku + 1` places.
    pub fn banded(m: usize, n: usize, kl: usize, ku: usize) -> Self {
        Gemv { band: Some((kl, ku)), ..Gemv::new(m, n) }
    }

    /// A is row-major: element `(i, j)` is at `i * lda + j`; if banded, at `kl + j - i + i * lda`, and each row has
    /// `kl + ku + 1` places. Nothing is copied. Errors state the sizes of the transposed matrix.
    ///
    /// With [`Transpose::Conjugate`] of complex types it fails with [`Error::Unsupported`]: BLAS has no product with a
    /// conjugate that is not transposed too.
    pub fn row_major(mut self) -> Self {
        self.row_major = true;
        self
    }

    /// The equivalent product with a column-major matrix. If there is none, it stays row-major, and the check refuses
    /// it.
    pub(super) fn column_major(self) -> Self {
        match self.trans.of_transpose::<T>() {
            Some(trans) if self.row_major => {
                let band = self.band.map(|(kl, ku)| (ku, kl));
                Gemv { m: self.n, n: self.m, band, trans, row_major: false, ..self }
            }
            _ => self,
        }
    }

    /// Rows as stored.
    fn rows(&self) -> usize {
        self.band.map_or(self.m, |(kl, ku)| kl.saturating_add(ku).saturating_add(1))
    }

    pub(super) fn leading(&self) -> usize {
        self.lda.unwrap_or(self.rows().max(1))
    }

    /// Lengths of y and x.
    pub(super) fn lengths(&self) -> (usize, usize) {
        self.trans.stored(self.m, self.n)
    }

    /// Checks that A lies inside a buffer of `len` elements.
    pub(super) fn check_a(&self, len: usize) -> Result<()> {
        check_order(self.row_major, "the conjugate")?;
        check_size("m", self.m)?;
        check_size("n", self.n)?;
        let (kl, ku) = self.band.unwrap_or_default();
        check_size("kl", kl)?;
        check_size("ku", ku)?;
        if self.m == 0 || self.n == 0 {
            return Ok(());
        }
        check_matrix("a", self.rows(), self.n, self.leading(), len)
    }

    /// Elements of A.
    pub(super) fn elements(&self) -> u64 {
        (self.rows().min(self.m) as u64).saturating_mul(self.n as u64)
    }

    #[cfg(feature = "host")]
    pub(super) fn on_host(&self) -> numerics::level2::Stored {
        use numerics::level2::Layout;
        let ld = self.leading();
        let layout = self.band.map_or(Layout::Full { ld }, |(kl, ku)| Layout::Band { kl, ku, ld });
        numerics::level2::Stored { rows: self.m, cols: self.n, layout }
    }
}

setters!(Gemv<T: BlasElement> {
    /// What is done to A before the product.
    trans: Transpose;
    /// Elements between the columns (in row-major order the rows) of A as stored.
    lda: usize;
});
scalars!(Gemv<T: BlasElement>, alpha: T, beta: T);

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Product<T: BlasElement> {
    spec: Gemv<T>,
    x: Strided,
    y: Strided,
    scalars_at: bool,
}

impl<T: BlasElement> Routine for Product<T> {
    const NAME: &'static str = "gemv";
    const OPERANDS: OperandNames = (&["a", "x", "alpha", "beta"], &["y"]);
    type Reads = (T, T, Option<T>, Option<T>);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (a, x, alpha, beta): &Spans<Self::Reads>, (y,): &Spans<(T,)>) -> Result<()> {
        check_scalar("alpha", alpha)?;
        check_scalar("beta", beta)?;
        self.spec.check_a(a.len())?;
        let (rows, cols) = self.spec.lengths();
        self.x.check_n("x", x.len(), cols, "the number of columns of op(A)")?;
        self.y.check_n("y", y.len(), rows, "the number of rows of op(A)")
    }

    fn overwrites(&self, (y,): &Spans<(T,)>) -> bool {
        let discards = !self.scalars_at && self.spec.beta == T::default();
        discards && self.spec.m > 0 && self.spec.n > 0 && self.y.fills(y.len())
    }

    fn cost(&self) -> Cost {
        let (elements, vectors) = (self.spec.elements(), (self.spec.m as u64).saturating_add(self.spec.n as u64));
        let bytes = elements.saturating_add(vectors).saturating_mul(size_of::<T>() as u64);
        Cost { flops: elements.saturating_mul(2), bytes }
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, x, alpha, beta): (&[T], &[T], Option<&[T]>, Option<&[T]>), (y,): (&mut [T],)) -> Result<()> {
        let (alpha, beta) = (value(self.spec.alpha, alpha), value(self.spec.beta, beta));
        let (stored, trans) = (self.spec.on_host(), self.spec.trans.on_host());
        numerics::level2::gemv(stored, trans, alpha, a, x, self.x.on_host(), beta, y, self.y.on_host());
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let (spec, (a, x, alpha, beta), (y,)) = (&self.spec, *queue.reads(), *queue.writes());
        let (alpha, beta) = (Scalar::new(spec.alpha, &alpha), Scalar::new(spec.beta, &beta));
        if spec.m == 0 || spec.n == 0 {
            return Ok(());
        }
        if alpha.is_zero() {
            return queue.scale(y, self.y, &beta);
        }
        let (trans, m, n, lda) = (spec.trans.code::<T>(), spec.m as i64, spec.n as i64, spec.leading() as i64);
        let (a, x, y) = (a.address() as *const _, x.address() as *const _, y.address() as *mut _);
        let (incx, incy) = (self.x.inc64(), self.y.inc64());
        // SAFETY: the matrix and both vectors lie inside their buffers (checked), which live until this work is done;
        // scalars in host memory are read before the call returns.
        queue.typed(alpha.mode(), |blas, handle| unsafe {
            let (letter, alpha, beta) = (T::LETTER, alpha.pointer(), beta.pointer());
            match spec.band {
                None => blas.gemv(letter, handle, trans, m, n, alpha, a, lda, x, incx, beta, y, incy),
                Some((kl, ku)) => {
                    let (kl, ku) = (kl as i64, ku as i64);
                    blas.gbmv(letter, handle, trans, m, n, kl, ku, alpha, a, lda, x, incx, beta, y, incy)
                }
            }
        })
    }
}

impl Blas {
    /// `y = alpha * op(A) * x + beta * y` (`cublas<t>gemv`, `gbmv`); see [`Gemv`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when `lda` is too small, the matrix or a vector does not lie inside its buffer, or a
    /// vector has another length than the matrix; a stale or foreign buffer. `y` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, blas::Gemv};
    /// let device = Device::host()?;
    /// let a = device.upload([1.0f64, 2.0, 3.0, 4.0])?.into_output(); // columns (1, 2) and (3, 4)
    /// let x = device.upload([1.0, 10.0])?.into_output();
    /// let y = device.blas().gemv(Gemv::new(2, 2).alpha(2.0), &a, &x, device.uninit(2)?)?.await_result()?;
    /// assert_eq!(device.download(&y)?.await_result()?, [62.0, 84.0]);
    /// # Ok(()) }
    /// ```
    #[doc(alias = "gbmv")]
    pub fn gemv<'a, T: BlasElement>(
        &self,
        spec: impl Into<Scaled<'a, Gemv<T>>>,
        a: impl Readable<'a, T>,
        x: impl ReadableVector<'a, T>,
        y: impl WritableVector<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let (Scaled { spec, alpha, beta }, x, y) = (spec.into(), x.into(), y.into());
        let spec = spec.column_major();
        let product = Product { spec, x: x.at, y: y.at, scalars_at: beta.is_some() };
        self.submit(product, (a.into(), x.data, alpha, beta), (y.data,))
    }
}
