//! Solutions with a triangular matrix: trsm.

use super::super::prelude::*;
use super::cost;
#[cfg(feature = "host")]
use crate::numerics::level3::TriSpec;

/// A triangular A and a general `m x n` matrix B: `op(A)` on the left is `m x m`, on the right `n x n`. Only one
/// triangle of A is read, without its diagonal if that is all ones.
///
/// Unless set: matrices are column-major, nothing is transposed, the diagonal is as stored, leading dimensions leave no
/// gaps, `alpha` is 1.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
#[must_use]
pub struct Triangular<T: BlasElement> {
    pub(super) side: Side,
    pub(super) uplo: Uplo,
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) trans: Transpose,
    pub(super) diag: Diag,
    row_major: bool,
    lda: Option<usize>,
    ldb: Option<usize>,
    ldc: Option<usize>,
    pub(super) alpha: T,
}

impl<T: BlasElement> Triangular<T> {
    /// A on `side`, its triangle `uplo` stored; B is `m x n`.
    pub fn new(side: Side, uplo: Uplo, m: usize, n: usize) -> Self {
        let (trans, diag, alpha) = (Transpose::No, Diag::NonUnit, <T as GemmElement>::ONE);
        Triangular { side, uplo, m, n, trans, diag, row_major: false, lda: None, ldb: None, ldc: None, alpha }
    }

    /// The equivalent problem of column-major matrices.
    pub(super) fn column_major(self) -> Self {
        if !self.row_major {
            return self;
        }
        let (side, uplo) = (self.side.transposed(), self.uplo.transposed());
        Triangular { side, uplo, m: self.n, n: self.m, row_major: false, ..self }
    }

    /// Rows and columns of A.
    pub(super) fn order(&self) -> usize {
        if self.side == Side::Left { self.m } else { self.n }
    }

    /// Leading dimensions of A and B.
    pub(super) fn leading(&self) -> [usize; 2] {
        [self.lda.unwrap_or(self.order().max(1)), self.ldb.unwrap_or(self.m.max(1))]
    }

    /// The leading dimension of the C of [`Blas::trmm_into`].
    pub(super) fn leading_of_c(&self) -> usize {
        self.ldc.unwrap_or(self.m.max(1))
    }

    /// Refuses a leading dimension of C if the result replaces B.
    pub(super) fn check_in_place(&self) -> Result<()> {
        match self.ldc {
            Some(ldc) => Err(Error::invalid("ldc", format!("{ldc}, but the result overwrites b: set `ldb` instead"))),
            None => Ok(()),
        }
    }

    /// Checks the sizes, and that A and B lie inside their buffers.
    pub(super) fn check(&self, a: usize, b: usize) -> Result<()> {
        let (order, [lda, ldb]) = (self.order(), self.leading());
        check_size("m", self.m)?;
        check_size("n", self.n)?;
        check_matrix("a", order, order, lda, a)?;
        check_matrix("b", self.m, self.n, ldb, b)
    }

    pub(super) fn cost(&self) -> Cost {
        let (order, elements) = (self.order(), self.m.saturating_mul(self.n));
        // Half of A is zero.
        cost::<T>([self.m, self.n, order.div_ceil(2)], [order.saturating_mul(order) / 2, elements, elements])
    }

    #[cfg(feature = "host")]
    pub(super) fn on_host(&self, alpha: Option<&[T]>) -> TriSpec<T> {
        let [lda, ldb] = self.leading();
        TriSpec {
            side: self.side.on_host(),
            uplo: self.uplo.on_host(),
            trans: self.trans.on_host(),
            unit: self.diag == Diag::Unit,
            m: self.m,
            n: self.n,
            lda,
            ldb,
            alpha: value(self.alpha, alpha),
        }
    }
}

setters!(Triangular<T: BlasElement> {
    /// What is done to A before it is used.
    trans: Transpose;
    /// The kind of diagonal of A.
    diag: Diag;
    /// Elements between the columns (in row-major order the rows) of A.
    lda: usize;
    /// Elements between the columns (in row-major order the rows) of B.
    ldb: usize;
    /// Elements between the columns (in row-major order the rows) of the C of [`Blas::trmm_into`], the only one that
    /// has a C.
    ldc: usize;
});
row_major!(Triangular<T: BlasElement>);
scalars!(Triangular<T: BlasElement>, alpha: T);

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Trsm<T: BlasElement>(Triangular<T>);

impl<T: BlasElement> Routine for Trsm<T> {
    const NAME: &'static str = "trsm";
    const OPERANDS: OperandNames = (&["a", "alpha"], &["b"]);
    type Reads = (T, Option<T>);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (a, alpha): &Spans<Self::Reads>, (b,): &Spans<(T,)>) -> Result<()> {
        check_scalar("alpha", alpha)?;
        self.0.check_in_place()?;
        self.0.check(a.len(), b.len())
    }

    fn cost(&self) -> Cost {
        self.0.cost()
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, alpha): (&[T], Option<&[T]>), (b,): (&mut [T],)) -> Result<()> {
        T::trsm(&self.0.on_host(alpha), a, b);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let (spec, (a, alpha), (b,)) = (&self.0, *queue.reads(), *queue.writes());
        let (m, n, [lda, ldb]) = (spec.m as i64, spec.n as i64, spec.leading().map(|ld| ld as i64));
        if m == 0 || n == 0 {
            return Ok(());
        }
        let alpha = Scalar::new(spec.alpha, &alpha);
        if alpha.is_zero() {
            return queue.scale_matrix::<T>((spec.m, spec.n), &alpha, b.address(), ldb);
        }
        let (side, uplo, trans) = (spec.side.code(), spec.uplo.code(), spec.trans.code::<T>());
        let (diag, a, b) = (spec.diag.code(), a.address() as *const _, b.address() as *mut _);
        // SAFETY: the matrices lie inside their buffers (checked), which live until this work is done; a scalar in host
        // memory is read before the call returns.
        queue.typed(alpha.mode(), |api, handle| unsafe {
            api.trsm(T::LETTER, handle, side, uplo, trans, diag, m, n, alpha.pointer(), a, lda, b, ldb)
        })
    }
}

impl Blas {
    /// Solves `op(A) * X = alpha * B` (A on the left) or `X * op(A) = alpha * B` in place of B (`cublas<t>trsm`); see
    /// [`Triangular`]. The diagonal is not checked for zeros: a zero gives infinities and NaN.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when a leading dimension is too small or a matrix does
    /// not lie inside its buffer; a stale or foreign buffer. `b` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Side, Uplo, blas::Triangular};
    /// let device = Device::host()?;
    /// let a = device.upload([2.0f64, 1.0, 0.0, 4.0])?.into_output(); // [2 0; 1 4]
    /// let b = device.upload([2.0f64, 9.0])?.into_output();
    /// let spec = Triangular::new(Side::Left, Uplo::Lower, 2, 1);
    /// let x = device.blas().trsm(spec, &a, b)?.await_result()?;
    /// assert_eq!(device.download(&x)?.await_result()?, [1.0, 2.0]);
    /// # Ok(()) }
    /// ```
    pub fn trsm<'a, T: BlasElement>(
        &self,
        spec: impl Into<Scaled<'a, Triangular<T>>>,
        a: impl Readable<'a, T>,
        b: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let Scaled { spec, alpha, .. } = spec.into();
        self.submit(Trsm(spec.column_major()), (a.into(), alpha), (b,))
    }
}
