//! Least squares, and unsymmetric systems.

use super::super::element::{SolveElement, SparseIndex};
#[cfg(feature = "host")]
use super::super::host::{Rows, direct::cholesky::Structure, direct::qr};
use super::super::routine::{Call, Routine};
use super::super::{Csr, Sparse};
use super::{Analysis, Direct};
use crate::core::buffer::{DeviceBuffer, List, Readable};
use crate::core::error::{Error, Rejected, Result, Site};
use crate::core::op::{Cost, OperandNames, Output, Spans, Verdict};
use crate::device::dispatch::Submitted;
use crate::engines::cuda_enqueue::Enqueue;
use std::marker::PhantomData;

/// The result of [`Sparse::solve_qr`].
#[derive(Debug)]
pub struct LeastSquares<T: SolveElement> {
    /// The solutions, one column for each right-hand side, without gaps.
    pub x: DeviceBuffer<T>,
}

impl<T: SolveElement> Output for LeastSquares<T> {
    type Writes = (T,);
    type Host = ();
    fn join((x,): (DeviceBuffer<T>,), (): ()) -> Result<Self> {
        Ok(LeastSquares { x })
    }
}

/// Factorizes and solves.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(in super::super) struct Solve<T, I> {
    rows: usize,
    cols: usize,
    nnz: usize,
    columns: usize,
    _types: PhantomData<fn() -> (T, I)>,
}

impl<T: SolveElement, I: SparseIndex> Routine for Solve<T, I> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = "sparse_qr";
    const OPERANDS: OperandNames = (&["a", "a", "a", "plan", "b"], &["x"]);
    /// Offsets, indices and values of A; the plan; B.
    type Reads = (I, I, T, List<I>, T);
    type Output = LeastSquares<T>;
    /// The column of the first zero pivot plus 1, or 0; all bits set for another structure.
    type Raw = u64;

    fn check(&self, reads: &Spans<Self::Reads>, (x,): &Spans<(T,)>) -> Result<()> {
        let (offsets, indices, values, plan, b) = reads;
        if Some(offsets.len()) != self.rows.checked_add(1) || indices.len() != self.nnz || values.len() != self.nnz {
            return Err(Error::invalid("a", format!("{} entries, but {} are needed", values.len(), self.nnz)));
        }
        super::check_parts(self.cols, self.nnz, self.rows, plan)?;
        for (name, rows, len) in [("b", self.rows, b.len()), ("x", self.cols, x.len())] {
            if rows.checked_mul(self.columns) != Some(len) {
                let text = format!("{len} elements do not fit {} columns of {rows} rows", self.columns);
                return Err(Error::invalid(name, text));
            }
        }
        Ok(())
    }

    fn overwrites_each(&self, _: &Spans<(T,)>, _: usize) -> bool {
        true
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (offsets, indices, values, plan, b): <Self::Reads as crate::core::buffer::Elems>::Slices<'_>,
        (x,): (&mut [T],),
    ) -> Result<u64> {
        x.fill(T::default());
        let ([order, parents, starts], analysed) = super::parts(&plan);
        if analysed.is_some_and(|analysed| analysed != [offsets, indices]) {
            return Ok(super::OTHER);
        }
        let (order, parents, starts) = (super::places(order), super::parents(parents), super::places(starts));
        let structure = Structure { order: &order, parents: &parents, offsets: &starts };
        let a = Rows { count: self.rows, width: self.cols, offsets, indices, values };
        Ok(qr::solve(&structure, &a, (b, x), self.columns) as u64)
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, _: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        Err(super::unsupported())
    }

    fn finish(&self, position: u64) -> Result<()> {
        match position {
            0 => Ok(()),
            super::OTHER => Err(super::other_structure()),
            _ => Err(Error::Singular { position, site: Site::none() }),
        }
    }
}

impl Sparse {
    /// Solves the least-squares problem `min ||A * X - B||` for a matrix A of full rank whose structure was analysed;
    /// if A is square, X solves `A * X = B`. It computes R of `A = Q * R` and applies the rotations to the right-hand
    /// sides at the same time, so Q is not stored. B has `columns` columns, each with as many elements as A has rows; X
    /// has `columns` columns, each with as many elements as A has columns. Both have no gaps. Host engine only.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the analysis is for another method, another size or another number of entries, or
    /// the lengths do not fit; a stale or foreign buffer. From the wait: [`Error::InvalidArgument`] if the structure of
    /// A is not the one that was analysed; [`Error::Singular`] with the column, counted from 1, that depends
    /// linearly on others. X comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::sparse::Direct;
    /// let device = windlass::Device::host()?;
    /// let sparse = device.sparse();
    /// let a = sparse.upload_csr(3, 2, &[0, 1, 2, 4], &[0, 1, 0, 1], &[1.0f64, 1.0, 1.0, 1.0])?; // [1 0; 0 1; 1 1]
    /// let analysis = sparse.analyse(Direct::Qr, &a)?;
    /// let b = device.upload([1.0f64, 2.0, 0.0])?.into_output();
    /// let solved = sparse.solve_qr(&analysis, &a, 1, &b, device.uninit(2)?)?.await_result()?;
    /// let x = device.download(&solved.x)?.await_result()?;
    /// assert!(x[0].abs() < 1e-15 && (x[1] - 1.0).abs() < 1e-15);
    /// # Ok(()) }
    /// ```
    pub fn solve_qr<'a, T: SolveElement, I: SparseIndex>(
        &self,
        analysis: &Analysis<I>,
        a: &Csr<T, I>,
        columns: usize,
        b: impl Readable<'a, T>,
        x: DeviceBuffer<T>,
    ) -> Submitted<LeastSquares<T>, Verdict> {
        if let Err(error) = analysis.check(analysis.direct == Direct::Qr, a) {
            return Err(Rejected::new(error.in_op("sparse_qr", "sparse"), (x,)));
        }
        let op = Solve::<T, I> { rows: a.rows(), cols: a.cols(), nnz: a.nnz(), columns, _types: PhantomData };
        let of_a = (a.offsets().as_in(), a.indices().as_in(), a.values().as_in());
        self.submit(op, (of_a.0, of_a.1, of_a.2, &analysis.plan(a), b.into()), (x,))
    }
}
