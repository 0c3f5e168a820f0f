//! Solutions with a factor.

#[cfg(feature = "host")]
use super::host::solve::{Indices, Solver};
#[cfg(feature = "host")]
use super::host::{self, Plan, refine::System};
use super::native::{Owner, Use};
use super::{Direct, Factorization, Factors, SparseFactor};
use crate::core::buffer::DeviceBuffer;
use crate::core::error::{Error, Result, Site};
use crate::core::op::{Cost, OperandNames, Spans, Verdict};
#[cfg(feature = "host")]
use crate::core::room::collected;
use crate::device::dispatch::Submitted;
use crate::device::tensor::{Part, ReadableTensor, Tensor, TensorRef, WritableTensor};
use crate::engines::cuda_enqueue::Enqueue;
use crate::libraries::flags::Transpose;
use crate::libraries::routine::{Call, Routine};
use crate::libraries::sparse::operands::DenseAt;
use crate::libraries::sparse::{SolveElement, SparseIndex};
use std::marker::PhantomData;

/// A factor and what is solved with it.
#[derive(Clone, Copy, serde::Serialize, serde::Deserialize)]
pub(super) struct Solving {
    factorization: Factorization,
    trans: Transpose,
    n: usize,
    factors: Factors,
    x: DenseAt,
}

impl Solving {
    fn check(&self, plan: usize, factor: [usize; 2], x: usize) -> Result<()> {
        super::check_plan(self.factorization, self.n, plan)?;
        self.factors.check(self.factorization, factor)?;
        self.x.check("x", x)
    }

    /// That what has the right sides, or the solutions, has as many rows as A.
    fn check_shape(&self, name: &'static str, at: &DenseAt) -> Result<()> {
        at.check_shape(name, (self.n, self.x.cols), format_args!("the factor is {0} x {0}, which takes", self.n))
    }

    fn cost<T>(&self) -> Cost {
        let [rows, values] = self.factors.lengths(self.factorization);
        let entries = values.max(rows.saturating_mul(2));
        let moved = entries.saturating_mul(self.x.cols).saturating_mul(size_of::<T>());
        Cost { flops: 0, bytes: moved as u64 }
    }

    #[cfg(feature = "host")]
    fn plan<I: SparseIndex>(&self, plan: &[I]) -> Plan {
        Plan::read(plan, self.n)
    }
}

/// `op(A) * X = B` in place of B.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Solve<T, I> {
    solving: Solving,
    #[serde(skip)]
    held: Option<Use>,
    _types: PhantomData<fn() -> (T, I)>,
}

impl<T: SolveElement, I: SparseIndex> Routine for Solve<T, I> {
    type Front = crate::libraries::direct::Direct;
    const NAME: &'static str = "sparse_solve";
    const OPERANDS: OperandNames = (&["plan", "factor", "factor"], &["b"]);
    const IN_HOST_PROGRAMS: bool = true;
    /// The plan; rows and values of the factor.
    type Reads = (I, I, T);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (plan, rows, values): &Spans<Self::Reads>, (b,): &Spans<(T,)>) -> Result<()> {
        self.solving.check_shape("b", &self.solving.x)?;
        self.solving.check(plan.len(), [rows.len(), values.len()], b.len())
    }

    fn cost(&self) -> Cost {
        self.solving.cost::<T>()
    }

    #[cfg(feature = "host")]
    fn host(&self, (plan, rows, values): (&[I], &[I], &[T]), (b,): (&mut [T],)) -> Result<()> {
        let Solving { factorization, trans, n, x, .. } = self.solving;
        let plan = self.solving.plan(plan);
        let rows = Indices(rows);
        let solver = Solver::new(factorization, &plan, &rows, values);
        let columns = b.chunks_mut(x.ld.max(1)).filter_map(|column| column.get_mut(..n));
        let columns: Vec<&mut [T]> = collected(columns.take(x.cols))?;
        crate::numerics::parallel::each(columns, 2, &|b| solver.solve(trans, b));
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        use super::native::{Recipe, solve};
        let ((plan, indices, values), (b,)) = (*queue.reads(), *queue.writes());
        let Solving { factorization, trans, n, x, .. } = self.solving;
        if n == 0 || x.cols == 0 {
            return Ok(());
        }
        let recipe = Recipe::new::<T, I>(factorization, n, values.len());
        let a = [recipe.offsets_of(plan.address()), indices.address(), values.address()];
        // SAFETY: operands with the lengths of the matrix that was factored (checked), and columns that lie in B.
        unsafe { solve(queue, self.held.as_ref(), recipe, a, trans, (b.address(), x.ld, x.cols)) }
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// `op(A) * X = B`, refined and checked.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct SolveChecked<T, I> {
    solving: Solving,
    nnz: usize,
    b: DenseAt,
    #[serde(skip)]
    held: Option<Use>,
    _types: PhantomData<fn() -> (T, I)>,
}

