//! Products of a symmetric or Hermitian matrix with a vector: symv, sbmv, spmv, hemv, hbmv, hpmv.

use super::super::prelude::*;
use super::triangle::{Form, Storage, Store, Triangle};

/// `y = alpha * A * x + beta * y` with a symmetric matrix, or by [`Blas::hemv`] with a Hermitian one, of which one
/// triangle is stored: in a full matrix, by bands, or packed.
///
/// Unless set: `alpha` is 1 and `beta` 0.
#[derive(Clone, Debug)]
#[must_use]
pub struct Symv<'a, T: BlasElement> {
    a: Form,
    alpha: Numbers<'a, T>,
    beta: Numbers<'a, T>,
}

impl<T: BlasElement> Symv<'_, T> {
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
        Symv { a: Form { uplo, storage }, alpha: T::ONE.into(), beta: T::default().into() }
    }
}

factors!(Symv<T: BlasElement>, alpha: T, beta: T);

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Product<T: BlasElement, const HERMITIAN: bool> {
    a: Triangle,
    x: Strided,
    y: Strided,
    alpha: T,
    beta: T,
    /// Whether `beta` is on the device.
    beta_at: bool,
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
        self.a.check(a.len())?;
        self.x.check_n("x", x.len(), self.a.n, "n")?;
        self.y.check_n("y", y.len(), self.a.n, "n")
    }

    fn overwrites(&self, (y,): &Spans<(T,)>) -> bool {
        !self.beta_at && self.beta == T::default() && self.y.fills(y.len())
    }

    fn cost(&self) -> Cost {
        let elements = self.a.elements();
        Cost { flops: elements.saturating_mul(4), bytes: elements.saturating_mul(size_of::<T>() as u64) }
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, x, alpha, beta): (&[T], &[T], Option<&[T]>, Option<&[T]>), (y,): (&mut [T],)) -> Result<()> {
        let (alpha, beta) = (value(self.alpha, alpha), value(self.beta, beta));
        let (stored, x_at, y_at) = (self.a.on_host(), self.x.on_host(), self.y.on_host());
        numerics::level2::symv(stored, HERMITIAN, alpha, a, x, x_at, beta, y, y_at);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let (triangle, (a, x, alpha, beta), (y,)) = (self.a, *queue.reads(), *queue.writes());
        if triangle.n == 0 {
            return Ok(());
        }
        let (alpha, beta) = queue.scalars((self.alpha, &alpha), (self.beta, &beta))?;
        if alpha.is_zero() {
            return queue.scale(y, self.y, &beta);
        }
        let (uplo, n, lda) = (triangle.uplo.code(), triangle.n as i64, triangle.lda as i64);
        let (a, x, y) = (a.address() as *const _, x.address() as *const _, y.address() as *mut _);
        let (incx, incy) = (self.x.inc64(), self.y.inc64());
        // SAFETY: the matrix and both vectors lie inside their buffers (checked), which live until this work is done;
        // scalars in host memory are read before the call returns.
        queue.typed(alpha.mode(), |blas, handle| unsafe {
            let (t, h, alpha, beta) = (T::LETTER, handle, alpha.pointer(), beta.pointer());
            match (triangle.store, HERMITIAN) {
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
    /// `y = alpha * A * x + beta * y` with a symmetric matrix (`cublas<t>symv`, `sbmv`, `spmv`); see [`Symv`]. x and y are `[n]`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the shapes do not agree, neither the rows nor the columns of A are contiguous, or x is
    /// broadcast ([`contiguous`](crate::Device::contiguous) makes a copy that serves); on a GPU [`Error::Unsupported`] for
    /// complex matrices that are banded or packed, for which BLAS has no routine; a stale or foreign buffer. `y` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Uplo, blas::Symv};
    /// let device = Device::host()?;
    /// let x = device.tensor([2], [1.0f64, 10.0])?;
    /// let a = device.tensor([2, 2], [1.0, 2.0, f64::NAN, 3.0])?; // the other triangle is not read
    /// let y = device.blas().symv(Symv::new(Uplo::Upper), &a, &x, device.uninit([2])?)?;
    /// assert_eq!(device.to_vec(&y)?, [21.0, 32.0]);
    /// let packed = device.tensor([3], [1.0, 2.0, 3.0])?;
    /// let y = device.blas().symv(Symv::packed(Uplo::Upper).beta(-1.0), &packed, &x, y)?;
    /// assert_eq!(device.to_vec(&y)?, [0.0, 0.0]);
    /// # Ok(()) }
    /// ```
    #[doc(alias = "sbmv")]
    #[doc(alias = "spmv")]
    pub fn symv<'a, 'b, T: BlasElement>(
        &self,
        spec: Symv<'_, T>,
        a: impl ReadableTensor<'a, T>,
        x: impl ReadableTensor<'b, T>,
        y: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        self.symv_of::<T, false>(&spec, &a.into(), &x.into(), y.into())
    }

    /// `y = alpha * A * x + beta * y` with a Hermitian matrix (`cublas<t>hemv`, `hbmv`, `hpmv`); see [`Symv`]. The
    /// imaginary parts of the diagonal are taken as zero.
    ///
    /// # Errors
    /// As [`symv`](Self::symv), but no form is unsupported; instead [`Error::Unsupported`] when the rows of a full matrix are
    /// contiguous, not its columns: [`contiguous_columns`](crate::Device::contiguous_columns) makes a copy that serves.
    #[doc(alias = "hbmv")]
    #[doc(alias = "hpmv")]
    pub fn hemv<'a, 'b, T: ComplexElement>(
        &self,
        spec: Symv<'_, T>,
        a: impl ReadableTensor<'a, T>,
        x: impl ReadableTensor<'b, T>,
        y: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        self.symv_of::<T, true>(&spec, &a.into(), &x.into(), y.into())
    }

    fn symv_of<T: BlasElement, const HERMITIAN: bool>(
        &self,
        spec: &Symv<'_, T>,
        a: &TensorRef<'_, T>,
        x: &TensorRef<'_, T>,
        y: Part<T>,
    ) -> Submitted<Tensor<T>> {
        let made = || {
            let (of_a, of_x, of_y) = (a.layout(), x.layout(), y.layout());
            let ((alpha, alpha_at), (beta, beta_at)) = (spec.alpha.one("alpha")?, spec.beta.one("beta")?);
            let triangle = spec.a.symmetric(of_a, of_x.len(), HERMITIAN)?;
            let x_at = Strided::vector("x", of_x)?.beside("x", of_x, triangle.n, of_a)?;
            let y_at = Strided::vector("y", of_y)?.beside("y", of_y, triangle.n, of_a)?;
            let product = Product { a: triangle, x: x_at, y: y_at, alpha, beta, beta_at: beta_at.is_some() };
            Ok((product, (a.window()?, x.window()?, alpha_at, beta_at)))
        };
        self.writes::<T, Product<T, HERMITIAN>>(made(), y)
    }
}
