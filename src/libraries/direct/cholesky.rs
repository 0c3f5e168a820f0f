//! Cholesky factors of positive definite matrices, and solves with them.

#[cfg(feature = "host")]
use super::host::cholesky::{self, Structure, Triangle};
use super::{Analysis, Direct, Factorization};
use crate::core::buffer::{DeviceBuffer, GpuRef, List};
use crate::core::error::{Error, Result, Site};
use crate::core::op::{Cost, OperandNames, Output, Spans};
#[cfg(feature = "host")]
use crate::core::room::collected;
use crate::device::dispatch::Submitted;
use crate::device::tensor::{Tensor, WritableTensor};
use crate::engines::cuda_enqueue::Enqueue;
use crate::libraries::flags::Uplo;
use crate::libraries::routine::{Call, Routine};
use crate::libraries::sparse::Csr;
use crate::libraries::sparse::element::{SolveElement, SparseIndex};
use crate::libraries::sparse::operands::DenseAt;
use std::marker::PhantomData;

/// The factorization `P * A * P^T = L * L^H` of a sparse matrix, from [`Direct::cholesky`].
#[derive(Debug)]
pub struct SparseCholesky<T: SolveElement, I: SparseIndex = i32> {
    order: GpuRef<I>,
    offsets: GpuRef<I>,
    rows: GpuRef<I>,
    values: GpuRef<T>,
}

impl<T: SolveElement, I: SparseIndex> SparseCholesky<T, I> {
    /// The number of rows, which is the number of columns.
    pub fn n(&self) -> usize {
        self.order.len()
    }

    /// L in compressed columns: the offsets, the row indices (the diagonal first in each column), and the values. Row
    /// and column `k` of L belong to the row and column `order[k]` of A, where `order` is [`Analysis::order`].
    pub fn parts(&self) -> (&GpuRef<I>, &GpuRef<I>, &GpuRef<T>) {
        (&self.offsets, &self.rows, &self.values)
    }

    /// Solves `A * X = B` and overwrites B with X. B is a tensor of two axes whose columns are contiguous, or of one axis.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if B has not as many rows as A, or its columns are not contiguous; a stale or foreign buffer. B
    /// comes back.
    pub fn solve(&self, direct: &Direct, b: impl WritableTensor<T>) -> Submitted<Tensor<T>> {
        let b = b.into();
        let at = DenseAt::from_columns("b", b.layout());
        b.submit(("sparse_cholesky_solve", "direct"), at, |at, b| {
            let op = Solve::<T, I> { n: self.n(), entries: self.values.len(), b: at, _types: PhantomData };
            let reads = (self.order.as_in(), self.offsets.as_in(), self.rows.as_in(), self.values.as_in());
            direct.submit(op, reads, (b,))
        })
    }
}

/// Computes the entries of a factor whose structure is known.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Factor<T, I> {
    n: usize,
    nnz: usize,
    uplo: Uplo,
    _types: PhantomData<fn() -> (T, I)>,
}

/// Row indices and values of the factor; the wait reports a pivot that is not positive.
pub(super) struct Factored<T: SolveElement, I: SparseIndex>(DeviceBuffer<I>, DeviceBuffer<T>);

impl<T: SolveElement, I: SparseIndex> Output for Factored<T, I> {
    type Writes = (I, T);
    type Host = ();
    fn join((rows, values): (DeviceBuffer<I>, DeviceBuffer<T>), (): ()) -> Result<Self> {
        Ok(Factored(rows, values))
    }
}

impl<T: SolveElement, I: SparseIndex> Routine for Factor<T, I> {
    type Front = crate::libraries::direct::Direct;
    const NAME: &'static str = "sparse_cholesky";
    const OPERANDS: OperandNames = (&["a", "a", "a", "plan"], &["rows", "values"]);
    /// Offsets, indices and values of A; the plan.
    type Reads = (I, I, T, List<I>);
    type Output = Factored<T, I>;
    /// The position in the order of the first pivot that is not positive, plus 1; or 0; all bits set for another
    /// structure.
    type Raw = u64;

    fn check(&self, reads: &Spans<Self::Reads>, (rows, values): &Spans<(I, T)>) -> Result<()> {
        let (offsets, indices, entries, plan) = reads;
        if Some(offsets.len()) != self.n.checked_add(1) || indices.len() != self.nnz || entries.len() != self.nnz {
            return Err(Error::invalid("a", format!("{} entries, but {} are needed", entries.len(), self.nnz)));
        }
        if rows.len() != values.len() {
            return Err(Error::invalid("values", format!("{} values, but {} row indices", values.len(), rows.len())));
        }
        super::check_parts(self.n, self.nnz, self.n, plan)
    }

