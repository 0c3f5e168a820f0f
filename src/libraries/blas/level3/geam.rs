//! Sums of scaled, optionally transposed matrices: geam.

use super::super::prelude::*;
use super::cost;
#[cfg(feature = "host")]
use crate::numerics::level3::GeamSpec;

/// `C = alpha * op(A) + beta * op(B)`, all `m x n`. With `beta` zero it copies, scales or transposes A.
///
/// Unless set: matrices are column-major, nothing is transposed, leading dimensions leave no gaps, `alpha` is 1 and
/// `beta` 0. A matrix whose factor is zero (by value) is not read.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
#[must_use]
pub struct Geam<T: BlasElement> {
    m: usize,
    n: usize,
    row_major: bool,
    trans_a: Transpose,
    trans_b: Transpose,
    lda: Option<usize>,
    ldb: Option<usize>,
    ldc: Option<usize>,
    alpha: T,
    beta: T,
}

impl<T: BlasElement> Geam<T> {
    /// A sum of `m x n` matrices.
    pub fn new(m: usize, n: usize) -> Self {
        let (trans_a, trans_b) = (Transpose::No, Transpose::No);
        let (alpha, beta) = (<T as GemmElement>::ONE, T::default());
        Geam { m, n, row_major: false, trans_a, trans_b, lda: None, ldb: None, ldc: None, alpha, beta }
    }

    /// The equivalent sum of column-major matrices.
    fn column_major(self) -> Self {
        if !self.row_major {
            return self;
        }
        Geam { m: self.n, n: self.m, row_major: false, ..self }
    }

    /// Leading dimensions of A, B and C.
    fn leading(&self) -> [usize; 3] {
        let stored = |trans: Transpose| trans.stored(self.m, self.n).0.max(1);
        let (a, b, c) = (stored(self.trans_a), stored(self.trans_b), self.m.max(1));
        [self.lda.unwrap_or(a), self.ldb.unwrap_or(b), self.ldc.unwrap_or(c)]
    }
}

setters!(Geam<T: BlasElement> {
    /// What is done to A before the sum.
    trans_a: Transpose;
    /// What is done to B before the sum.
    trans_b: Transpose;
    /// Elements between the columns (in row-major order the rows) of A as stored.
    lda: usize;
    /// Elements between the columns (in row-major order the rows) of B as stored.
    ldb: usize;
    /// Elements between the columns (in row-major order the rows) of C.
    ldc: usize;
});
row_major!(Geam<T: BlasElement>);
scalars!(Geam<T: BlasElement>, alpha: T, beta: T);

impl<T: BlasElement> Routine for Geam<T> {
    const NAME: &'static str = "geam";
    const OPERANDS: OperandNames = (&["a", "b", "alpha", "beta"], &["c"]);
    type Reads = (T, T, Option<T>, Option<T>);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (a, b, alpha, beta): &Spans<Self::Reads>, (c,): &Spans<(T,)>) -> Result<()> {
        let (m, n, [lda, ldb, ldc]) = (self.m, self.n, self.leading());
        check_size("m", m)?;
        check_size("n", n)?;
        check_scalar("alpha", alpha)?;
        check_scalar("beta", beta)?;
        let ((rows_a, cols_a), (rows_b, cols_b)) = (self.trans_a.stored(m, n), self.trans_b.stored(m, n));
        check_matrix("a", rows_a, cols_a, lda, a.len())?;
        check_matrix("b", rows_b, cols_b, ldb, b.len())?;
        check_matrix("c", m, n, ldc, c.len())
    }

    fn overwrites(&self, (c,): &Spans<(T,)>) -> bool {
        fills(self.m, self.n, self.leading()[2], c.len())
    }

    fn cost(&self) -> Cost {
        let elements = self.m.saturating_mul(self.n);
        cost::<T>([self.m, self.n, 1], [elements; 3])
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, b, alpha, beta): (&[T], &[T], Option<&[T]>, Option<&[T]>), (c,): (&mut [T],)) -> Result<()> {
        let (m, n, [lda, ldb, ldc]) = (self.m, self.n, self.leading());
        let (op_a, op_b) = (self.trans_a.on_host(), self.trans_b.on_host());
        let (alpha, beta) = (value(self.alpha, alpha), value(self.beta, beta));
        T::geam(&GeamSpec { m, n, op_a, lda, op_b, ldb, ldc, alpha, beta }, a, b, c);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let ((a, b, alpha, beta), (c,)) = (*queue.reads(), *queue.writes());
        let (m, n, [lda, ldb, ldc]) = (self.m as i64, self.n as i64, self.leading().map(|ld| ld as i64));
        if m == 0 || n == 0 {
            return Ok(());
        }
        let (alpha, beta) = (Scalar::new(self.alpha, &alpha), Scalar::new(self.beta, &beta));
        let (trans_a, trans_b) = (self.trans_a.code::<T>(), self.trans_b.code::<T>());
        // A matrix that is multiplied by zero must not be read: the other matrix is passed instead.
        let (of_a, of_b) = ((trans_a, a.address(), lda), (trans_b, b.address(), ldb));
        let [(trans_a, a, lda), (trans_b, b, ldb)] = match (alpha.is_zero(), beta.is_zero()) {
            (true, true) => return queue.scale_matrix::<T>((self.m, self.n), &beta, c.address(), ldc),
            (true, false) => [of_b; 2],
            (false, true) => [of_a; 2],
            (false, false) => [of_a, of_b],
        };
        let (a, b, c) = (a as *const _, b as *const _, c.address() as *mut _);
        // SAFETY: the matrices lie inside their buffers (checked), which live until this work is done; scalars in host
        // memory are read before the call returns.
        queue.typed(alpha.mode(), |api, handle| unsafe {
            let (alpha, beta) = (alpha.pointer(), beta.pointer());
            api.geam(T::LETTER, handle, trans_a, trans_b, m, n, alpha, a, lda, beta, b, ldb, c, ldc)
        })
    }
}

impl Blas {
    /// The sum of two scaled matrices (`cublas<t>geam`); see [`Geam`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when a leading dimension is too small or a matrix does
    /// not lie inside its buffer; a stale or foreign buffer. `c` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Transpose, blas::Geam};
    /// let device = Device::host()?;
    /// let a = device.upload([1.0f32, 2.0, 3.0, 4.0])?.into_output();
    /// let spec = Geam::new(2, 2).trans_b(Transpose::Yes).beta(10.0);
    /// let c = device.blas().geam(spec, &a, &a, device.uninit(4)?)?.await_result()?; // A + 10 A^T
    /// assert_eq!(device.download(&c)?.await_result()?, [11.0, 32.0, 23.0, 44.0]);
    /// # Ok(()) }
    /// ```
    pub fn geam<'a, T: BlasElement>(
        &self,
        spec: impl Into<Scaled<'a, Geam<T>>>,
        a: impl Readable<'a, T>,
        b: impl Readable<'a, T>,
        c: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let Scaled { spec, alpha, beta } = spec.into();
        self.submit(spec.column_major(), (a.into(), b.into(), alpha, beta), (c,))
    }
}
