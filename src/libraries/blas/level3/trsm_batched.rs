//! Batches of solutions with triangular matrices: trsm, batched.

use super::super::lists::{parts, views};
use super::super::prelude::*;
use super::Triangular;
use super::spread::{self, Listed, Spread};
use super::trsm::Triangle;
#[cfg(feature = "host")]
use crate::core::room::collected;
#[cfg(feature = "host")]
use crate::numerics::level3::batch;

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Solve<T: BlasElement, L> {
    pub(super) triangle: Triangle<T>,
    pub(super) count: usize,
    /// Elements from one A to the next, and from one B to the next, unless each has a buffer of its own.
    pub(super) strides: [usize; 2],
    pub(super) _spread: PhantomData<L>,
}

impl<T: BlasElement, L: Spread> Routine for Solve<T, L> {
    const NAME: &'static str = if L::LISTED { "trsm_batched" } else { "trsm" };
    const OPERANDS: OperandNames = (&["a", "alpha"], &["b"]);
    type Reads = (L::Of<T>, Option<T>);
    type Output = L::Matrices<T>;
    type Raw = ();

    fn check(&self, (a, alpha): &Spans<Self::Reads>, (b,): &Spans<(L::Of<T>,)>) -> Result<()> {
        let ([of_a, of_b], count) = (self.triangle.operands(self.strides), self.count);
        check_scalar("alpha", alpha)?;
        check_size("m", self.triangle.m)?;
        check_size("n", self.triangle.n)?;
        check_size("count", count)?;
        L::check::<T>(&of_a, count, a, false)?;
        L::check::<T>(&of_b, count, b, true)
    }

    fn cost(&self) -> Cost {
        let (Cost { flops, bytes }, count) = (self.triangle.cost(), self.count as u64);
        Cost { flops: flops.saturating_mul(count), bytes: bytes.saturating_mul(count) }
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (a, alpha): <Self::Reads as crate::core::buffer::Elems>::Slices<'_>,
        (b,): <(L::Of<T>,) as crate::core::buffer::Elems>::SlicesMut<'_>,
    ) -> Result<()> {
        let (spec, count, triangle) = (self.triangle.on_host(alpha), self.count, &self.triangle);
        let [of_a, of_b] = triangle.operands(self.strides);
        if triangle.m == 0 || triangle.n == 0 {
            return Ok(()); // the number of such problems is not limited
        }
        let work = triangle.order().saturating_mul(triangle.m).saturating_mul(triangle.n);
        let (a, b) = (L::parts::<T>(&of_a, count, a), L::parts_mut::<T>(&of_b, count, b));
        batch::each(collected(a.into_iter().zip(b))?, work, |(a, b)| T::trsm(&spec, a, b));
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let (spec, (a, alpha), (b,)) = (&self.triangle, queue.reads(), queue.writes());
        let (count, [of_a, of_b]) = (self.count, spec.operands(self.strides));
        let [m, n, lda, ldb] = [spec.m, spec.n, spec.lda, spec.ldb].map(|size| size as i64);
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

impl Blas {
    /// [`trsm`](Self::trsm) for each of a batch whose matrices lie in buffers of their own (`cublas<t>trsmBatched`). All A have one
    /// layout, and so have all B.
    ///
    /// # Errors
    /// As [`trsm`](Self::trsm), and when the numbers of A and B differ, or the layouts in a list. All of `b` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Side, Uplo, blas::Triangular};
    /// let device = Device::host()?;
    /// let a = device.tensor([1, 1], [4.0f64])?;
    /// let b = [device.tensor([1, 1], [2.0])?, device.tensor([1, 1], [12.0])?];
    /// let spec = Triangular::new(Side::Left, Uplo::Lower);
    /// let x = device.blas().trsm_batched(spec, [&a, &a], b)?.await_result()?;
    /// assert_eq!(device.to_vec(&x[1])?, [3.0]);
    /// # Ok(()) }
    /// ```
    pub fn trsm_batched<'a, T: BlasElement>(
        &self,
        spec: Triangular<'_, T>,
        a: impl IntoIterator<Item: ReadableTensor<'a, T>>,
        b: impl IntoIterator<Item: WritableTensor<T>>,
    ) -> Submitted<Vec<Tensor<T>>> {
        self.solve_triangles(&spec, &views(a), parts(b))
    }

    fn solve_triangles<T: BlasElement>(
        &self,
        spec: &Triangular<'_, T>,
        a: &[TensorRef<'_, T>],
        b: Vec<Part<T>>,
    ) -> Submitted<Vec<Tensor<T>>> {
        let read = spread::read("a", a, b.len());
        let made = read.as_ref().map_err(Clone::clone).and_then(|(a, of_a)| {
            let of_b = spread::alike("b", b.iter().map(Part::layout))?;
            let (triangle, (alpha, at)) = (Triangle::of(spec, of_a, &of_b)?, spec.alpha.one("alpha")?);
            let (triangle, count, strides) = (Triangle { alpha, ..triangle }, b.len(), [0; 2]);
            Ok((Solve::<T, Listed> { triangle, count, strides, _spread: PhantomData }, (&a[..], at)))
        });
        Part::submit_list(b, (Solve::<T, Listed>::NAME, "blas"), made, |(solve, reads), b| {
            self.submit(solve, reads, (b,))
        })
    }
}
