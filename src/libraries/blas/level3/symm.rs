//! Products with a symmetric or a Hermitian matrix: symm, hemm.

use super::super::prelude::*;
use super::cost;
#[cfg(feature = "host")]
use crate::numerics::level3::SymmSpec;

/// `C = alpha * A * B + beta * C` (A on the left) or `C = alpha * B * A + beta * C`, where A is symmetric, or for
/// [`Blas::hemm`] Hermitian. B and C are `m x n`; A is `m x m` or `n x n`.
///
/// Unless set: matrices are column-major, leading dimensions leave no gaps, `alpha` is 1 and `beta` 0.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
#[must_use]
pub struct Symm<T: BlasElement> {
    side: Side,
    uplo: Uplo,
    m: usize,
    n: usize,
    row_major: bool,
    lda: Option<usize>,
    ldb: Option<usize>,
    ldc: Option<usize>,
    alpha: T,
    beta: T,
}

impl<T: BlasElement> Symm<T> {
    /// A on `side`, its triangle `uplo` stored; B and C are `m x n`.
    pub fn new(side: Side, uplo: Uplo, m: usize, n: usize) -> Self {
        let (alpha, beta) = (<T as GemmElement>::ONE, T::default());
        Symm { side, uplo, m, n, row_major: false, lda: None, ldb: None, ldc: None, alpha, beta }
    }

    /// The equivalent product of column-major matrices. This holds for a Hermitian A too: read in the other order, its
    /// triangle is that of its conjugate, which is also its transpose.
    fn column_major(self) -> Self {
        if !self.row_major {
            return self;
        }
        let (side, uplo) = (self.side.transposed(), self.uplo.transposed());
        Symm { side, uplo, m: self.n, n: self.m, row_major: false, ..self }
    }

    /// Rows and columns of A.
    fn order(&self) -> usize {
        if self.side == Side::Left { self.m } else { self.n }
    }

    /// Leading dimensions of A, B and C.
    fn leading(&self) -> [usize; 3] {
        let rows = [self.order(), self.m, self.m];
        let [a, b, c] = rows.map(|rows| rows.max(1));
        [self.lda.unwrap_or(a), self.ldb.unwrap_or(b), self.ldc.unwrap_or(c)]
    }
}

setters!(Symm<T: BlasElement> {
    /// Elements between the columns (in row-major order the rows) of A.
    lda: usize;
    /// Elements between the columns (in row-major order the rows) of B.
    ldb: usize;
    /// Elements between the columns (in row-major order the rows) of C.
    ldc: usize;
});
row_major!(Symm<T: BlasElement>);
scalars!(Symm<T: BlasElement>, alpha: T, beta: T);

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Product<T: BlasElement, const HERMITIAN: bool> {
    spec: Symm<T>,
    scalars_at: bool,
}

