//! Solutions from the factors: getrs.

use super::super::super::lists::{parts, views};
use super::super::super::prelude::*;
use super::super::batch::check_int;
use super::super::orders::batch_of;
use super::super::spread::{self, Even, Listed, Spread};
use super::{Batch, Beside, check_numbers};
#[cfg(feature = "host")]
use crate::core::room::collected;
#[cfg(feature = "host")]
use crate::numerics::level3::batch;

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(in crate::libraries::blas::level3) struct Solve<T, L> {
    lu: Batch,
    trans: Transpose,
    b: Beside,
    _type: PhantomData<(T, L)>,
}

impl<T: BlasElement, L: Spread> Routine for Solve<T, L> {
    const NAME: &'static str = if L::LISTED { "getrs_batched" } else { "getrs" };
    const OPERANDS: OperandNames = (&["a", "pivots"], &["b"]);
    type Reads = (L::Of<T>, i32);
    type Output = L::Matrices<T>;
    type Raw = ();

    fn check(&self, (a, pivots): &Spans<Self::Reads>, (b,): &Spans<(L::Of<T>,)>) -> Result<()> {
        self.lu.check_sizes()?;
        check_int("nrhs", self.b.cols)?;
        let of_b = self.lu.b("b", &self.b);
        check_int("ldb", of_b.ld)?;
        L::check::<T>(&self.lu.a(), self.lu.count, a, false)?;
        self.lu.check_pivots(pivots.len())?;
        L::check::<T>(&of_b, self.lu.count, b, true)
    }

    fn cost(&self) -> Cost {
        let cost = self.lu.cost::<T>(6, 2);
        let (n, nrhs) = (self.lu.n.max(1) as u64, self.b.cols as u64);
        Cost { flops: (cost.flops / n).saturating_mul(nrhs), ..cost }
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (a, pivots): <Self::Reads as crate::core::buffer::Elems>::Slices<'_>,
        (b,): <(L::Of<T>,) as crate::core::buffer::Elems>::SlicesMut<'_>,
    ) -> Result<()> {
        let (Batch { n, .. }, count, of_a, of_b) = (self.lu, self.lu.count, self.lu.a(), self.lu.b("b", &self.b));
        if n == 0 || self.b.cols == 0 {
            return Ok(());
        }
        let factors = L::parts::<T>(&of_a, count, a).into_iter().zip(batch::parts(pivots, n, count));
        let work = n.saturating_mul(n).saturating_mul(self.b.cols);
        batch::each(collected(factors.zip(L::parts_mut::<T>(&of_b, count, b)))?, work, |((a, pivots), b)| {
            T::getrs(n, self.b.cols, self.trans.on_host(), (a, of_a.ld), pivots, (b, of_b.ld));
        });
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let ((a, pivots), (b,)) = (queue.reads(), queue.writes());
        let (Batch { n, .. }, count, of_a, of_b) = (self.lu, self.lu.count, self.lu.a(), self.lu.b("b", &self.b));
        if n == 0 || count == 0 || self.b.cols == 0 {
            return Ok(());
        }
        let [a, b] = queue.arrays([&L::places::<T>(&of_a, count, a), &L::places::<T>(&of_b, count, b)])?;
        let pivots = queue.keep_pivots(pivots.address(), n, count)?;
        let (trans, n, nrhs, count) = (self.trans.code::<T>(), n as i32, self.b.cols as i32, count as i32);
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
    /// Solves `op(A) * X = B` in place of B (`cublas<t>getrsBatched`), from the factors `[.., n, n]` and pivots `[.., n]` of
    /// [`getrf`](Self::getrf). B is `[.., n, nrhs]`, its columns contiguous, and has the batch axes of A. If a matrix is singular, its
    /// solution holds infinities and NaN. (The factors cannot be transposed as a view, so `trans` is an argument.)
    ///
    /// # Errors
    /// As [`getrf`](Self::getrf); `b` comes back.
    pub fn getrs<'a, 'p, T: BlasElement>(
        &self,
        trans: Transpose,
        a: impl ReadableTensor<'a, T>,
        pivots: impl ReadableTensor<'p, i32>,
        b: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        let (a, pivots, b) = (a.into(), pivots.into(), b.into());
        let made = a.operand().and_then(|(part, of_a)| {
            let ((pivots, of_pivots), (of_a, batch)) = (pivots.operand()?, batch_of("a", &of_a)?);
            let (of_b, _) = batch_of("b", b.layout())?;
            let lu = Batch::new(&of_a, of_a.columns("a")?, of_a.count)?;
            check_numbers("pivots", &of_pivots, batch, Some(lu.n))?;
            let b = lu.beside("b", &of_b, of_b.columns("b")?, of_b.count)?;
            Ok((Solve::<T, Even> { lu, trans, b, _type: PhantomData }, (part, pivots)))
        });
        self.writes(made, b)
    }

    /// As [`getrs`](Self::getrs), of matrices in buffers of their own (`cublas<t>getrsBatched`), all A of one layout, and all B.
    ///
    /// # Errors
    /// As [`getrf_batched`](Self::getrf_batched), and when the numbers of A and B differ; all of `b` comes back.
    pub fn getrs_batched<'a, 'p, T: BlasElement>(
        &self,
        trans: Transpose,
        a: impl IntoIterator<Item: ReadableTensor<'a, T>>,
        pivots: impl ReadableTensor<'p, i32>,
        b: impl IntoIterator<Item: WritableTensor<T>>,
    ) -> Submitted<Vec<Tensor<T>>> {
        self.solve_list(trans, &views(a), &pivots.into(), parts(b))
    }

    fn solve_list<T: BlasElement>(
        &self,
        trans: Transpose,
        a: &[TensorRef<'_, T>],
        pivots: &TensorRef<'_, i32>,
        b: Vec<Part<T>>,
    ) -> Submitted<Vec<Tensor<T>>> {
        let read = spread::read("a", a, b.len());
        let made = read.as_ref().map_err(Clone::clone).and_then(|(parts, of_a)| {
            let ((pivots, of_pivots), of_b) = (pivots.operand()?, spread::alike("b", b.iter().map(Part::layout))?);
            let lu = Batch::new(of_a, of_a.columns("a")?, a.len())?;
            check_numbers("pivots", &of_pivots, &[a.len()], Some(lu.n))?;
            let b = lu.beside("b", &of_b, of_b.columns("b")?, b.len())?;
            Ok((Solve::<T, Listed> { lu, trans, b, _type: PhantomData }, (&parts[..], pivots)))
        });
        Part::submit_list(b, (Solve::<T, Listed>::NAME, "blas"), made, |(solve, reads), b| {
            self.submit(solve, reads, (b,))
        })
    }
}
