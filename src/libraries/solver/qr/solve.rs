//! Least squares from the factors.

use super::super::Solution;
use super::super::prelude::*;
use super::Qr;
use crate::core::op::Verdict;
#[cfg(feature = "host")]
use crate::core::room::{collected, filled};
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::{calls, dense, small_qr};

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(in crate::libraries::solver) struct Qrs<T> {
    a: Matrix,
    b: Matrix,
    /// Where the rows of B are.
    axis: isize,
    _type: PhantomData<T>,
}

type Reads<T> = (T, T, Option<i64>);

impl<T: SolverElement> Qrs<T> {
    /// What is done where the matrices are small.
    fn small(&self, pivoted: bool) -> Option<Job> {
        let small = !pivoted && !self.a.is_empty() && fits_qr::<T>(&[self.a.rows, self.a.cols, self.b.cols]);
        small.then(|| Job::new(Task::Solve, &self.a).beside(&self.b))
    }
}

impl<T: SolverElement> Routine for Qrs<T> {
    type Front = crate::libraries::solver::Solver;
    const NAME: &'static str = "geqrs";
    const OPERANDS: OperandNames = (&["a", "tau", "columns"], &["b"]);
    type Reads = Reads<T>;
    type Output = Solution<T>;
    type Raw = First;

    fn check(&self, (a, tau, columns): &Spans<Reads<T>>, (b,): &Spans<(T,)>) -> Result<()> {
        self.a.check("a", a.len())?;
        if self.a.rows < self.a.cols {
            let what =
                format!("{} x {}: least squares needs at least as many rows as columns", self.a.rows, self.a.cols);
            return Err(Error::invalid("a", what));
        }
        check_len("tau", self.a.size(), self.a.count, tau.len())?;
        if let Some(columns) = columns {
            check_len("columns", self.a.cols, self.a.count, columns.len())?;
        }
        self.b.check("b", b.len())?;
        self.b.check_beside("b", self.a.rows, &self.a)
    }

    fn cost(&self) -> Cost {
        let (Matrix { rows, cols, count, .. }, nrhs) = (self.a, self.b.cols);
        cost::<T>(9, [rows, cols, nrhs], count, rows.saturating_mul(cols.saturating_add(nrhs)))
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, tau, columns): (&[T], &[T], Option<&[i64]>), (b,): (&mut [T],)) -> Result<First> {
        let (of_a, of_b) = (&self.a, &self.b);
        let mut info = filled(of_a.count, 0)?;
        if let Some(job) = self.small(columns.is_some()) {
            let (a, tau) = ((of_a, Memory::Read(a)), Memory::Read(tau));
            small(&job, Operands { a, tau, b: (of_b, b), info: &mut info });
            return Ok(first(&info));
        }
        let (tau, columns) = (
            batch::vectors(tau, of_a.size(), of_a.count),
            batch::vectors(columns.unwrap_or_default(), of_a.cols, of_a.count),
        );
        let items: Vec<_> = collected(batch::parts(of_a, a).into_iter().zip(tau).zip(columns))?;
        let items = collected(items.into_iter().zip(batch::parts_mut(of_b, b)).zip(&mut info))?;
        let work = of_a.rows.saturating_mul(of_a.cols).saturating_mul(of_b.cols);
        batch::each(items, work, |((((a, tau), columns), b), info), threads| {
            *info = T::geqrs(a, tau, columns, b, threads);
        });
        Ok(first(&info))
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((a, tau, columns), (b,)) = (queue.reads(), queue.writes());
        if columns.is_some() {
            return Err(Error::unsupported("cuSOLVER has no QR with column pivoting"));
        }
        let (of_a, of_b, n) = (&self.a, &self.b, self.a.cols);
        let info = queue.scratch(4 * of_a.count.max(1))?;
        if of_a.is_empty() {
            calls::no_infos(queue, info, of_a.count)?;
            return calls::verdict(queue, info, of_a.count);
        }
        if let Some(job) = self.small(false) {
            let (a, b) = ((a.address(), of_a.distance()), (b.address(), of_b.distance()));
            small_qr::launch::<T>(queue, &job, of_a.count, small_qr::Operands { a, tau: tau.address(), b, info })?;
            return calls::verdict(queue, info, of_a.count);
        }
        let unused = queue.scratch(4)?;
        for k in 0..of_a.count {
            let a = (of_a.address::<T>(a.address(), k), of_a.leading());
            let b = (of_b.address::<T>(b.address(), k), of_b.leading());
            let tau = tau.address() + (k * n * size_of::<T>()) as u64;
            if of_b.cols > 0 {
                let how = (true, Transpose::Conjugate);
                dense::ormqr::<T>(queue, how, [of_b.rows, of_b.cols, n], (a, tau), b, unused)?;
            }
            dense::solve_upper::<T>(queue, Transpose::No, (n, of_b.cols, of_a.rows), a, b, info + 4 * k as u64)?;
        }
        calls::verdict(queue, info, of_a.count)
    }

    fn finish(&self, raw: First) -> Result<(isize, usize)> {
        Meaning::Singular.verdict(raw).map(|()| (self.axis, self.a.cols))
    }
}

impl<T: SolverElement> Qr<T> {
    pub(super) fn geqrs(&self, solver: &Solver, b: Given<'_, T>) -> Submitted<Solution<T>, Verdict> {
        let parts = || {
            let columns = self.columns.as_ref().map(|columns| elements_of("columns", columns)).transpose()?;
            Ok((matrices_of("a", &self.reflectors)?, elements_of("tau", &self.tau)?, columns))
        };
        let axis = if b.layout().rank() == 1 { -1 } else { -2 };
        solver.with_factors(Qrs::<T>::NAME, parts(), b, &self.reflectors, |((a, reflectors), tau, columns), b, x| {
            solver.submit(Qrs { a, b, axis, _type: PhantomData }, (reflectors, tau, columns), (x,))
        })
    }
}
