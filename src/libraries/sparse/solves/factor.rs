//! Incomplete factorizations.

use super::super::element::{SolveElement, SparseIndex};
#[cfg(feature = "host")]
use super::super::host::factor;
#[cfg(feature = "cuda")]
use super::super::native::{Pick, SOLVE};
use super::super::products::Side;
use super::super::routine::{Call, Routine};
use super::super::{Csr, Sparse};
use crate::core::buffer::DeviceBuffer;
use crate::core::error::{Error, Result, Site};
use crate::core::op::{Cost, OperandNames, Output, Spans};
use crate::engines::cuda_enqueue::Enqueue;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::kernels;
use std::marker::PhantomData;

/// The kind of factorization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum Kind {
    Ilu0,
    Ic0,
}

/// Computes factors in the structure of the matrix; they overwrite its values.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Factor<T, I> {
    pub(super) side: Side,
    pub(super) kind: Kind,
    _types: PhantomData<fn() -> (T, I)>,
}

/// The values of the factors; the wait reports a failed pivot.
pub(super) struct Factored<T: SolveElement>(DeviceBuffer<T>);

impl<T: SolveElement> Output for Factored<T> {
    type Writes = (T,);
    type Host = ();
    fn join((values,): (DeviceBuffer<T>,), (): ()) -> Result<Self> {
        Ok(Factored(values))
    }
}

impl<T: SolveElement, I: SparseIndex> Routine for Factor<T, I> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = "incomplete_factors";
    const OPERANDS: OperandNames = (&["a", "a", "a"], &["factors"]);
    type Reads = (I, I, T);
    type Output = Factored<T>;
    /// The first row without a valid pivot plus 1, or 0.
    type Raw = u64;

    fn check(&self, (offsets, indices, values): &Spans<Self::Reads>, (factors,): &Spans<(T,)>) -> Result<()> {
        self.side.check(offsets.len(), indices.len(), values.len())?;
        self.side.check(offsets.len(), indices.len(), factors.len())
    }

    fn overwrites_each(&self, _: &Spans<(T,)>, _: usize) -> bool {
        true
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }

    #[cfg(feature = "host")]
    fn host(&self, (offsets, indices, values): (&[I], &[I], &[T]), (factors,): (&mut [T],)) -> Result<u64> {
        factors.copy_from_slice(values);
        let factor = match self.kind {
            Kind::Ilu0 => factor::ilu0,
            Kind::Ic0 => factor::ic0,
        };
        Ok(factor(offsets, indices, self.side.count, factors).unwrap_or(0) as u64)
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((offsets, indices, values), (factors,)) = (*queue.reads(), *queue.writes());
        let (verdict, count) = (queue.result()?, self.side.count);
        if count == 0 {
            return queue.zero_result();
        }
        let args = [offsets.into(), indices.into(), factors.into(), count.into(), indices.len().into()];
        let name = match self.kind {
            Kind::Ilu0 => I::pick([c"ilu0_4", c"ilu0_8"]),
            Kind::Ic0 => I::pick([c"ic0_4", c"ic0_8"]),
        };
        // SAFETY: operands of the same length (checked); the result is a u64; the parameters in order and type, of a matrix
        // that was validated.
        unsafe {
            queue.copy(factors.address(), values.address(), values.bytes())?;
            queue.fill(verdict, 1, &[0xff; 8])?;
            kernels::rows_in_order(queue, SOLVE(T::DTYPE)?, name, count, &args, &[verdict.into()])?;
            kernels::each(queue, SOLVE(T::DTYPE)?, c"settle_pivot", 1, &[verdict.into()])
        }
    }

    fn finish(&self, row: u64) -> Result<()> {
        match (row, self.kind) {
            (0, _) => Ok(()),
            (position, Kind::Ilu0) => Err(Error::Singular { position, matrix: 0, site: Site::none() }),
            (order, Kind::Ic0) => Err(Error::NotPositiveDefinite { order, matrix: 0, site: Site::none() }),
        }
    }
}

impl Sparse {
    fn factor<T: SolveElement, I: SparseIndex>(&self, a: &Csr<T, I>, kind: Kind) -> Result<Csr<T, I>> {
        if a.rows() != a.cols() {
            return Err(Error::invalid("a", format!("{} x {} is not square", a.rows(), a.cols())));
        }
        let factor = Factor::<T, I> { side: Side::from_compressed(a), kind, _types: PhantomData };
        let reads = (a.offsets().as_in(), a.indices().as_in(), a.values().as_in());
        let Factored(values) = self.submit(factor, reads, (self.device.unwritten(a.nnz())?,))?.await_result()?;
        a.with_values(values)
    }

    /// The incomplete factorization `A = L * U` without fill: only the entries of A are computed. L lies below the
    /// diagonal (its ones on the diagonal are not stored), U on and above it, both in one matrix of A's structure. The
    /// call waits for the result. On a GPU a kernel of our own computes it, in which each row waits for the rows that
    /// it depends on (cuSPARSE's `csrilu02` is deprecated).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if A is not square; [`Error::Singular`] with the row, counted from 1, whose pivot is
    /// zero, missing or NaN; a stale or foreign matrix; [`Error::OutOfMemory`].
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let a = device.sparse().upload_csr(2, 2, &[0, 2, 4], &[0, 1, 0, 1], &[2.0f64, 1.0, 4.0, 5.0])?;
    /// let lu = device.sparse().ilu0(&a)?;
    /// assert_eq!(device.download(lu.values())?.await_result()?, [2.0, 1.0, 2.0, 3.0]);
    /// # Ok(()) }
    /// ```
    pub fn ilu0<T: SolveElement, I: SparseIndex>(&self, a: &Csr<T, I>) -> Result<Csr<T, I>> {
        self.factor(a, Kind::Ilu0)
    }

    /// The incomplete Cholesky factor L of `A = L * L^H` without fill: only the entries of A's lower triangle are read
    /// and computed. The call waits for the number of these entries, and then for the result. On a GPU a kernel of our
    /// own computes it (cuSPARSE's `csric02` is deprecated).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if A is not square; [`Error::NotPositiveDefinite`] with the row, counted from 1,
    /// whose pivot is missing or not positive (this can happen even if A itself is positive definite); a stale or
    /// foreign matrix; [`Error::OutOfMemory`].
    pub fn ic0<T: SolveElement, I: SparseIndex>(&self, a: &Csr<T, I>) -> Result<Csr<T, I>> {
        self.factor(&self.lower(a, 0)?, Kind::Ic0)
    }
}