impl<T: SolveElement, I: SparseIndex> Routine for SolveChecked<T, I> {
    type Front = crate::libraries::direct::Direct;
    const NAME: &'static str = "sparse_solve_checked";
    const OPERANDS: OperandNames = (&["a", "a", "a", "plan", "factor", "factor", "b"], &["x"]);
    const BLOCKING: bool = true;
    const IN_HOST_PROGRAMS: bool = true;
    /// Offsets, indices and values of A; the plan; rows and values of the factor; B.
    type Reads = (I, I, T, I, I, T, T);
    type Output = DeviceBuffer<T>;
    /// The number of columns whose solution is not right.
    type Raw = u64;

    fn check(&self, reads: &Spans<Self::Reads>, (x,): &Spans<(T,)>) -> Result<()> {
        let (offsets, indices, entries, plan, rows, values, b) = reads;
        super::check_matrix((self.solving.n, self.nnz), [offsets.len(), indices.len(), entries.len()])?;
        self.solving.check_shape("b", &self.b)?;
        self.solving.check_shape("x", &self.solving.x)?;
        self.b.check("b", b.len())?;
        self.solving.check(plan.len(), [rows.len(), values.len()], x.len())
    }

    fn overwrites_each(&self, (x,): &Spans<(T,)>, _: usize) -> bool {
        self.solving.x.fills(x.len())
    }

    fn cost(&self) -> Cost {
        self.solving.cost::<T>()
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (offsets, indices, values, plan, rows, factor, b): <Self::Reads as crate::core::buffer::Elems>::Slices<'_>,
        (x,): (&mut [T],),
    ) -> Result<u64> {
        let Solving { factorization: how, trans, n, x: at, .. } = self.solving;
        let plan = self.solving.plan(plan);
        let rows = Indices(rows);
        let solver = Solver::new(how, &plan, &rows, factor);
        let system = System { how, trans, a: host::Matrix::new(how, n, (offsets, indices), values), solver, n };
        let norm = system.norm();
        let wrong = crate::core::sync::AtomicU64::new(0);
        let sides = b.chunks(self.b.ld.max(1)).filter_map(|column| column.get(..n));
        let columns = x.chunks_mut(at.ld.max(1)).filter_map(|column| column.get_mut(..n));
        let columns: Vec<(&[T], &mut [T])> = collected(sides.zip(columns).take(at.cols))?;
        crate::numerics::parallel::each(columns, 2, &|(b, x)| {
            if !system.solve(norm, b, x) {
                wrong.fetch_add(1, crate::core::sync::Ordering::Relaxed);
            }
        });
        Ok(wrong.into_inner())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        use super::native::{Recipe, solve_checked};
        let (offsets, indices, values, _, _, _, b) = *queue.reads();
        let (x,) = *queue.writes();
        let Solving { factorization, trans, n, x: at, .. } = self.solving;
        let wrong = queue.result()?;
        queue.zero_result()?;
        if n == 0 || at.cols == 0 {
            return Ok(());
        }
        let recipe = Recipe::new::<T, I>(factorization, n, values.len());
        let a = [offsets.address(), indices.address(), values.address()];
        let (b, x) = ((b.address(), self.b.ld, self.b.cols), (x.address(), at.ld, at.cols));
        // SAFETY: as above; the structure of A is the one that was analysed, or its factor had not been made. The result is a u64.
        unsafe { solve_checked(queue, self.held.as_ref(), recipe, (a, trans), (b, x), wrong) }
    }

    fn finish(&self, count: u64) -> Result<()> {
        if count == 0 { Ok(()) } else { Err(Error::NotConverged { count, matrix: 0, site: Site::none() }) }
    }
}

impl<T: SolveElement, I: SparseIndex> SparseFactor<T, I> {
    fn solving(&self, trans: Transpose, x: DenseAt) -> Solving {
        let (factorization, n, factors) = (self.analysis.factorization, self.n(), self.analysis.factors());
        Solving { factorization, trans, n, factors, x }
    }

