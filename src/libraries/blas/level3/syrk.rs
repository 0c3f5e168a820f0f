//! One triangle of the product of a matrix with its transpose: syrk, herk.

use super::super::prelude::*;
use super::cost;
#[cfg(feature = "host")]
use crate::numerics::level3::{RankSpec, Terms};

/// `C = alpha * op(A) * op(A)^T + beta * C`: `op(A)` is `n x k`, C is symmetric and `n x n`, and of C only one triangle is
/// read and written.
///
/// Unless set: matrices are column-major, A is not transposed, leading dimensions leave no gaps, `alpha` is 1 and `beta` 0.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
#[must_use]
pub struct Syrk<T: BlasElement> {
    uplo: Uplo,
    n: usize,
    k: usize,
    row_major: bool,
    trans: Transpose,
    lda: Option<usize>,
    ldc: Option<usize>,
    alpha: T,
    beta: T,
}

/// `C = alpha * op(A) * op(A)^H + beta * C`, both scalars real: as [`Syrk`], but C is Hermitian, its diagonal real.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
#[must_use]
pub struct Herk<T: ComplexElement> {
    uplo: Uplo,
    n: usize,
    k: usize,
    row_major: bool,
    trans: Transpose,
    lda: Option<usize>,
    ldc: Option<usize>,
    alpha: T::Real,
    beta: T::Real,
}

impl<T: BlasElement> Syrk<T> {
    /// The triangle `uplo` of the product of an `n x k` matrix with its transpose.
    pub fn new(uplo: Uplo, n: usize, k: usize) -> Self {
        Syrk {
            uplo,
            n,
            k,
            row_major: false,
            trans: Transpose::No,
            lda: None,
            ldc: None,
            alpha: <T as GemmElement>::ONE,
            beta: T::default(),
        }
    }
}

impl<T: ComplexElement> Herk<T> {
    /// The triangle `uplo` of the product of an `n x k` matrix with its conjugate transpose.
    pub fn new(uplo: Uplo, n: usize, k: usize) -> Self {
        let (alpha, beta) = (<T::Real as GemmElement>::ONE, T::Real::default());
        Herk { uplo, n, k, row_major: false, trans: Transpose::No, lda: None, ldc: None, alpha, beta }
    }
}

setters!(Syrk<T: BlasElement> {
    /// What is done to A before the product: nothing, or it is transposed. There is no conjugate transpose of complex
    /// types.
    trans: Transpose;
    /// Elements between the columns (in row-major order the rows) of A as stored.
    lda: usize;
    /// Elements between the columns (in row-major order the rows) of C.
    ldc: usize;
});
setters!(Herk<T: ComplexElement> {
    /// What is done to A before the product: nothing, or the conjugate transpose.
    trans: Transpose;
    /// Elements between the columns (in row-major order the rows) of A as stored.
    lda: usize;
    /// Elements between the columns (in row-major order the rows) of C.
    ldc: usize;
});
row_major!(Syrk<T: BlasElement>);
row_major!(Herk<T: ComplexElement>);
scalars!(Syrk<T: BlasElement>, alpha: T, beta: T);
scalars!(Herk<T: ComplexElement>, alpha: T::Real, beta: T::Real);

/// Refuses a transpose with which the result is not symmetric, or not Hermitian.
pub(super) fn check_trans<T: BlasElement>(trans: Transpose, hermitian: bool) -> Result<()> {
    match (trans, hermitian) {
        (Transpose::Conjugate, false) if T::DTYPE.is_complex() => {
            Err(Error::invalid("trans", "Conjugate, but the product is symmetric: use No or Yes"))
        }
        (Transpose::Yes, true) => {
            Err(Error::invalid("trans", "Yes, but the product is Hermitian: use No or Conjugate"))
        }
        _ => Ok(()),
    }
}

/// The triangle and the transpose of the equivalent product of column-major matrices: the transpose of the product of A
/// with its (conjugate) transpose is that of the transposed A in reverse order. A transpose that is refused is returned
/// unchanged.
pub(super) fn by_columns<T: BlasElement>(
    row_major: bool,
    uplo: Uplo,
    trans: Transpose,
    hermitian: bool,
) -> (Uplo, Transpose) {
    if !row_major || check_trans::<T>(trans, hermitian).is_err() {
        return (uplo, trans);
    }
    let trans = match (trans, hermitian) {
        (Transpose::No, true) => Transpose::Conjugate,
        (Transpose::No, false) => Transpose::Yes,
        _ => Transpose::No,
    };
    (uplo.transposed(), trans)
}

/// `S` is the type of the scalars.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "S: BlasElement")]
pub(super) struct Rank<T, S, const HERMITIAN: bool> {
    uplo: Uplo,
    n: usize,
    k: usize,
    trans: Transpose,
    lda: usize,
    ldc: usize,
    alpha: S,
    beta: S,
    _type: PhantomData<T>,
}

