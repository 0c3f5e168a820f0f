//! getri.

use super::super::Inverse;
use super::super::given::sizes;
use super::super::prelude::*;
use super::Lu;
use crate::core::buffer::In;
use crate::core::dispatch::PendingDispatch;
use crate::core::op::Verdict;
#[cfg(feature = "host")]
use crate::core::room::collected;
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

impl<T: SolverElement> Getri<T> {
    /// What is done where the matrices are small.
    fn small(&self, factored: bool) -> Option<System> {
        System::new::<T>(if factored { Row::LuInverse } else { Row::Inverse }, &self.a, Some(&self.c))
    }

    /// Inverts factors with their pivots, or, of small matrices, A itself.
    pub(super) fn submitted(
        solver: &Solver,
        a: &Tensor<T>,
        pivots: Option<In<'_, i64>>,
        (c, info): (Tensor<T>, Tensor<i32>),
    ) -> Result<PendingDispatch<Inverse<T>, Verdict>> {
        let (of_a, a) = matrices_of("a", a)?;
        let op = Getri { a: of_a, c: Matrix::of("c", c.layout())?, _type: PhantomData };
        Ok(solver.submit(op, (a, pivots), (c, info))?)
    }
}

impl<T: SolverElement> Routine for Getri<T> {
    type Front = crate::libraries::solver::Solver;
    const NAME: &'static str = "getri";
    const OPERANDS: OperandNames = (&["a", "pivots"], &["c", "info"]);
    /// Factors with their pivots, or, of small matrices, A itself.
    type Reads = (T, Option<i64>);
    type Output = Inverse<T>;
    type Raw = First;

    fn check(&self, (a, pivots): &Spans<(T, Option<i64>)>, (c, info): &Spans<(T, i32)>) -> Result<()> {
        self.a.check("a", a.len())?;
        self.a.check_square("a")?;
        self.c.check("c", c.len())?;
        self.c.check_square("c")?;
        self.c.check_beside("c", self.a.rows, &self.a)?;
        check_len("info", 1, self.a.count, info.len())?;
        match pivots {
            Some(pivots) => check_len("pivots", self.a.rows, self.a.count, pivots.len()),
            None if self.small(false).is_some() => Ok(()),
            None => Err(Error::invalid("pivots", "none, but the matrices are not small")),
        }
    }

    fn overwrites_each(&self, (c, info): &Spans<(T, i32)>, index: usize) -> bool {
        if index == 0 { self.c.fills(c.len()) } else { self.a.count == info.len() }
    }

    fn cost(&self) -> Cost {
        let n = self.a.rows;
        cost::<T>(3, [n; 3], self.a.count, n.saturating_mul(n).saturating_mul(2))
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, pivots): (&[T], Option<&[i64]>), (c, info): (&mut [T], &mut [i32])) -> Result<First> {
        let (of_a, of_c) = (&self.a, &self.c);
        let (job, pivots) = (self.small(pivots.is_some()), pivots.unwrap_or_default());
        if let Some(job) = job {
            let (a, pivots) = ((of_a, Memory::Read(a)), Memory::Read(pivots));
            systems(&job, Systems { a, pivots, b: (of_c, c), info: &mut *info });
            return Ok(first(info.get(..of_a.count).unwrap_or_default()));
        }
        let factors = batch::parts(of_a, a).into_iter().zip(batch::vectors(pivots, of_a.rows, of_a.count));
        let items = collected(factors.zip(batch::parts_mut(of_c, c)).zip(info.iter_mut()))?;
        batch::each(items, batch::cube(of_a.rows), |(((a, pivots), c), info), threads| {
            *info = T::lu_invert(a, pivots, c, threads);
        });
        Ok(first(info.get(..of_a.count).unwrap_or_default()))
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((a, pivots), (c, info)) = (queue.reads(), queue.writes());
        let (of_a, of_c, n) = (&self.a, &self.c, self.a.rows);
        let (pivots, info) = (pivots.as_ref().map(|pivots| pivots.address()), info.address());
        if let Some(job) = self.small(pivots.is_some()) {
            let at = small_lu::At::new((of_a, a.address())).beside((of_c, c.address()));
            let at = at.pivots(pivots.unwrap_or_default()).info(info);
            return small_lu::launch_told::<T>(queue, &job, of_a.count, at);
        }
        if of_a.is_empty() {
            calls::no_infos(queue, info, of_a.count)?;
            return calls::verdict(queue, info, of_a.count);
        }
        let (kept, unused) =
            (kernels::keep_pivots(queue, pivots.unwrap_or_default(), n, of_a.count, false)?, queue.scratch(4)?);
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
    /// [`Error::OutOfMemory`] for the new tensor; a stale or foreign one; at the wait [`Error::Singular`], and then the tensor
    /// holds NaN for that matrix; of a matrix with more than 32 rows, or of a complex type, what it holds is not specified.
    pub fn inverse(&self, solver: &Solver) -> Result<PendingDispatch<Inverse<T>, Verdict>> {
        let (batch, of) = sizes("a", self.factors.layout())?;
        let (c, info) = (solver.new_matrices(batch, of.rows, of.rows)?, solver.new_tensor(batch, &[])?);
        Getri::submitted(solver, &self.factors, Some(elements_of("pivots", &self.pivots)?), (c, info))
    }
}
