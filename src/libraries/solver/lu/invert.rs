//! getri.

use super::super::Inverse;
use super::super::given::sizes;
use super::super::prelude::*;
use super::Lu;
use crate::core::dispatch::PendingDispatch;
use crate::core::op::Verdict;
#[cfg(feature = "host")]
use crate::core::room::{collected, filled};
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::calls;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::dense;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::kernels;

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(in crate::libraries::solver) struct Getri<T> {
    a: Matrix,
    c: Matrix,
    _type: PhantomData<T>,
}

impl<T: SolverElement> Routine for Getri<T> {
    type Front = crate::libraries::solver::Solver;
    const NAME: &'static str = "getri";
    const OPERANDS: OperandNames = (&["a", "pivots"], &["c"]);
    type Reads = (T, i64);
    type Output = Inverse<T>;
    type Raw = First;

    fn check(&self, (a, pivots): &Spans<(T, i64)>, (c,): &Spans<(T,)>) -> Result<()> {
        self.a.check("a", a.len())?;
        self.a.check_square("a")?;
        self.c.check("c", c.len())?;
        self.c.check_square("c")?;
        self.c.check_beside("c", self.a.rows, &self.a)?;
        check_len("pivots", self.a.rows, self.a.count, pivots.len())
    }

    fn overwrites_each(&self, (c,): &Spans<(T,)>, _: usize) -> bool {
        self.c.fills(c.len())
    }

    fn cost(&self) -> Cost {
        let n = self.a.rows;
        cost::<T>(3, [n; 3], self.a.count, n.saturating_mul(n).saturating_mul(2))
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, pivots): (&[T], &[i64]), (c,): (&mut [T],)) -> Result<First> {
        let (of_a, of_c) = (&self.a, &self.c);
        let mut info = filled(of_a.count, 0)?;
        let factors = batch::parts(of_a, a).into_iter().zip(batch::vectors(pivots, of_a.rows, of_a.count));
        let items = collected(factors.zip(batch::parts_mut(of_c, c)).zip(&mut info))?;
        batch::each(items, batch::cube(of_a.rows), |(((a, pivots), c), info), threads| {
            *info = T::lu_invert(a, pivots, c, threads);
        });
        Ok(first(&info))
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((a, pivots), (c,)) = (queue.reads(), queue.writes());
        let (of_a, of_c, n) = (&self.a, &self.c, self.a.rows);
        let info = queue.scratch(4 * of_a.count.max(1))?;
        if of_a.is_empty() {
            calls::no_infos(queue, info, of_a.count)?;
            return calls::verdict(queue, info, of_a.count);
        }
        let (kept, unused) = (kernels::keep_pivots(queue, pivots.address(), n, of_a.count, false)?, queue.scratch(4)?);
        for k in 0..of_a.count {
            let a = (of_a.address::<T>(a.address(), k), of_a.leading());
            let c = (of_c.address::<T>(c.address(), k), of_c.leading());
            // SAFETY: C lies inside its buffer (checked), and its contents are not read.
            unsafe { kernels::copy_matrix::<T>(queue, Copy::Identity, c, c, (n, n)) }?;
            kernels::first_zero::<T>(queue, a, n, info + 4 * k as u64)?;
            dense::getrs::<T>(queue, Transpose::No, (n, n), a, kept + 8 * (k * n) as u64, c, unused)?;
        }
        calls::verdict(queue, info, of_a.count)
    }

    fn finish(&self, raw: First) -> Result<()> {
        Meaning::Singular.verdict(raw)
    }
}

impl<T: SolverElement> Lu<T> {
    /// The inverse of each matrix, as a new tensor.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the factors are not square, or were put together of parts that do not agree;
    /// [`Error::OutOfMemory`] for the new tensor; a stale or foreign one; at the wait [`Error::Singular`], and then what the tensor
    /// holds of that matrix is not specified.
    pub fn inverse(&self, solver: &Solver) -> Result<PendingDispatch<Inverse<T>, Verdict>> {
        let (batch, of) = sizes("a", self.factors.layout())?;
        let c = solver.new_matrices(batch, of.rows, of.rows)?;
        let (of_a, factors) = matrices_of("a", &self.factors)?;
        let op = Getri { a: of_a, c: Matrix::of("c", c.layout())?, _type: PhantomData };
        Ok(solver.submit(op, (factors, elements_of("pivots", &self.pivots)?), (c,))?)
    }
}
