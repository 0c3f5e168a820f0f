//! Two products whose sum is symmetric or Hermitian, and one product that the caller knows to be: syr2k, her2k, syrkx,
//! herkx.

use super::super::prelude::*;
use super::cost;
use super::syrk::{by_columns, check_trans};
#[cfg(feature = "host")]
use crate::numerics::level3::{RankSpec, Terms};

/// `C = alpha * (op(A) * op(B)^T + op(B) * op(A)^T) + beta * C`, or for [`Blas::syrkx`] only the first product, which the
/// caller knows to be symmetric. `op(A)` and `op(B)` are `n x k`; of C, `n x n`, only one triangle is read and written.
///
/// Unless set: matrices are column-major, nothing is transposed, leading dimensions leave no gaps, `alpha` is 1 and `beta` 0.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
#[must_use]
pub struct Syr2k<T: BlasElement> {
    uplo: Uplo,
    n: usize,
    k: usize,
    row_major: bool,
    trans: Transpose,
    lda: Option<usize>,
    ldb: Option<usize>,
    ldc: Option<usize>,
    alpha: T,
    beta: T,
}

/// `C = alpha * op(A) * op(B)^H + conj(alpha) * op(B) * op(A)^H + beta * C`, `beta` real, or for [`Blas::herkx`] only the
/// first product: as [`Syr2k`], but C is Hermitian, its diagonal real.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
#[must_use]
pub struct Her2k<T: ComplexElement> {
    uplo: Uplo,
    n: usize,
    k: usize,
    row_major: bool,
    trans: Transpose,
    lda: Option<usize>,
    ldb: Option<usize>,
    ldc: Option<usize>,
    alpha: T,
    beta: T::Real,
}

impl<T: BlasElement> Syr2k<T> {
    /// The triangle `uplo` of products of `n x k` matrices with `k x n` ones.
    pub fn new(uplo: Uplo, n: usize, k: usize) -> Self {
        let (alpha, beta) = (<T as GemmElement>::ONE, T::default());
        Syr2k { uplo, n, k, row_major: false, trans: Transpose::No, lda: None, ldb: None, ldc: None, alpha, beta }
    }
}

impl<T: ComplexElement> Her2k<T> {
    /// The triangle `uplo` of products of `n x k` matrices with `k x n` ones.
    pub fn new(uplo: Uplo, n: usize, k: usize) -> Self {
        let (alpha, beta) = (<T as GemmElement>::ONE, T::Real::default());
        Her2k { uplo, n, k, row_major: false, trans: Transpose::No, lda: None, ldb: None, ldc: None, alpha, beta }
    }
}

setters!(Syr2k<T: BlasElement> {
    /// What is done to A and B before the product: nothing, or they are transposed. There is no conjugate transpose of
    /// complex types.
    trans: Transpose;
    /// Elements between the columns (in row-major order the rows) of A as stored.
    lda: usize;
    /// Elements between the columns (in row-major order the rows) of B as stored.
    ldb: usize;
    /// Elements between the columns (in row-major order the rows) of C.
    ldc: usize;
});
setters!(Her2k<T: ComplexElement> {
    /// What is done to A and B before the product: nothing, or the conjugate transpose.
    trans: Transpose;
    /// Elements between the columns (in row-major order the rows) of A as stored.
    lda: usize;
    /// Elements between the columns (in row-major order the rows) of B as stored.
    ldb: usize;
    /// Elements between the columns (in row-major order the rows) of C.
    ldc: usize;
});
row_major!(Syr2k<T: BlasElement>);
row_major!(Her2k<T: ComplexElement>);
scalars!(Syr2k<T: BlasElement>, alpha: T, beta: T);
scalars!(Her2k<T: ComplexElement>, alpha: T, beta: T::Real);

/// `S` is the type of `beta`.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "T: BlasElement, S: BlasElement")]
pub(super) struct Rank2<T, S, const HERMITIAN: bool, const TWO: bool> {
    uplo: Uplo,
    n: usize,
    k: usize,
    trans: Transpose,
    lda: usize,
    ldb: usize,
    ldc: usize,
    alpha: T,
    beta: S,
    /// A and B are swapped: the transposed product of row-major matrices.
    swapped: bool,
    _type: PhantomData<T>,
}

