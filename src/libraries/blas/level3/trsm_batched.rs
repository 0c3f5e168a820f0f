//! Batches of solutions with triangular matrices: trsm, batched.

use super::super::prelude::*;
use super::batch::{Batch, Operand};
use super::spread::{Even, Listed, Spread};
use super::{Batched, Triangular};
#[cfg(feature = "host")]
use crate::core::room::collected;
#[cfg(feature = "host")]
use crate::numerics::level3::batch;

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Solve<T: BlasElement, L> {
    spec: Triangular<T>,
    batch: Batch,
    _spread: PhantomData<L>,
}

impl<T: BlasElement, L: Spread> Solve<T, L> {
    /// A and B.
    fn operands(&self) -> [Operand; 2] {
        let (order, n, [lda, ldb]) = (self.spec.order(), self.spec.n, self.spec.leading());
        let [stride_a, stride_b, _] = self.batch.strides([(lda, order), (ldb, n), (0, 0)]);
        [
            Operand { name: "a", rows: order, cols: order, ld: lda, stride: stride_a },
            Operand { name: "b", rows: self.spec.m, cols: n, ld: ldb, stride: stride_b },
        ]
    }
}

impl<T: BlasElement, L: Spread> Routine for Solve<T, L> {
    const NAME: &'static str = if L::LISTED { "trsm_batched" } else { "trsm_strided_batched" };
    const OPERANDS: OperandNames = (&["a", "alpha"], &["b"]);
    type Reads = (L::Of<T>, Option<T>);
    type Output = L::Matrices<T>;
    type Raw = ();

    fn check(&self, (a, alpha): &Spans<Self::Reads>, (b,): &Spans<(L::Of<T>,)>) -> Result<()> {
        let ([of_a, of_b], count) = (self.operands(), self.batch.count);
        check_scalar("alpha", alpha)?;
        check_size("m", self.spec.m)?;
        check_size("n", self.spec.n)?;
        check_size("count", count)?;
        self.spec.check_in_place()?;
        L::check::<T>(&of_a, count, a, false)?;
        L::check::<T>(&of_b, count, b, true)
    }

    fn cost(&self) -> Cost {
        let (Cost { flops, bytes }, count) = (self.spec.cost(), self.batch.count as u64);
        Cost { flops: flops.saturating_mul(count), bytes: bytes.saturating_mul(count) }
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (a, alpha): <Self::Reads as crate::core::buffer::Elems>::Slices<'_>,
        (b,): <(L::Of<T>,) as crate::core::buffer::Elems>::SlicesMut<'_>,
    ) -> Result<()> {
        let (spec, count, [of_a, of_b]) = (self.spec.on_host(alpha), self.batch.count, self.operands());
        if self.spec.m == 0 || self.spec.n == 0 {
            return Ok(()); // the number of such problems is not limited
        }
        let work = self.spec.order().saturating_mul(self.spec.m).saturating_mul(self.spec.n);
        let (a, b) = (L::parts::<T>(&of_a, count, a), L::parts_mut::<T>(&of_b, count, b));
        batch::each(collected(a.into_iter().zip(b))?, work, |(a, b)| T::trsm(&spec, a, b));
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let (spec, (a, alpha), (b,)) = (&self.spec, queue.reads(), queue.writes());
        let (count, [of_a, of_b], [lda, ldb]) = (self.batch.count, self.operands(), spec.leading().map(|ld| ld as i64));
        let (m, n) = (spec.m as i64, spec.n as i64);
        if m == 0 || n == 0 || count == 0 {
            return Ok(());
        }
        let alpha = Scalar::new(spec.alpha, alpha);
        if alpha.is_zero() {
            for b in L::places::<T>(&of_b, count, b).iter() {
                queue.scale_matrix::<T>((spec.m, spec.n), &alpha, b, ldb)?;
            }
            return Ok(());
        }
        let [a, b] = queue.arrays([&L::places::<T>(&of_a, count, a), &L::places::<T>(&of_b, count, b)])?;
        let (side, uplo, trans) = (spec.side.code(), spec.uplo.code(), spec.trans.code::<T>());
        let diag = spec.diag.code();
        // SAFETY: the matrices lie inside their buffers (checked) and the arrays of their addresses in scratch, which
        // live until this work is done; a scalar in host memory is read before the call returns.
        queue.typed(alpha.mode(), |api, handle| unsafe {
            let (alpha, count) = (alpha.pointer(), count as i64);
            api.trsm_batched(T::LETTER, handle, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb, count)
        })
    }
}

