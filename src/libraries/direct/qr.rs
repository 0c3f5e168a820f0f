//! Least squares, and unsymmetric systems.

#[cfg(feature = "host")]
use super::host::{self, Plan, qr};
use super::{Analysis, Direct, Factorization};
use crate::core::buffer::{DeviceBuffer, List};
use crate::core::error::{Error, Result, Site};
use crate::core::op::{Cost, OperandNames, Spans, Verdict};
use crate::device::dispatch::Submitted;
use crate::device::tensor::{Part, ReadableTensor, Tensor, TensorRef, WritableTensor};
use crate::engines::cuda_enqueue::Enqueue;
use crate::libraries::routine::{Call, Routine};
use crate::libraries::sparse::Csr;
#[cfg(feature = "host")]
use crate::libraries::sparse::host::Rows;
use crate::libraries::sparse::operands::DenseAt;
use crate::libraries::sparse::{SolveElement, SparseIndex};
use std::marker::PhantomData;

/// The verdict of a matrix whose structure is not the one that was analysed.
const OTHER: u64 = u64::MAX;
/// Marks a row, from 1, with a value that is infinite or NaN.
const NOT_FINITE: u64 = 1 << 63;

/// Factorizes and solves.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Solve<T, I> {
    rows: usize,
    cols: usize,
    nnz: usize,
    b: DenseAt,
    x: DenseAt,
    _types: PhantomData<fn() -> (T, I)>,
}

impl<T: SolveElement, I: SparseIndex> Routine for Solve<T, I> {
    type Front = crate::libraries::direct::Direct;
    const NAME: &'static str = "sparse_qr";
    const OPERANDS: OperandNames = (&["a", "a", "a", "plan", "b"], &["x"]);
    const IN_HOST_PROGRAMS: bool = true;
    /// Offsets, indices and values of A; the plan; B.
    type Reads = (I, I, T, List<I>, T);
    type Output = DeviceBuffer<T>;
    /// The column of the first zero pivot plus 1, or 0; all bits set for another structure; a row with the mark.
    type Raw = u64;

    fn check(&self, reads: &Spans<Self::Reads>, (x,): &Spans<(T,)>) -> Result<()> {
        let (offsets, indices, values, plan, b) = reads;
        if Some(offsets.len()) != self.rows.checked_add(1) || indices.len() != self.nnz || values.len() != self.nnz {
            return Err(Error::invalid("a", format!("{} entries, but {} are needed", values.len(), self.nnz)));
        }
        super::check_plans(Factorization::Qr, (self.rows, self.cols, self.nnz), plan)?;
        let (rows, cols, sides) = (self.rows, self.cols, self.b.cols);
        self.b.check_shape("b", (rows, sides), format_args!("A is {rows} x {cols}, which takes"))?;
        self.x.check_shape("x", (cols, sides), format_args!("the solution is"))?;
        self.b.check("b", b.len())?;
        self.x.check("x", x.len())
    }

    fn overwrites_each(&self, (x,): &Spans<(T,)>, _: usize) -> bool {
        self.x.fills(x.len())
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
        x.chunks_mut(self.x.ld.max(1)).for_each(|x| x.iter_mut().take(self.cols).for_each(|x| *x = T::default()));
        let Some(plan) = super::plan_for(&plan, offsets, indices) else { return Ok(OTHER) };
        let plan = Plan::read(plan, self.cols);
        let matrix = host::Matrix::new(Factorization::Qr, self.cols, (offsets, indices), values);
        if let Some(row) = matrix.not_finite() {
            return Ok(NOT_FINITE | row as u64);
        }
        let a = Rows { count: self.rows, width: self.cols, offsets, indices, values };
        Ok(qr::solve(&plan, (&a, &matrix.entries), ((b, self.b.ld), (x, self.x.ld)), self.b.cols) as u64)
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, _: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        Err(super::no_qr())
    }

    fn finish(&self, position: u64) -> Result<()> {
        match position {
            0 => Ok(()),
            OTHER => Err(super::other_structure()),
            _ if position & NOT_FINITE != 0 => Err(super::not_finite(position ^ NOT_FINITE)),
            _ => Err(Error::Singular { position, matrix: 0, site: Site::none() }),
        }
    }
}

impl Direct {
    /// Solves the least-squares problem `min ||A * X - B||` for a matrix A of full rank whose structure was analysed;
    /// if A is square, X solves `A * X = B`. It computes R of `A = Q * R` and applies the rotations to the right-hand
    /// sides at the same time, so Q is not stored. B and X are tensors of two axes whose columns are contiguous, or both of one
    /// axis: B has as many rows as A has rows, X as many as A has columns. Host
    /// engine only: [`analyse`](Self::analyse) refuses QR on a GPU, as cuDSS has none.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the analysis is for another method, another size or another number of entries, the
    /// shapes do not agree, or the columns of B or X are not contiguous; a stale or foreign buffer. From the wait:
    /// [`Error::InvalidArgument`] if the structure of A is not the one that was analysed, or a value of A is infinite or NaN; [`Error::Singular`] with the column,
    /// counted from 1, that depends linearly on others. X comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::direct::Factorization;
    /// let device = windlass::Device::host()?;
    /// let direct = device.direct();
    /// let a = device.sparse().upload_csr(3, 2, &[0, 1, 2, 4], &[0, 1, 0, 1], &[1.0f64, 1.0, 1.0, 1.0])?; // [1 0; 0 1; 1 1]
    /// let analysis = direct.analyse(Factorization::Qr, &a)?;
    /// let b = device.tensor([3], [1.0f64, 2.0, 0.0])?;
    /// let x = direct.solve_qr(&analysis, &a, &b, device.uninit([2])?)?.await_result()?;
    /// let x = device.to_vec(&x)?;
    /// assert!(x[0].abs() < 1e-15 && (x[1] - 1.0).abs() < 1e-15);
    /// # Ok(()) }
    /// ```
    pub fn solve_qr<'a, T: SolveElement, I: SparseIndex>(
        &self,
        analysis: &Analysis<I>,
        a: &Csr<T, I>,
        b: impl ReadableTensor<'a, T>,
        x: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>, Verdict> {
        self.least_squares(analysis, a, &b.into(), x.into())
    }

    fn least_squares<T: SolveElement, I: SparseIndex>(
        &self,
        analysis: &Analysis<I>,
        a: &Csr<T, I>,
        b: &TensorRef<'_, T>,
        x: Part<T>,
    ) -> Submitted<Tensor<T>, Verdict> {
        let fits = match analysis.factorization {
            Factorization::Qr => analysis.check(a),
            other => Err(Error::invalid("analysis", format!("made for {other:?}, not for QR"))),
        };
        let operands = fits.and_then(|()| {
            let (b, of_b) = b.operand()?;
            Ok((b, DenseAt::from_columns("b", &of_b)?, DenseAt::from_columns("x", x.layout())?))
        });
        x.submit(("sparse_qr", "direct"), operands, |(b, of_b, of_x), x| {
            let (rows, cols, nnz) = (a.rows(), a.cols(), a.nnz());
            let op = Solve::<T, I> { rows, cols, nnz, b: of_b, x: of_x, _types: PhantomData };
            let of_a = (a.offsets().as_in(), a.indices().as_in(), a.values().as_in());
            self.submit(op, (of_a.0, of_a.1, of_a.2, &analysis.plan(a), b), (x,))
        })
    }
}
