//! getrs.

use super::super::prelude::*;
use super::Lu;
#[cfg(feature = "host")]
use crate::core::room::collected;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::dense;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::kernels;

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(in crate::libraries::solver) struct Getrs<T> {
    trans: Transpose,
    a: Matrix,
    b: Matrix,
    _type: PhantomData<T>,
}

impl<T: SolverElement> Getrs<T> {
    /// What is done where the matrices are small.
    fn small(&self) -> Option<System> {
        System::new::<T>(Row::LuSolve { transposed: self.trans != Transpose::No }, &self.a, Some(&self.b))
    }
}

impl<T: SolverElement> Routine for Getrs<T> {
    type Front = crate::libraries::solver::Solver;
    const NAME: &'static str = "getrs";
    const OPERANDS: OperandNames = (&["a", "pivots"], &["b"]);
    type Reads = (T, i64);
    type Output = Tensor<T>;
    type Raw = ();

    fn check(&self, (a, pivots): &Spans<(T, i64)>, (b,): &Spans<(T,)>) -> Result<()> {
        self.a.check("a", a.len())?;
        self.a.check_square("a")?;
        self.b.check("b", b.len())?;
        self.b.check_beside("b", self.a.rows, &self.a)?;
        check_len("pivots", self.a.rows, self.a.count, pivots.len())
    }

    fn cost(&self) -> Cost {
        let (n, nrhs) = (self.a.rows, self.b.cols);
        cost::<T>(3, [n, n, nrhs], self.a.count, n.saturating_mul(n.saturating_add(nrhs)))
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, pivots): (&[T], &[i64]), (b,): (&mut [T],)) -> Result<()> {
        let (of_a, of_b) = (&self.a, &self.b);
        if of_b.is_empty() {
            return Ok(());
        }
        if let Some(job) = self.small() {
            let (a, pivots) = ((of_a, Memory::Read(a)), Memory::Read(pivots));
            systems(&job, Systems { a, pivots, b: (of_b, b), info: &mut [] });
            return Ok(());
        }
        let factors = batch::parts(of_a, a).into_iter().zip(batch::vectors(pivots, of_a.rows, of_a.count));
        let items = collected(factors.zip(batch::parts_mut(of_b, b)))?;
        let work = of_a.rows.saturating_mul(of_a.rows).saturating_mul(of_b.cols);
        batch::each(items, work, |((a, pivots), b), threads| {
            T::lu_solve(self.trans.on_host(), a, pivots, b, threads);
        });
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((a, pivots), (b,)) = (queue.reads(), queue.writes());
        let (of_a, of_b, n) = (&self.a, &self.b, self.a.rows);
        if of_b.is_empty() {
            return Ok(());
        }
        if let Some(job) = self.small() {
            let at = small_lu::At::new((of_a, a.address())).beside((of_b, b.address())).pivots(pivots.address());
            return small_lu::launch::<T>(queue, &job, of_a.count, at);
        }
        let (kept, info) = (kernels::keep_pivots(queue, pivots.address(), n, of_a.count, false)?, queue.scratch(4)?);
        for k in 0..of_a.count {
            let a = (of_a.address::<T>(a.address(), k), of_a.leading());
            let b = (of_b.address::<T>(b.address(), k), of_b.leading());
            dense::getrs::<T>(queue, self.trans, (n, of_b.cols), a, kept + 8 * (k * n) as u64, b, info)?;
        }
        Ok(())
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

impl<T: SolverElement> Lu<T> {
    /// Solves `op(A) * X = B` with these factors (`getrs`; `cusolverDnXgetrs`), in the memory of B if it is given by value. A B of
    /// one axis is a vector. If a matrix is singular, the solution holds infinities and NaN.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`], with both shapes, when B has not as many rows as A, or another batch, or when the factors are not square; a stale or
    /// foreign tensor. B comes back.
    pub fn solve<'b>(&self, solver: &Solver, trans: Transpose, b: impl GivenTensor<'b, T>) -> Submitted<Tensor<T>> {
        self.getrs(solver, trans, b.into())
    }

    fn getrs(&self, solver: &Solver, trans: Transpose, b: Given<'_, T>) -> Submitted<Tensor<T>> {
        let factors = || Ok((matrices_of("a", &self.factors)?, elements_of("pivots", &self.pivots)?));
        solver.with_factors(Getrs::<T>::NAME, factors(), b, &self.factors, |((a, factors), pivots), b, x| {
            solver.submit(Getrs { trans, a, b, _type: PhantomData }, (factors, pivots), (x,))
        })
    }
}