impl<T, S, const HERMITIAN: bool, const TWO: bool> Rank2<T, S, HERMITIAN, TWO> {
    /// A and B with their leading dimensions, in the order of the column-major product.
    fn factors<X>(&self, a: X, b: X) -> ((X, usize), (X, usize)) {
        let (a, b) = ((a, self.lda), (b, self.ldb));
        if self.swapped { (b, a) } else { (a, b) }
    }
}

impl<T: BlasElement, S: BlasElement + Into<T>, const HERMITIAN: bool, const TWO: bool> Routine
    for Rank2<T, S, HERMITIAN, TWO>
{
    const NAME: &'static str = match (HERMITIAN, TWO) {
        (false, true) => "syr2k",
        (false, false) => "syrkx",
        (true, true) => "her2k",
        (true, false) => "herkx",
    };
    const OPERANDS: OperandNames = (&["a", "b", "alpha", "beta"], &["c"]);
    type Reads = (T, T, Option<T>, Option<S>);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (a, b, alpha, beta): &Spans<Self::Reads>, (c,): &Spans<(T,)>) -> Result<()> {
        check_size("n", self.n)?;
        check_size("k", self.k)?;
        check_trans::<T>(self.trans, HERMITIAN)?;
        check_scalar("alpha", alpha)?;
        check_scalar("beta", beta)?;
        let (rows, cols) = self.trans.stored(self.n, self.k);
        check_matrix("a", rows, cols, self.lda, a.len())?;
        check_matrix("b", rows, cols, self.ldb, b.len())?;
        check_matrix("c", self.n, self.n, self.ldc, c.len())
    }

    fn cost(&self) -> Cost {
        let (n, k) = (self.n, self.k);
        let columns = if TWO { n } else { n / 2 + 1 };
        cost::<T>([n, columns, k], [n.saturating_mul(k), n.saturating_mul(k), n.saturating_mul(n)])
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, b, alpha, beta): (&[T], &[T], Option<&[T]>, Option<&[S]>), (c,): (&mut [T],)) -> Result<()> {
        let ((a, lda), (b, ldb)) = self.factors(a, b);
        let spec = RankSpec {
            terms: if TWO { Terms::Two } else { Terms::Cross },
            uplo: self.uplo.on_host(),
            trans: self.trans.on_host(),
            hermitian: HERMITIAN,
            n: self.n,
            k: self.k,
            lda,
            ldb,
            ldc: self.ldc,
            alpha: value(self.alpha, alpha),
            beta: value(self.beta, beta).into(),
        };
        T::rank(&spec, a, b, c);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        use crate::libraries::blas::native::CublasTyped as Api;
        let ((a, b, alpha, beta), (c,)) = (*queue.reads(), *queue.writes());
        if self.n == 0 {
            return Ok(());
        }
        let (alpha, beta) = (Scalar::new(self.alpha, &alpha), Scalar::new(self.beta, &beta));
        // With a zero alpha, nothing of A and B is read.
        let k = if alpha.is_zero() { 0 } else { self.k as i64 };
        let (uplo, trans, n) = (self.uplo.code(), self.trans.code::<T>(), self.n as i64);
        let ((a, lda), (b, ldb)) = self.factors(a.address(), b.address());
        let [lda, ldb, ldc] = [lda, ldb, self.ldc].map(|ld| ld as i64);
        let (a, b, c) = (a as *const _, b as *const _, c.address() as *mut _);
        // SAFETY: the matrices lie inside their buffers (checked), which live until this work is done; scalars in host
        // memory are read before the call returns, and are of the types that the routine takes.
        queue.typed(alpha.mode(), |api, handle| unsafe {
            let routine = match (HERMITIAN, TWO) {
                (false, true) => Api::syr2k,
                (false, false) => Api::syrkx,
                (true, true) => Api::her2k,
                (true, false) => Api::herkx,
            };
            let (alpha, beta) = (alpha.pointer(), beta.pointer());
            routine(api, T::LETTER, handle, uplo, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
        })
    }
}

/// The three matrices of a call.
type Operands<'a, T> = (In<'a, T>, In<'a, T>, DeviceBuffer<T>);