impl<T: BlasElement, const HERMITIAN: bool> Routine for Product<T, HERMITIAN> {
    const NAME: &'static str = if HERMITIAN { "hemm" } else { "symm" };
    const OPERANDS: OperandNames = (&["a", "b", "alpha", "beta"], &["c"]);
    type Reads = (T, T, Option<T>, Option<T>);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (a, b, alpha, beta): &Spans<Self::Reads>, (c,): &Spans<(T,)>) -> Result<()> {
        let (Symm { m, n, .. }, order, [lda, ldb, ldc]) = (self.spec, self.spec.order(), self.spec.leading());
        check_size("m", m)?;
        check_size("n", n)?;
        check_scalar("alpha", alpha)?;
        check_scalar("beta", beta)?;
        check_matrix("a", order, order, lda, a.len())?;
        check_matrix("b", m, n, ldb, b.len())?;
        check_matrix("c", m, n, ldc, c.len())
    }

    fn overwrites(&self, (c,): &Spans<(T,)>) -> bool {
        let ([_, _, ldc], Symm { m, n, beta, .. }) = (self.spec.leading(), self.spec);
        !self.scalars_at && beta == T::default() && fills(m, n, ldc, c.len())
    }

    fn cost(&self) -> Cost {
        let (Symm { m, n, .. }, order) = (self.spec, self.spec.order());
        let moved = [order.saturating_mul(order) / 2, m.saturating_mul(n), m.saturating_mul(n)];
        cost::<T>([m, n, order], moved)
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, b, alpha, beta): (&[T], &[T], Option<&[T]>, Option<&[T]>), (c,): (&mut [T],)) -> Result<()> {
        let (Symm { m, n, side, uplo, .. }, [lda, ldb, ldc]) = (self.spec, self.spec.leading());
        let (alpha, beta) = (value(self.spec.alpha, alpha), value(self.spec.beta, beta));
        let (side, uplo, hermitian) = (side.on_host(), uplo.on_host(), HERMITIAN);
        T::symm(&SymmSpec { side, uplo, hermitian, m, n, lda, ldb, ldc, alpha, beta }, a, b, c);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let (spec, (a, b, alpha, beta), (c,)) = (&self.spec, *queue.reads(), *queue.writes());
        let (m, n, [lda, ldb, ldc]) = (spec.m as i64, spec.n as i64, spec.leading().map(|ld| ld as i64));
        if m == 0 || n == 0 {
            return Ok(());
        }
        let (alpha, beta) = (Scalar::new(spec.alpha, &alpha), Scalar::new(spec.beta, &beta));
        if alpha.is_zero() {
            return queue.scale_matrix::<T>((spec.m, spec.n), &beta, c.address(), ldc);
        }
        let (side, uplo) = (spec.side.code(), spec.uplo.code());
        let (a, b, c) = (a.address() as *const _, b.address() as *const _, c.address() as *mut _);
        // SAFETY: the matrices lie inside their buffers (checked), which live until this work is done; scalars in host
        // memory are read before the call returns.
        queue.typed(alpha.mode(), |api, handle| unsafe {
            let routine = if HERMITIAN {
                crate::libraries::blas::native::CublasTyped::hemm
            } else {
                crate::libraries::blas::native::CublasTyped::symm
            };
            routine(api, T::LETTER, handle, side, uplo, m, n, alpha.pointer(), a, lda, b, ldb, beta.pointer(), c, ldc)
        })
    }
}

impl Blas {
    /// The product with a symmetric matrix (`cublas<t>symm`); see [`Symm`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when a leading dimension is too small or a matrix does
    /// not lie inside its buffer; a stale or foreign buffer. `c` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Side, Uplo, blas::Symm};
    /// let device = Device::host()?;
    /// let a = device.upload([1.0f64, 2.0, f64::NAN, 3.0])?.into_output(); // [1 2; 2 3], its lower triangle
    /// let b = device.upload([1.0f64, 10.0])?.into_output();
    /// let spec = Symm::new(Side::Left, Uplo::Lower, 2, 1);
    /// let c = device.blas().symm(spec, &a, &b, device.uninit(2)?)?.await_result()?;
    /// assert_eq!(device.download(&c)?.await_result()?, [21.0, 32.0]);
    /// # Ok(()) }
    /// ```
    pub fn symm<'a, T: BlasElement>(
        &self,
        spec: impl Into<Scaled<'a, Symm<T>>>,
        a: impl Readable<'a, T>,
        b: impl Readable<'a, T>,
        c: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let Scaled { spec, alpha, beta } = spec.into();
        let (spec, scalars_at) = (spec.column_major(), beta.is_some());
        self.submit(Product::<T, false> { spec, scalars_at }, (a.into(), b.into(), alpha, beta), (c,))
    }

    /// The product with a Hermitian matrix (`cublas<t>hemm`), whose diagonal is taken as real; see [`Symm`].
    ///
    /// # Errors
    /// As [`symm`](Self::symm).
    pub fn hemm<'a, T: ComplexElement>(
        &self,
        spec: impl Into<Scaled<'a, Symm<T>>>,
        a: impl Readable<'a, T>,
        b: impl Readable<'a, T>,
        c: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let Scaled { spec, alpha, beta } = spec.into();
        let (spec, scalars_at) = (spec.column_major(), beta.is_some());
        self.submit(Product::<T, true> { spec, scalars_at }, (a.into(), b.into(), alpha, beta), (c,))
    }
}