impl<T: BlasElement> Triangular<T> {
    /// `count` solutions of this shape, for [`Blas::trsm_strided_batched`].
    pub fn batch(self, count: usize) -> Batched<Self> {
        Batched::new(self, count)
    }
}

impl<T: BlasElement> Batched<Triangular<T>> {
    /// Reads the scalar of all solutions from device memory, the first element, when the work runs.
    pub fn alpha_at<'a>(self, alpha: impl Readable<'a, T>) -> Scaled<'a, Self> {
        Scaled { spec: self, alpha: Some(alpha.into()), beta: None }
    }
}

impl Blas {
    /// [`trsm`](Self::trsm) for each of a batch at even distances in one buffer (`cublas<t>trsmBatched`).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when a leading dimension is too small, the matrices do not lie inside their buffers, or
    /// those of B overlap; a stale or foreign buffer. `b` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Side, Uplo, blas::Triangular};
    /// let device = Device::host()?;
    /// let a = device.upload([2.0f64, 4.0])?.into_output(); // two matrices of 1 x 1
    /// let b = device.upload([2.0f64, 12.0])?.into_output();
    /// let spec = Triangular::new(Side::Left, Uplo::Lower, 1, 1).batch(2);
    /// let x = device.blas().trsm_strided_batched(spec, &a, b)?.await_result()?;
    /// assert_eq!(device.download(&x)?.await_result()?, [1.0, 3.0]);
    /// # Ok(()) }
    /// ```
    pub fn trsm_strided_batched<'a, T: BlasElement>(
        &self,
        spec: impl Into<Scaled<'a, Batched<Triangular<T>>>>,
        a: impl Readable<'a, T>,
        b: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let Scaled { spec: Batched { spec, batch }, alpha, .. } = spec.into();
        let spec = spec.column_major();
        self.submit(Solve::<T, Even> { spec, batch, _spread: PhantomData }, (a.into(), alpha), (b,))
    }

    /// [`trsm`](Self::trsm) for each of a batch whose matrices lie in buffers of their own (`cublas<t>trsmBatched`).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the numbers of A and B differ, a leading dimension is too small or a matrix does
    /// not lie inside its buffer; a stale or foreign buffer. All of `b` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Side, Uplo, blas::Triangular};
    /// let device = Device::host()?;
    /// let a = device.upload([4.0f64])?.into_output();
    /// let b = vec![device.upload([2.0f64])?.into_output(), device.upload([12.0f64])?.into_output()];
    /// let spec = Triangular::new(Side::Left, Uplo::Lower, 1, 1);
    /// let x = device.blas().trsm_batched(spec, &[a.as_in(), a.as_in()], b)?.await_result()?;
    /// assert_eq!(device.download(&x[1])?.await_result()?, [3.0]);
    /// # Ok(()) }
    /// ```
    pub fn trsm_batched<'a, T: BlasElement>(
        &self,
        spec: impl Into<Scaled<'a, Triangular<T>>>,
        a: &[In<'a, T>],
        b: Vec<DeviceBuffer<T>>,
    ) -> Submitted<Vec<DeviceBuffer<T>>> {
        let (Scaled { spec, alpha, .. }, batch) = (spec.into(), Batch::new(b.len()));
        let spec = spec.column_major();
        self.submit(Solve::<T, Listed> { spec, batch, _spread: PhantomData }, (a, alpha), (b,))
    }
}