impl Blas {
    /// Two products whose sum is a symmetric matrix (`cublas<t>syr2k`); see [`Syr2k`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when a leading dimension is too small, a matrix does not
    /// lie inside its buffer, or complex matrices are to be conjugated; a stale or foreign buffer. `c` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Uplo, blas::Syr2k};
    /// let device = Device::host()?;
    /// let a = device.upload([1.0f64, 2.0])?.into_output();
    /// let b = device.upload([10.0f64, 100.0])?.into_output();
    /// let c = device.zeros(4)?;
    /// let c = device.blas().syr2k(Syr2k::new(Uplo::Upper, 2, 1), &a, &b, c)?.await_result()?;
    /// assert_eq!(device.download(&c)?.await_result()?, [20.0, 0.0, 120.0, 400.0]);
    /// # Ok(()) }
    /// ```
    pub fn syr2k<'a, T: BlasElement>(
        &self,
        spec: impl Into<Scaled<'a, Syr2k<T>>>,
        a: impl Readable<'a, T>,
        b: impl Readable<'a, T>,
        c: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        self.symmetric_rank::<T, true>(spec.into(), (a.into(), b.into(), c))
    }

    /// One product that the caller knows to be symmetric (`cublas<t>syrkx`), for example if B is A times a symmetric
    /// matrix; see [`Syr2k`].
    ///
    /// # Errors
    /// As [`syr2k`](Self::syr2k).
    pub fn syrkx<'a, T: BlasElement>(
        &self,
        spec: impl Into<Scaled<'a, Syr2k<T>>>,
        a: impl Readable<'a, T>,
        b: impl Readable<'a, T>,
        c: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        self.symmetric_rank::<T, false>(spec.into(), (a.into(), b.into(), c))
    }

    /// Two products whose sum is a Hermitian matrix (`cublas<t>her2k`); see [`Her2k`].
    ///
    /// # Errors
    /// As [`syr2k`](Self::syr2k), but the plain transpose is refused instead.
    pub fn her2k<'a, T: ComplexElement>(
        &self,
        spec: impl Into<Scaled<'a, Her2k<T>>>,
        a: impl Readable<'a, T>,
        b: impl Readable<'a, T>,
        c: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        self.hermitian_rank::<T, true>(spec.into(), (a.into(), b.into(), c))
    }

    /// One product that the caller knows to be Hermitian (`cublas<t>herkx`); see [`Her2k`].
    ///
    /// # Errors
    /// As [`her2k`](Self::her2k).
    pub fn herkx<'a, T: ComplexElement>(
        &self,
        spec: impl Into<Scaled<'a, Her2k<T>>>,
        a: impl Readable<'a, T>,
        b: impl Readable<'a, T>,
        c: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        self.hermitian_rank::<T, false>(spec.into(), (a.into(), b.into(), c))
    }

    fn symmetric_rank<T: BlasElement, const TWO: bool>(
        &self,
        spec: Scaled<'_, Syr2k<T>>,
        (a, b, c): Operands<'_, T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let Syr2k { n, k, row_major: swapped, lda, ldb, ldc, alpha, beta, .. } = spec.spec;
        let (uplo, trans) = by_columns::<T>(swapped, spec.spec.uplo, spec.spec.trans, false);
        let rows = trans.stored(n, k).0.max(1);
        let (lda, ldb, ldc) = (lda.unwrap_or(rows), ldb.unwrap_or(rows), ldc.unwrap_or(n.max(1)));
        let rank =
            Rank2::<_, _, false, TWO> { uplo, n, k, trans, lda, ldb, ldc, alpha, beta, swapped, _type: PhantomData };
        self.submit(rank, (a, b, spec.alpha, spec.beta), (c,))
    }

    fn hermitian_rank<T: ComplexElement, const TWO: bool>(
        &self,
        spec: Scaled<'_, Her2k<T>>,
        (a, b, c): Operands<'_, T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let Her2k { n, k, row_major: swapped, lda, ldb, ldc, alpha, beta, .. } = spec.spec;
        let (uplo, trans) = by_columns::<T>(swapped, spec.spec.uplo, spec.spec.trans, true);
        let rows = trans.stored(n, k).0.max(1);
        let (lda, ldb, ldc) = (lda.unwrap_or(rows), ldb.unwrap_or(rows), ldc.unwrap_or(n.max(1)));
        let rank =
            Rank2::<_, _, true, TWO> { uplo, n, k, trans, lda, ldb, ldc, alpha, beta, swapped, _type: PhantomData };
        self.submit(rank, (a, b, spec.alpha, spec.beta), (c,))
    }
}