    fn overwrites_each(&self, _: &Spans<(I, T)>, _: usize) -> bool {
        true
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (offsets, indices, values, plan): <Self::Reads as crate::core::buffer::Elems>::Slices<'_>,
        (rows, factor): (&mut [I], &mut [T]),
    ) -> Result<u64> {
        rows.fill(I::from_place(0));
        factor.fill(T::default());
        let ([order, parents, starts], analysed) = super::parts(&plan);
        if analysed.is_some_and(|analysed| analysed != [offsets, indices]) {
            return Ok(super::OTHER);
        }
        let (order, parents, starts) = (super::places(order), super::parents(parents), super::places(starts));
        let structure = Structure { order: &order, parents: &parents, offsets: &starts };
        let triangle = Triangle { offsets, indices, values, upper: self.uplo == Uplo::Upper };
        Ok(cholesky::factor(&structure, &triangle, rows, factor) as u64)
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, _: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        Err(super::unsupported())
    }

    fn finish(&self, order: u64) -> Result<()> {
        match order {
            0 => Ok(()),
            super::OTHER => Err(super::other_structure()),
            _ => Err(Error::NotPositiveDefinite { order, site: Site::none() }),
        }
    }
}

/// `A * X = B` in place of B.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Solve<T, I> {
    n: usize,
    entries: usize,
    b: DenseAt,
    _types: PhantomData<fn() -> (T, I)>,
}

impl<T: SolveElement, I: SparseIndex> Routine for Solve<T, I> {
    type Front = crate::libraries::direct::Direct;
    const NAME: &'static str = "sparse_cholesky_solve";
    const OPERANDS: OperandNames = (&["plan", "factor", "factor", "factor"], &["b"]);
    /// Order, offsets, rows and values of the factor.
    type Reads = (I, I, I, T);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (order, offsets, rows, values): &Spans<Self::Reads>, (b,): &Spans<(T,)>) -> Result<()> {
        super::check_plan(self.n, [order.len(), order.len(), offsets.len()])?;
        if rows.len() != self.entries || values.len() != self.entries {
            return Err(Error::invalid("factor", format!("{} values, but {} row indices", values.len(), rows.len())));
        }
        self.b.check_shape("b", (self.n, self.b.cols), format_args!("the factor is {0} x {0}, which takes", self.n))?;
        self.b.check("b", b.len())
    }

    fn cost(&self) -> Cost {
        let moved = self.entries.saturating_mul(self.b.cols).saturating_mul(2).saturating_mul(size_of::<T>());
        Cost { flops: 0, bytes: moved as u64 }
    }

    #[cfg(feature = "host")]
    fn host(&self, (order, offsets, rows, values): (&[I], &[I], &[I], &[T]), (b,): (&mut [T],)) -> Result<()> {
        let (order, offsets) = (super::places(order), super::places(offsets));
        let columns = b.chunks_mut(self.b.ld.max(1)).filter_map(|column| column.get_mut(..self.n));
        let columns: Vec<&mut [T]> = collected(columns)?;
        crate::numerics::parallel::each(columns, 2, &|b| cholesky::solve(&order, &offsets, (rows, values), b));
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, _: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        Err(super::unsupported())
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

impl Direct {
    /// The Cholesky factor of a matrix whose structure was analysed. It reads the triangle that the analysis names. The
    /// call waits for the result. Host engine only.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the analysis is for another structure or method; [`Error::NotPositiveDefinite`]
    /// with the position, counted from 1 in the elimination order, of the pivot that is not positive; a stale or
    /// foreign matrix; [`Error::OutOfMemory`].
    pub fn cholesky<T: SolveElement, I: SparseIndex>(
        &self,
        analysis: &Analysis<I>,
        a: &Csr<T, I>,
    ) -> Result<SparseCholesky<T, I>> {
        let uplo = match analysis.factorization {
            Factorization::Cholesky(uplo) => Some(uplo),
            Factorization::Qr => None,
        };
        analysis.check(uplo.is_some(), a)?;
        let op = Factor::<T, I> { n: a.rows(), nnz: a.nnz(), uplo: uplo.unwrap_or(Uplo::Lower), _types: PhantomData };
        let (order, offsets) = (&analysis.order, &analysis.offsets);
        let of_a = (a.offsets().as_in(), a.indices().as_in(), a.values().as_in());
        let plan = analysis.plan(a);
        let reads = (of_a.0, of_a.1, of_a.2, &plan[..]);
        let made = (self.device.unwritten(analysis.entries())?, self.device.unwritten(analysis.entries())?);
        let Factored(rows, values) = self.submit(op, reads, made)?.await_result()?;
        let (order, offsets) = (order.clone(), offsets.clone());
        Ok(SparseCholesky { order, offsets, rows: rows.share(), values: values.share() })
    }
}
