//! Triangular systems.

use super::super::element::{SolveElement, SparseIndex};
#[cfg(feature = "host")]
use super::super::host::triangular::{Triangle, levels};
#[cfg(feature = "cuda")]
use super::super::native::{Pick, SOLVE};
use super::super::operands::DenseAt;
use super::super::products::Side;
use super::super::routine::{Call, Routine};
use super::super::{Compressed, Csr, Major, Sparse};
use crate::core::buffer::{DeviceBuffer, GpuRef, Shareable};
use crate::core::device_info::DeviceKind;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, OperandNames, Spans};
use crate::device::dispatch::Submitted;
use crate::device::tensor::{Layout, Part, ReadableTensor, Tensor, TensorRef, WritableTensor};
#[cfg(feature = "cuda")]
use crate::engines::cuda::KernelArg;
use crate::engines::cuda_enqueue::Enqueue;
use crate::libraries::flags::{Diag, Order, Transpose, Uplo};
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::kernels;
use std::marker::PhantomData;

/// A triangle of a sparse matrix, prepared for solving by [`Sparse::triangular`]. It keeps the analysis of the
/// structure; [`with_values`](Self::with_values) reuses it for other values.
pub struct SparseTriangular<T: SolveElement, I: SparseIndex = i32> {
    /// The matrix as compressed rows: those of the transpose if columns are compressed.
    stored: Csr<T, I>,
    /// The rows that the solve reads: the same as `stored`, or its transpose.
    rows: Csr<T, I>,
    turned: bool,
    how: How,
    /// The rows sorted by level, and, on the host engine, the position where each level begins.
    levels: (GpuRef<I>, GpuRef<I>),
}

/// Which triangle is used, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct How {
    pub(super) upper: bool,
    pub(super) unit: bool,
    pub(super) conj: bool,
}

impl<T: SolveElement, I: SparseIndex> SparseTriangular<T, I> {
    /// The number of rows, which is the number of columns.
    pub fn n(&self) -> usize {
        self.rows.rows()
    }

    /// The same triangle with other values in the same structure; nothing is analysed again.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the number of values differs; a stale or foreign buffer; [`Error::OutOfMemory`].
    pub fn with_values(&self, sparse: &Sparse, values: impl Shareable<T>) -> Result<Self> {
        let stored = self.stored.with_values(values)?;
        let rows = if self.turned { sparse.transpose(&stored)? } else { stored.clone() };
        Ok(SparseTriangular { stored, rows, turned: self.turned, how: self.how, levels: self.levels.clone() })
    }
}

impl<T: SolveElement, I: SparseIndex> Clone for SparseTriangular<T, I> {
    fn clone(&self) -> Self {
        let (stored, rows, levels) = (self.stored.clone(), self.rows.clone(), self.levels.clone());
        SparseTriangular { stored, rows, turned: self.turned, how: self.how, levels }
    }
}

impl<T: SolveElement, I: SparseIndex> std::fmt::Debug for SparseTriangular<T, I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SparseTriangular({:?}, {:?})", self.rows, self.how)
    }
}

/// Sorts the rows by level.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Levels<T, I> {
    side: Side,
    upper: bool,
    _types: PhantomData<fn() -> (T, I)>,
}

impl<T: SolveElement, I: SparseIndex> Routine for Levels<T, I> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = "spsv_analysis";
    const OPERANDS: OperandNames = (&["a", "a", "a"], &["order", "starts"]);
    type Reads = (I, I, T);
    type Output = (DeviceBuffer<I>, DeviceBuffer<I>);
    type Raw = ();

    fn check(&self, (offsets, indices, values): &Spans<Self::Reads>, (order, starts): &Spans<(I, I)>) -> Result<()> {
        self.side.check(offsets.len(), indices.len(), values.len())?;
        // A GPU does not need the positions where levels begin.
        let starts_fit = starts.is_empty() || Some(starts.len()) == self.side.count.checked_add(2);
        if order.len() != self.side.count || !starts_fit {
            return Err(Error::invalid("order", format!("{} elements for {} rows", order.len(), self.side.count)));
        }
        Ok(())
    }

    fn overwrites_each(&self, _: &Spans<(I, I)>, _: usize) -> bool {
        true
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (offsets, indices, values): (&[I], &[I], &[T]),
        (order, starts): (&mut [I], &mut [I]),
    ) -> Result<()> {
        levels(&self.side.rows(offsets, indices, values), self.upper, order, starts);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((offsets, indices, _), (order, _)) = (*queue.reads(), *queue.writes());
        let arrays = [offsets.address(), indices.address()];
        // SAFETY: a validated square matrix; the order has one element for each row (checked).
        unsafe {
            kernels::order_of_levels::<I>(queue, arrays, self.side.count, indices.len(), self.upper, order.address())
        }
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// `X = alpha * op(A)^-1 * B`.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Solve<T: SolveElement, I> {
    pub(super) side: Side,
    pub(super) how: How,
    pub(super) alpha: T,
    pub(super) b: DenseAt,
    pub(super) x: DenseAt,
    _index: PhantomData<fn() -> I>,
}

