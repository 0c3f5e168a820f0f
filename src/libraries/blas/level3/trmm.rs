//! Products with a triangular matrix, in place or into another matrix: trmm.

use super::super::prelude::*;
use super::Triangular;
#[cfg(feature = "host")]
use crate::numerics::level3::TriSpec;

/// In place of B.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct InPlace<T: BlasElement>(Triangular<T>);

/// Into C.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Apart<T: BlasElement>(Triangular<T>);

/// Enqueues `C = alpha * op(A) * B`; C may be B.
#[cfg(feature = "cuda")]
fn enqueue<T: BlasElement, R: Routine>(
    queue: &mut Queue<'_, '_, R>,
    spec: &Triangular<T>,
    alpha: &Scalar<T>,
    (a, b, c): (u64, u64, u64),
    ldc: usize,
) -> Result<()> {
    let (m, n, [lda, ldb]) = (spec.m as i64, spec.n as i64, spec.leading().map(|ld| ld as i64));
    if m == 0 || n == 0 {
        return Ok(());
    }
    if alpha.is_zero() {
        return queue.scale_matrix::<T>((spec.m, spec.n), alpha, c, ldc as i64);
    }
    let (side, uplo, trans) = (spec.side.code(), spec.uplo.code(), spec.trans.code::<T>());
    let (diag, ldc) = (spec.diag.code(), ldc as i64);
    let (a, b, c) = (a as *const _, b as *const _, c as *mut _);
    // SAFETY: the matrices lie inside their buffers (the routine's check), which live until this work is done; the
    // library allows C to be B where their leading dimensions are the same; a scalar in host memory is read before the
    // call returns.
    queue.typed(alpha.mode(), |api, handle| unsafe {
        api.trmm(T::LETTER, handle, side, uplo, trans, diag, m, n, alpha.pointer(), a, lda, b, ldb, c, ldc)
    })
}

impl<T: BlasElement> Routine for InPlace<T> {
    const NAME: &'static str = "trmm";
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
        T::trmm(&self.0.on_host(alpha), a, b);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let ((a, alpha), (b,), [_, ldb]) = (*queue.reads(), *queue.writes(), self.0.leading());
        let alpha = Scalar::new(self.0.alpha, &alpha);
        enqueue(queue, &self.0, &alpha, (a.address(), b.address(), b.address()), ldb)
    }
}

impl<T: BlasElement> Routine for Apart<T> {
    const NAME: &'static str = "trmm";
    const OPERANDS: OperandNames = (&["a", "b", "alpha"], &["c"]);
    type Reads = (T, T, Option<T>);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (a, b, alpha): &Spans<Self::Reads>, (c,): &Spans<(T,)>) -> Result<()> {
        check_scalar("alpha", alpha)?;
        self.0.check(a.len(), b.len())?;
        check_matrix("c", self.0.m, self.0.n, self.0.leading_of_c(), c.len())
    }

    fn overwrites(&self, (c,): &Spans<(T,)>) -> bool {
        fills(self.0.m, self.0.n, self.0.leading_of_c(), c.len())
    }

    fn cost(&self) -> Cost {
        self.0.cost()
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, b, alpha): (&[T], &[T], Option<&[T]>), (c,): (&mut [T],)) -> Result<()> {
        let (spec, ldc) = (self.0.on_host(alpha), self.0.leading_of_c());
        T::copy(spec.m, spec.n, (b, spec.ldb), (c, ldc));
        T::trmm(&TriSpec { ldb: ldc, ..spec }, a, c);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let ((a, b, alpha), (c,)) = (*queue.reads(), *queue.writes());
        let alpha = Scalar::new(self.0.alpha, &alpha);
        enqueue(queue, &self.0, &alpha, (a.address(), b.address(), c.address()), self.0.leading_of_c())
    }
}

impl Blas {
    /// The product with a triangular matrix in place of B, `B = alpha * op(A) * B` (A on the left) or
    /// `B = alpha * B * op(A)` (`cublas<t>trmm` with one matrix as B and C); see [`Triangular`].
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
    /// let b = device.upload([1.0f64, 2.0])?.into_output();
    /// let spec = Triangular::new(Side::Left, Uplo::Lower, 2, 1);
    /// let b = device.blas().trmm(spec, &a, b)?.await_result()?;
    /// assert_eq!(device.download(&b)?.await_result()?, [2.0, 9.0]);
    /// # Ok(()) }
    /// ```
    pub fn trmm<'a, T: BlasElement>(
        &self,
        spec: impl Into<Scaled<'a, Triangular<T>>>,
        a: impl Readable<'a, T>,
        b: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let Scaled { spec, alpha, .. } = spec.into();
        self.submit(InPlace(spec.column_major()), (a.into(), alpha), (b,))
    }

    /// As [`trmm`](Self::trmm), but B does not change and the product goes to `c` (`cublas<t>trmm`), which has a
    /// leading dimension of its own, [`Triangular::ldc`].
    ///
    /// # Errors
    /// As [`trmm`](Self::trmm); `c` comes back.
    pub fn trmm_into<'a, T: BlasElement>(
        &self,
        spec: impl Into<Scaled<'a, Triangular<T>>>,
        a: impl Readable<'a, T>,
        b: impl Readable<'a, T>,
        c: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let Scaled { spec, alpha, .. } = spec.into();
        self.submit(Apart(spec.column_major()), (a.into(), b.into(), alpha), (c,))
    }
}