impl<T: BlasElement, S: BlasElement + Into<T>, const HERMITIAN: bool> Routine for Rank<T, S, HERMITIAN> {
    const NAME: &'static str = if HERMITIAN { "herk" } else { "syrk" };
    const OPERANDS: OperandNames = (&["a", "alpha", "beta"], &["c"]);
    type Reads = (T, Option<S>, Option<S>);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (a, alpha, beta): &Spans<Self::Reads>, (c,): &Spans<(T,)>) -> Result<()> {
        check_size("n", self.n)?;
        check_size("k", self.k)?;
        check_trans::<T>(self.trans, HERMITIAN)?;
        check_scalar("alpha", alpha)?;
        check_scalar("beta", beta)?;
        let (rows, cols) = self.trans.stored(self.n, self.k);
        check_matrix("a", rows, cols, self.lda, a.len())?;
        check_matrix("c", self.n, self.n, self.ldc, c.len())
    }

    fn cost(&self) -> Cost {
        let (n, k) = (self.n, self.k);
        cost::<T>([n, n / 2 + 1, k], [n.saturating_mul(k), n.saturating_mul(n), 0])
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, alpha, beta): (&[T], Option<&[S]>, Option<&[S]>), (c,): (&mut [T],)) -> Result<()> {
        let (alpha, beta) = (value(self.alpha, alpha), value(self.beta, beta));
        let spec = RankSpec {
            terms: Terms::One,
            uplo: self.uplo.on_host(),
            trans: self.trans.on_host(),
            hermitian: HERMITIAN,
            n: self.n,
            k: self.k,
            lda: self.lda,
            ldb: self.lda,
            ldc: self.ldc,
            alpha: alpha.into(),
            beta: beta.into(),
        };
        T::rank(&spec, a, &[], c);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let ((a, alpha, beta), (c,)) = (*queue.reads(), *queue.writes());
        if self.n == 0 {
            return Ok(());
        }
        let (alpha, beta) = (Scalar::new(self.alpha, &alpha), Scalar::new(self.beta, &beta));
        // With a zero alpha, nothing of A is read.
        let k = if alpha.is_zero() { 0 } else { self.k as i64 };
        let (uplo, trans, n) = (self.uplo.code(), self.trans.code::<T>(), self.n as i64);
        let (lda, ldc) = (self.lda as i64, self.ldc as i64);
        let (a, c) = (a.address() as *const _, c.address() as *mut _);
        // SAFETY: the matrices lie inside their buffers (checked), which live until this work is done; scalars in host
        // memory are read before the call returns, and are of the type that the routine takes.
        queue.typed(alpha.mode(), |api, handle| unsafe {
            let routine = if HERMITIAN {
                crate::libraries::blas::native::CublasTyped::herk
            } else {
                crate::libraries::blas::native::CublasTyped::syrk
            };
            routine(api, T::LETTER, handle, uplo, trans, n, k, alpha.pointer(), a, lda, beta.pointer(), c, ldc)
        })
    }
}

impl Blas {
    /// One triangle of the product of a matrix with its transpose (`cublas<t>syrk`); see [`Syrk`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when a leading dimension is too small, a matrix does not lie inside its buffer, or a
    /// complex A is to be conjugated; a stale or foreign buffer. `c` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Uplo, blas::Syrk};
    /// let device = Device::host()?;
    /// let a = device.upload([1.0f32, 2.0])?.into_output(); // 2 x 1
    /// let c = device.upload([0.0f32, 0.0, 7.0, 0.0])?.into_output();
    /// let c = device.blas().syrk(Syrk::new(Uplo::Lower, 2, 1), &a, c)?.await_result()?;
    /// assert_eq!(device.download(&c)?.await_result()?, [1.0, 2.0, 7.0, 4.0]);
    /// # Ok(()) }
    /// ```
    pub fn syrk<'a, T: BlasElement>(
        &self,
        spec: impl Into<Scaled<'a, Syrk<T>>>,
        a: impl Readable<'a, T>,
        c: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let Scaled { spec, alpha: alpha_at, beta: beta_at } = spec.into();
        let Syrk { n, k, lda, ldc, alpha, beta, .. } = spec;
        let (uplo, trans) = by_columns::<T>(spec.row_major, spec.uplo, spec.trans, false);
        let (lda, ldc) = (lda.unwrap_or(trans.stored(n, k).0.max(1)), ldc.unwrap_or(n.max(1)));
        let rank = Rank::<_, _, false> { uplo, n, k, trans, lda, ldc, alpha, beta, _type: PhantomData };
        self.submit(rank, (a.into(), alpha_at, beta_at), (c,))
    }

    /// One triangle of the product of a matrix with its conjugate transpose (`cublas<t>herk`); see [`Herk`].
    ///
    /// # Errors
    /// As [`syrk`](Self::syrk), and when A is to be transposed without conjugation.
    pub fn herk<'a, T: ComplexElement>(
        &self,
        spec: impl Into<Scaled<'a, Herk<T>>>,
        a: impl Readable<'a, T>,
        c: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let Scaled { spec, alpha: alpha_at, beta: beta_at } = spec.into();
        let Herk { n, k, lda, ldc, alpha, beta, .. } = spec;
        let (uplo, trans) = by_columns::<T>(spec.row_major, spec.uplo, spec.trans, true);
        let (lda, ldc) = (lda.unwrap_or(trans.stored(n, k).0.max(1)), ldc.unwrap_or(n.max(1)));
        let rank = Rank::<_, _, true> { uplo, n, k, trans, lda, ldc, alpha, beta, _type: PhantomData };
        self.submit(rank, (a.into(), alpha_at, beta_at), (c,))
    }
}