impl<T: SolveElement, I: SparseIndex> Routine for Solve<T, I> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = "spsm";
    const OPERANDS: OperandNames = (&["a", "a", "a", "b", "order", "starts"], &["x"]);
    type Reads = (I, I, T, T, I, I);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (offsets, indices, values, b, order, _): &Spans<Self::Reads>, (x,): &Spans<(T,)>) -> Result<()> {
        self.side.check(offsets.len(), indices.len(), values.len())?;
        if order.len() != self.side.count {
            return Err(Error::invalid("order", format!("{} elements for {} rows", order.len(), self.side.count)));
        }
        self.b.check_shape("b", (self.side.count, self.b.cols), format_args!("the triangle's rows ask for"))?;
        self.x.check_shape("x", (self.side.count, self.b.cols), format_args!("the solution is"))?;
        self.b.check("b", b.len())?;
        self.x.check("x", x.len())
    }

    fn overwrites_each(&self, (x,): &Spans<(T,)>, _: usize) -> bool {
        self.x.fills(x.len())
    }

    fn cost(&self) -> Cost {
        let bytes = self.side.count.saturating_mul(self.b.cols).saturating_mul(2).saturating_mul(size_of::<T>());
        Cost { flops: 0, bytes: bytes as u64 }
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (offsets, indices, values, b, order, starts): <Self::Reads as crate::core::buffer::Elems>::Slices<'_>,
        (x,): (&mut [T],),
    ) -> Result<()> {
        use super::super::host::{at, put};
        let rows = self.side.rows(offsets, indices, values);
        let (n, count, levels) = (self.b.cols, self.side.count, Some((order, starts)));
        let (from, to) = (self.b.steps(), self.x.steps());
        let How { upper, unit, conj } = self.how;
        let triangle = Triangle { upper, unit, conj };
        if n == 1 && from.row == 1 && to.row == 1 {
            let x = x.get_mut(..count).unwrap_or_default();
            x.iter_mut().zip(b).for_each(|(x, b)| *x = self.alpha * *b);
            triangle.solve(&rows, 1, x, levels);
            return Ok(());
        }
        let mut work: Vec<T> = crate::core::room::with_capacity(count.saturating_mul(n))?;
        for row in 0..count {
            work.extend((0..n).map(|column| self.alpha * at(b, from.place(row, column))));
        }
        triangle.solve(&rows, n, &mut work, levels);
        for (row, solved) in work.chunks(n.max(1)).enumerate() {
            solved.iter().enumerate().for_each(|(column, solved)| put(x, to.place(row, column), *solved));
        }
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        /// The right-hand sides are divided among at most this many groups of warps.
        const TEAMS: usize = 16;
        let ((offsets, indices, values, b, order, _), (x,)) = (*queue.reads(), *queue.writes());
        let (count, n, How { upper, unit, conj }) = (self.side.count, self.b.cols, self.how);
        if count == 0 || n == 0 {
            return Ok(());
        }
        let ((b_row, b_column), (x_row, x_column)) = (self.b.strides(), self.x.strides());
        let flag = |on: bool| KernelArg::from(u64::from(on));
        let (lanes, teams) = ((indices.len() / count).clamp(1, 32).next_power_of_two(), n.min(TEAMS));
        let args = [
            order.into(),
            offsets.into(),
            indices.into(),
            values.into(),
            count.into(),
            indices.len().into(),
            flag(upper),
            flag(unit),
            flag(conj),
            self.alpha.into(),
            n.into(),
            b.into(),
            b_row.into(),
            b_column.into(),
            x.into(),
            x_row.into(),
            x_column.into(),
            lanes.into(),
            teams.into(),
        ];
        let (table, name) = (SOLVE(T::DTYPE)?, I::pick([c"triangle_4", c"triangle_8"]));
        let (line, lines) = self.x.lines();
        let marks = [x.into(), line.into(), lines.into(), self.x.ld.into()];
        let warps = count.div_ceil(32 / lanes).saturating_mul(teams);
        // SAFETY: the parameters have this order and these types; both matrices lie inside their buffers, the entries
        // inside the triangle, and the order has each row once, behind the rows that it depends on.
        unsafe {
            kernels::each(queue, table, c"forget_lines_all", line.saturating_mul(lines), &marks)?;
            kernels::parts_in_order(queue, table, name, warps, &args)
        }
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

impl Sparse {
    /// Prepares a triangle of a square matrix for solving: transposes the storage if necessary, and finds the levels of
    /// rows that can be solved in parallel (one index of memory for each row). Every solve reuses the result. Entries
    /// outside of the triangle are not read; with [`Diag::Unit`] the diagonal is not read either. The triangle is
    /// returned at once, while the device still computes it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the matrix is not square; a stale or foreign matrix; [`Error::OutOfMemory`].
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Diag, Transpose, Uplo};
    /// let device = Device::host()?;
    /// let sparse = device.sparse();
    /// let a = sparse.upload_csr(2, 2, &[0, 1, 3], &[0, 0, 1], &[2.0f64, 1.0, 4.0])?; // [2 0; 1 4]
    /// let lower = sparse.triangular(&a, Uplo::Lower, Diag::NonUnit, Transpose::No)?;
    /// let b = device.tensor([2], [2.0f64, 9.0])?;
    /// let x = sparse.spsv(&lower, 1.0, &b, device.uninit([2])?)?.await_result()?;
    /// assert_eq!(device.to_vec(&x)?, [1.0, 2.0]);
    /// # Ok(()) }
    /// ```
    pub fn triangular<T: SolveElement, I: SparseIndex, M: Major>(
        &self,
        a: &Compressed<T, I, M>,
        uplo: Uplo,
        diag: Diag,
        trans: Transpose,
    ) -> Result<SparseTriangular<T, I>> {
        let n = a.rows();
        if n != a.cols() {
            return Err(Error::invalid("a", format!("{n} x {} is not square", a.cols())));
        }
        let stored = a.as_rows();
        // The rows of op(A) are the stored rows, or those of their transpose.
        let turned = M::ROWS != (trans == Transpose::No);
        let rows = if turned { self.transpose(&stored)? } else { stored.clone() };
        let upper = (uplo == Uplo::Upper) == (trans == Transpose::No);
        let how = How { upper, unit: diag == Diag::Unit, conj: trans == Transpose::Conjugate };
        let levels = Levels::<T, I> { side: Side::from_compressed(&rows), upper, _types: PhantomData };
        let reads = (rows.offsets().as_in(), rows.indices().as_in(), rows.values().as_in());
        let len = match self.device.kind() {
            DeviceKind::Host => n.checked_add(2).ok_or_else(|| Error::invalid("a", "the number of rows overflows"))?,
            _ => 0,
        };
        let made = (self.device.unwritten(n)?, self.device.unwritten(len)?);
        let (order, starts) = self.submit(levels, reads, made)?.into_output();
        Ok(SparseTriangular { stored, rows, turned, how, levels: (order.share(), starts.share()) })
    }

    /// `x = alpha * op(A)^-1 * b` for a prepared triangle, where b and x are tensors of one axis, whose elements may be apart but
    /// must run forwards. On a GPU a kernel of our own computes it with the same bits
    /// each time. It starts the rows in the order of the levels that the analysis found, and each row waits for the
    /// unknowns that it needs (`cusparseSpSV` uses the same method). A zero or missing pivot is not an error: the
    /// division by it gives infinities. Long chains of dependent rows are slow on a GPU, about a microsecond for each
    /// row.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the lengths do not fit, or b or x is flipped or broadcast; a stale or foreign buffer. `x` comes
    /// back.
    pub fn spsv<'a, T: SolveElement, I: SparseIndex>(
        &self,
        a: &SparseTriangular<T, I>,
        alpha: T,
        b: impl ReadableTensor<'a, T>,
        x: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        self.solve_triangle(a, alpha, (&b.into(), x.into()), DenseAt::from_vector)
    }

    /// `X = alpha * op(A)^-1 * B` for a prepared triangle, where B and X are tensors of two axes, each in either order; as
    /// [`spsv`](Self::spsv) (the counterpart in cuSPARSE is `cusparseSpSM`).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the shapes do not agree, or neither the rows nor the columns of B or X are contiguous; a
    /// stale or foreign buffer. `x` comes back.
    pub fn spsm<'a, T: SolveElement, I: SparseIndex>(
        &self,
        a: &SparseTriangular<T, I>,
        alpha: T,
        b: impl ReadableTensor<'a, T>,
        x: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        let matrix = |name, layout: &Layout| DenseAt::from_matrix(name, layout, Order::Column);
        self.solve_triangle(a, alpha, (&b.into(), x.into()), matrix)
    }

    fn solve_triangle<T: SolveElement, I: SparseIndex>(
        &self,
        a: &SparseTriangular<T, I>,
        alpha: T,
        (b, x): (&TensorRef<'_, T>, Part<T>),
        at: fn(&'static str, &Layout) -> Result<DenseAt>,
    ) -> Submitted<Tensor<T>> {
        let operands = b.operand().and_then(|(b, of_b)| Ok((b, at("b", &of_b)?, at("x", x.layout())?)));
        x.submit(("spsm", "sparse"), operands, |(b, of_b, of_x), x| {
            let (side, how) = (Side::from_compressed(&a.rows), a.how);
            let solve = Solve::<T, I> { side, how, alpha, b: of_b, x: of_x, _index: PhantomData };
            let (order, starts) = (a.levels.0.as_in(), a.levels.1.as_in());
            let arrays = (a.rows.offsets().as_in(), a.rows.indices().as_in(), a.rows.values().as_in());
            self.submit(solve, (arrays.0, arrays.1, arrays.2, b, order, starts), (x,))
        })
    }
}
