//! Solutions from the factors: getrs.

use super::super::super::prelude::*;
use super::super::batch::check_int;
use super::super::spread::{Even, Listed, Spread};
use super::LuBatch;
#[cfg(feature = "host")]
use crate::core::room::collected;
#[cfg(feature = "host")]
use crate::numerics::level3::batch;

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(in crate::libraries::blas::level3) struct Solve<T, L> {
    lu: LuBatch,
    trans: Transpose,
    nrhs: usize,
    _type: PhantomData<(T, L)>,
}

impl<T: BlasElement, L: Spread> Routine for Solve<T, L> {
    const NAME: &'static str = if L::LISTED { "getrs_batched" } else { "getrs_strided_batched" };
    const OPERANDS: OperandNames = (&["a", "pivots"], &["b"]);
    type Reads = (L::Of<T>, i32);
    type Output = L::Matrices<T>;
    type Raw = ();

    fn check(&self, (a, pivots): &Spans<Self::Reads>, (b,): &Spans<(L::Of<T>,)>) -> Result<()> {
        self.lu.check_sizes::<L>()?;
        check_int("nrhs", self.nrhs)?;
        let of_b = self.lu.b("b", self.nrhs);
        check_int("ldb", of_b.ld)?;
        L::check::<T>(&self.lu.a(), self.lu.count(), a, false)?;
        self.lu.check_pivots(pivots.len())?;
        L::check::<T>(&of_b, self.lu.count(), b, true)
    }

    fn cost(&self) -> Cost {
        let cost = self.lu.cost::<T>(6, 2);
        let (n, nrhs) = (self.lu.n.max(1) as u64, self.nrhs as u64);
        Cost { flops: (cost.flops / n).saturating_mul(nrhs), ..cost }
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (a, pivots): <Self::Reads as crate::core::buffer::Elems>::Slices<'_>,
        (b,): <(L::Of<T>,) as crate::core::buffer::Elems>::SlicesMut<'_>,
    ) -> Result<()> {
        let (LuBatch { n, .. }, count, of_a, of_b) = (self.lu, self.lu.count(), self.lu.a(), self.lu.b("b", self.nrhs));
        if n == 0 || self.nrhs == 0 {
            return Ok(());
        }
        let factors = L::parts::<T>(&of_a, count, a).into_iter().zip(batch::parts(pivots, n, count));
        let work = n.saturating_mul(n).saturating_mul(self.nrhs);
        batch::each(collected(factors.zip(L::parts_mut::<T>(&of_b, count, b)))?, work, |((a, pivots), b)| {
            T::getrs(n, self.nrhs, self.trans.on_host(), (a, of_a.ld), pivots, (b, of_b.ld));
        });
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let ((a, pivots), (b,)) = (queue.reads(), queue.writes());
        let (LuBatch { n, .. }, count, of_a, of_b) = (self.lu, self.lu.count(), self.lu.a(), self.lu.b("b", self.nrhs));
        if n == 0 || count == 0 || self.nrhs == 0 {
            return Ok(());
        }
        let [a, b] = queue.arrays([&L::places::<T>(&of_a, count, a), &L::places::<T>(&of_b, count, b)])?;
        let pivots = queue.keep_pivots(pivots.address(), n, count)?;
        let (trans, n, nrhs, count) = (self.trans.code::<T>(), n as i32, self.nrhs as i32, count as i32);
        let (lda, ldb, pivots) = (of_a.ld as i32, of_b.ld as i32, pivots as *const _);
        let mut refused = 0i32;
        let info = (&raw mut refused).cast();
        // SAFETY: matrices lie inside their buffers (checked); pivots, each a row, and the arrays of addresses lie in
        // scratch; all live until this work is done. `info` is host memory that only the call writes; the sizes were
        // checked to fit.
        queue.typed(PointerMode::Host, |api, handle| unsafe {
            api.getrs_batched(T::LETTER, handle, trans, n, nrhs, a, lda, pivots, b, ldb, info, count)
        })?;
        match refused {
            0 => Ok(()),
            which => Err(Error::library(format!("cuBLAS rejected argument {which} of getrs"))),
        }
    }
}

impl Blas {
    /// Solves `op(A) * X = B` with `nrhs` right-hand sides for each of a batch at even distances in one buffer, in
    /// place of B, from the factors and pivots of [`getrf_strided_batched`](Self::getrf_strided_batched)
    /// (`cublas<t>getrsBatched`); see [`LuBatch`]. If a matrix is singular, its solution holds infinities and NaN.
    ///
    /// # Errors
    /// As [`getrf_strided_batched`](Self::getrf_strided_batched); `b` comes back.
    pub fn getrs_strided_batched<'a, T: BlasElement>(
        &self,
        lu: LuBatch,
        trans: Transpose,
        nrhs: usize,
        a: impl Readable<'a, T>,
        pivots: impl Readable<'a, i32>,
        b: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let solve = Solve::<T, Even> { lu, trans, nrhs, _type: PhantomData };
        self.submit(solve, (a.into(), pivots.into()), (b,))
    }

    /// As [`getrs_strided_batched`](Self::getrs_strided_batched), of matrices in buffers of their own
    /// (`cublas<t>getrsBatched`).
    ///
    /// # Errors
    /// As [`getrf_batched`](Self::getrf_batched); all of `b` comes back.
    pub fn getrs_batched<'a, T: BlasElement>(
        &self,
        lu: LuBatch,
        trans: Transpose,
        nrhs: usize,
        a: &[In<'a, T>],
        pivots: impl Readable<'a, i32>,
        b: Vec<DeviceBuffer<T>>,
    ) -> Submitted<Vec<DeviceBuffer<T>>> {
        let solve = Solve::<T, Listed> { lu: lu.listed(a.len()), trans, nrhs, _type: PhantomData };
        self.submit(solve, (a, pivots.into()), (b,))
    }
}
