//! The elimination order, and the structure of the factor.

use crate::libraries::sparse::element::{SolveElement, SparseIndex};

use super::Direct;
#[cfg(feature = "host")]
use super::host;
use crate::core::buffer::{DeviceBuffer, GpuRef, In};
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, OperandNames, Output, Spans};
use crate::engines::cuda_enqueue::Enqueue;
use crate::libraries::flags::Uplo;
use crate::libraries::routine::{Call, Routine};
use crate::libraries::sparse::Csr;
use std::marker::PhantomData;

/// How a matrix is decomposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum Factorization {
    /// Cholesky, for symmetric or Hermitian positive definite matrices. Only this triangle is read.
    Cholesky(Uplo),
    /// QR, for matrices with at least as many rows as columns. Solves least-squares problems.
    Qr,
}

/// The analysis of a structure by [`Direct::analyse`]. It is valid for every matrix with that structure: a clone, one
/// with other values ([`Csr::with_values`](crate::sparse::Compressed::with_values)), or one with equal offsets and
/// indices, which are then compared. It keeps the arrays of the structure alive.
#[derive(Debug)]
pub struct Analysis<I: SparseIndex = i32> {
    pub(super) factorization: Factorization,
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) nnz: usize,
    pub(super) order: GpuRef<I>,
    pub(super) parents: GpuRef<I>,
    pub(super) offsets: GpuRef<I>,
    entries: usize,
    /// The structure that was analysed: its identifier, offsets and indices.
    name: u64,
    of_a: [GpuRef<I>; 2],
}

impl<I: SparseIndex> Analysis<I> {
    /// The factorization that the analysis is for.
    pub fn factorization(&self) -> Factorization {
        self.factorization
    }

    /// Number of entries of the factor L or R, fill included.
    pub fn entries(&self) -> usize {
        self.entries
    }

    /// The elimination order: the column that is eliminated first, then the second, and so on, counted from 0.
    pub fn order(&self) -> &GpuRef<I> {
        &self.order
    }

    /// The plan for this matrix: order, parents and offsets of the factor. If the matrix is not known to have the
    /// structure that was analysed, the offsets and indices of that structure follow, and the operation compares them.
    pub(super) fn plan<T: SolveElement>(&self, a: &Csr<T, I>) -> Vec<In<'_, I>> {
        let mut plan = vec![self.order.as_in(), self.parents.as_in(), self.offsets.as_in()];
        if a.structure_name() != self.name {
            plan.extend(self.of_a.iter().map(GpuRef::as_in));
        }
        plan
    }

    /// Checks that the matrix has the sizes and the number of entries of the one that was analysed.
    pub(super) fn check<T: SolveElement>(&self, fits: bool, a: &Csr<T, I>) -> Result<()> {
        let (have, want) = ((a.rows(), a.cols(), a.nnz()), (self.rows, self.cols, self.nnz));
        if !fits {
            return Err(Error::invalid(
                "analysis",
                format!("made for {:?}, not for this decomposition", self.factorization),
            ));
        }
        if have != want {
            let text = |(rows, cols, nnz)| format!("{rows} x {cols} with {nnz} entries");
            return Err(Error::invalid("a", format!("{}, but the analysed matrix is {}", text(have), text(want))));
        }
        Ok(())
    }
}

/// Finds the elimination order, the elimination tree and the offsets of the factor.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Analyse<I> {
    factorization: Factorization,
    rows: usize,
    cols: usize,
    nnz: usize,
    _index: PhantomData<fn() -> I>,
}

/// Order, parents, offsets, and the number of entries.
pub(super) struct Found<I: SparseIndex>([DeviceBuffer<I>; 3], u64);

impl<I: SparseIndex> Output for Found<I> {
    type Writes = (I, I, I);
    type Host = u64;
    fn join(
        (order, parents, offsets): (DeviceBuffer<I>, DeviceBuffer<I>, DeviceBuffer<I>),
        total: u64,
    ) -> Result<Self> {
        Ok(Found([order, parents, offsets], total))
    }
}

impl<I: SparseIndex> Routine for Analyse<I> {
    type Front = crate::libraries::direct::Direct;
    const NAME: &'static str = "direct_analysis";
    const OPERANDS: OperandNames = (&["a", "a"], &["order", "parents", "starts"]);
    type Reads = (I, I);
    type Output = Found<I>;
    type Raw = u64;