    /// Solves `op(A) * X = B` and overwrites B with X, where `op(A)` is A, its transpose or its adjoint. B is a tensor of two
    /// axes whose columns are contiguous, or of one axis. There is no verdict: [`solve_checked`](Self::solve_checked) has one.
    /// No program of a GPU has it as a step, since cuDSS's handle has a stream of its own and is not said to be capturable; one of a
    /// host device has.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if pivots of the factor were [`perturbed`](Self::perturbed), if B has not as many rows as A, or
    /// if its columns are not contiguous; a stale or foreign buffer. B comes back. From the wait: [`Error::OutOfMemory`] if cuDSS finds
    /// no memory on a GPU, where it is not tried again.
    pub fn solve(&self, direct: &Direct, trans: Transpose, b: impl WritableTensor<T>) -> Submitted<Tensor<T>> {
        self.solve_in_place(direct, trans, b.into())
    }

    fn solve_in_place(&self, direct: &Direct, trans: Transpose, b: Part<T>) -> Submitted<Tensor<T>> {
        let at = match self.pivots.perturbed {
            0 => DenseAt::from_columns("b", b.layout()),
            count => {
                Err(Error::invalid("factor", format!("{count} of its pivots are too small: call `solve_checked`")))
            }
        };
        b.submit((Solve::<T, I>::NAME, "direct"), at, |at, b| {
            let op = Solve::<T, I> {
                solving: self.solving(trans, at),
                held: self.held.as_ref().map(Owner::share),
                _types: PhantomData,
            };
            direct.submit(op, (self.analysis.plan.as_in(), self.rows.as_in(), self.values.as_in()), (b,))
        })
    }

    /// Solves `op(A) * X = B`, refines X at least once with residuals of A itself, and reports whether it is right: the backward
    /// error `|B - op(A) X| / (|op(A)| |X| + |B|)` of each column is at most 100 units of the precision (norms of largest sums
    /// and largest elements), and its last correction is smaller than a quarter of the column. So it takes factors whose pivots were
    /// [`perturbed`](Self::perturbed). B and X are tensors of two axes whose columns are contiguous, or both of one axis.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if B or X has not as many rows as A, or X not as many columns as B, or the columns are not
    /// contiguous; a stale or foreign buffer. From the wait: [`Error::NotConverged`] with the number of columns that are not
    /// right, as those of a singular matrix. X comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Transpose, direct::Factorization};
    /// let device = windlass::Device::host()?;
    /// let direct = device.direct();
    /// let a = device.sparse().upload_csr(2, 2, &[0, 2, 3], &[0, 1, 0], &[1.0f64, 2.0, 4.0])?; // [1 2; 4 0]
    /// let factor = direct.factor(&direct.analyse(Factorization::Lu, &a)?, &a)?;
    /// let b = device.tensor([2], [9.0f64, 2.0])?;
    /// let x = factor.solve_checked(&direct, Transpose::Yes, &b, device.uninit([2])?)?.await_result()?;
    /// assert_eq!(device.to_vec(&x)?, [1.0, 2.0]);
    /// # Ok(()) }
    /// ```
    pub fn solve_checked<'b>(
        &self,
        direct: &Direct,
        trans: Transpose,
        b: impl ReadableTensor<'b, T>,
        x: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>, Verdict> {
        self.refined(direct, trans, &b.into(), x.into())
    }

    fn refined(
        &self,
        direct: &Direct,
        trans: Transpose,
        b: &TensorRef<'_, T>,
        x: Part<T>,
    ) -> Submitted<Tensor<T>, Verdict> {
        let operands = b
            .operand()
            .and_then(|(b, of_b)| Ok((b, DenseAt::from_columns("b", &of_b)?, DenseAt::from_columns("x", x.layout())?)));
        x.submit((SolveChecked::<T, I>::NAME, "direct"), operands, |(b, of_b, of_x), x| {
            let (solving, nnz) = (self.solving(trans, of_x), self.a.nnz());
            let held = self.held.as_ref().map(Owner::share);
            let op = SolveChecked::<T, I> { solving, nnz, b: of_b, held, _types: PhantomData };
            let a = (self.a.offsets().as_in(), self.a.indices().as_in(), self.a.values().as_in());
            let factor = (self.analysis.plan.as_in(), self.rows.as_in(), self.values.as_in());
            direct.submit(op, (a.0, a.1, a.2, factor.0, factor.1, factor.2, b), (x,))
        })
    }
}