    fn check(&self, (offsets, indices): &Spans<(I, I)>, (order, parents, starts): &Spans<(I, I, I)>) -> Result<()> {
        if Some(offsets.len()) != self.rows.checked_add(1) || indices.len() != self.nnz {
            return Err(Error::invalid("a", format!("{} offsets for {} rows", offsets.len(), self.rows)));
        }
        super::check_plan(self.cols, [order.len(), parents.len(), starts.len()])
    }

    fn overwrites_each(&self, _: &Spans<(I, I, I)>, _: usize) -> bool {
        true
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (offsets, indices): (&[I], &[I]),
        (order, parents, starts): (&mut [I], &mut [I], &mut [I]),
    ) -> Result<u64> {
        let plan = match self.factorization {
            Factorization::Cholesky(uplo) => host::symmetric(offsets, indices, self.cols, uplo == Uplo::Upper),
            Factorization::Qr => host::normal(offsets, indices, self.rows, self.cols),
        };
        let total = plan.tree.offsets.last().copied().unwrap_or(0);
        order.iter_mut().zip(&plan.order).for_each(|(to, i)| *to = I::from_place(*i));
        // The parent of a root is the number of columns, which is no column.
        parents.iter_mut().zip(&plan.tree.parents).for_each(|(to, i)| *to = I::from_place((*i).min(self.cols)));
        starts.iter_mut().zip(&plan.tree.offsets).for_each(|(to, i)| *to = I::from_place(*i));
        Ok(total as u64)
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, _: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        Err(super::unsupported())
    }

    fn finish(&self, total: u64) -> Result<u64> {
        if total > I::LARGEST as u64 {
            let kind = <I as crate::core::element::Element>::DTYPE;
            let text = format!("the factor has {total} entries, too many for {kind} indices: use i64");
            return Err(Error::invalid("indices", text));
        }
        Ok(total)
    }
}

impl Direct {
    /// Finds an elimination order that keeps the factor sparse, and the structure of that factor. It reads only the
    /// structure of A, so one analysis serves all matrices with this structure. The call waits for the number of
    /// entries. Host engine only.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if A is not square (for QR: if it has more columns than rows), or if the factor has
    /// more entries than the index type can count; [`Error::Unsupported`] on a GPU; a stale or foreign matrix;
    /// [`Error::OutOfMemory`].
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Uplo, direct::Factorization};
    /// let device = windlass::Device::host()?;
    /// let direct = device.direct();
    /// let a = device.sparse().upload_csr(2, 2, &[0, 1, 3], &[0, 0, 1], &[4.0f64, 2.0, 5.0])?; // the lower triangle of [4 2; 2 5]
    /// let analysis = direct.analyse(Factorization::Cholesky(Uplo::Lower), &a)?;
    /// let factor = direct.cholesky(&analysis, &a)?;
    /// let x = factor.solve(&direct, device.tensor([2], [8.0f64, 12.0])?)?.await_result()?;
    /// assert_eq!(device.to_vec(&x)?, [1.0, 2.0]);
    /// # Ok(()) }
    /// ```
    pub fn analyse<T: SolveElement, I: SparseIndex>(
        &self,
        factorization: Factorization,
        a: &Csr<T, I>,
    ) -> Result<Analysis<I>> {
        let (rows, cols, nnz) = (a.rows(), a.cols(), a.nnz());
        if matches!(factorization, Factorization::Cholesky(_)) && rows != cols {
            return Err(Error::invalid("a", format!("{rows} x {cols} is not square")));
        }
        if rows < cols {
            return Err(Error::invalid("a", format!("{rows} x {cols}: QR needs at least as many rows as columns")));
        }
        let room = |len: usize| self.device.unwritten(len);
        let after = cols.checked_add(1).ok_or_else(|| Error::invalid("a", "the number of columns overflows"))?;
        let made = (room(cols)?, room(cols)?, room(after)?);
        let analyse = Analyse::<I> { factorization, rows, cols, nnz, _index: PhantomData };
        let reads = (a.offsets().as_in(), a.indices().as_in());
        let Found([order, parents, offsets], total) = self.submit(analyse, reads, made)?.await_result()?;
        // It fits the index type, and that fits the address space or the allocation of the factor fails.
        let entries = usize::try_from(total).unwrap_or(usize::MAX);
        let (order, parents, offsets) = (order.share(), parents.share(), offsets.share());
        let name = a.structure_name();
        let of_a = [a.offsets().clone(), a.indices().clone()];
        Ok(Analysis { factorization, rows, cols, nnz, order, parents, offsets, entries, name, of_a })
    }
}
