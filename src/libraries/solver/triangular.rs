//! Solutions with triangular matrices.

use super::cholesky::{Potrs, Shape};
use super::prelude::*;
use crate::core::dispatch::PendingDispatch;
use crate::core::error::Rejected;
use crate::device::Device;
use crate::device::tensor::{Layout, ReadableTensor, TensorRef};
use crate::libraries::blas::Triangular;
use crate::libraries::flags::{Order, Side};
use crate::libraries::operands::Matrices;

/// Triangular systems.
impl Device {
    /// Solves `A * X = B` with triangular matrices, of which the triangle `uplo` is read, as a new tensor: SciPy's `solve_triangular`. A
    /// `b` of one axis is a vector, and so is the result; the axes before the matrices are a batch, which is broadcast. `b` is copied;
    /// `a` is, and counted ([`Stats::operand_copies`](crate::Stats::operand_copies)), if neither its rows nor its columns are
    /// contiguous. For a unit diagonal, a factor, the right side, or a result in place see [`Blas::trsm`](crate::Blas::trsm).
    ///
    /// The diagonal is not checked for zeros: a zero gives infinities and NaN. Real matrices with at most 32 rows, and as many right
    /// sides, take one kernel of our own (see the [module](crate::solver)).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`], with both shapes, when A is not square or B has not as many rows; else as
    /// [`trsm`](crate::Blas::trsm).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Uplo};
    /// let device = Device::host()?;
    /// let a = device.tensor_of([[2.0f64, 0.0], [1.0, 4.0]])?;
    /// let x = device.solve_triangular(Uplo::Lower, &a, &device.tensor_of([2.0, 9.0])?)?;
    /// assert_eq!(device.to_vec(&x)?, [1.0, 2.0]);
    /// # Ok(()) }
    /// ```
    pub fn solve_triangular<'a, 'b, T: SolverElement>(
        &self,
        uplo: Uplo,
        a: impl ReadableTensor<'a, T>,
        b: impl ReadableTensor<'b, T>,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        solved(self, uplo, &a.into(), &b.into()).map_err(|error| error.in_op("solve_triangular", "solver"))
    }
}

fn solved<T: SolverElement>(
    device: &Device,
    uplo: Uplo,
    a: &TensorRef<'_, T>,
    b: &TensorRef<'_, T>,
) -> Result<PendingDispatch<Tensor<T>>> {
    crate::libraries::blas::check_square(a.shape())?;
    let is_vector = b.rank() == 1;
    let b = if is_vector { &b.unsqueeze(-1)? } else { b };
    let ([.., n, _], [.., rows, sides]) = (a.shape(), b.shape()) else {
        return Err(Error::invalid("b", "a right side has one axis at least"));
    };
    if rows != n {
        let what = format!("shape {:?} with {rows} rows, but `a` has shape {:?}", b.shape(), a.shape());
        return Err(Error::invalid("b", what));
    }
    let batch = Layout::broadcast_batches(a.shape(), b.shape())?;
    let b = b.broadcast([&batch[..], &[*n, *sides]].concat())?;
    if !b.is_empty() && fits::<T>(&[*n, *sides]) {
        return one_axis(small(device, uplo, a, &b)?, is_vector);
    }
    let x = device.contiguous(b)?;
    let is_readable = |layout: &Layout| {
        let spread = layout.broadcast([&batch[..], &[*n, *n]].concat());
        spread.and_then(|a| Matrices::from_layout("a", &a)?.lines("a", Order::Row)).is_ok()
    };
    let copy = if is_readable(a.layout()) {
        None
    } else {
        Some(device.copied(&a.broadcast([&batch[..], &[*n, *n]].concat())?)?)
    };
    let a = copy.as_ref().map_or_else(|| a.view(), |copy| copy.view());
    let x = device.blas().trsm(Triangular::new(Side::Left, uplo), a, x)?;
    one_axis(x, is_vector)
}

/// A kernel and loops of our own.
fn small<T: SolverElement>(
    device: &Device,
    uplo: Uplo,
    a: &TensorRef<'_, T>,
    b: &TensorRef<'_, T>,
) -> Result<PendingDispatch<Tensor<T>>> {
    let [batch @ .., n, _] = b.shape() else { return Err(Error::invalid("b", "less than two axes")) };
    let x = device.contiguous_columns(b)?.into_output();
    let lines = |layout: &Layout| {
        let all = Matrices::along("a", layout, batch)?;
        Ok::<_, Error>((all, all.lines("a", Order::Column)?))
    };
    let copy = match lines(a.layout()) {
        Ok(_) => None,
        Err(_) => Some(device.copied(&a.broadcast([batch, &[*n, *n]].concat())?)?),
    };
    let a = copy.as_ref().map_or_else(|| a.view(), |copy| copy.view());
    let (a, of_a) = a.operand()?;
    let (all, (order, ld)) = lines(&of_a)?;
    let of_a = Matrix::new(*n, *n).ld(ld);
    let of_a = if all.count == 1 { of_a } else { of_a.batch(all.count).stride(all.stride) };
    // Rows are the columns of the transpose.
    let (transposed, is_upper) = (order == Order::Row, uplo == Uplo::Upper);
    let uplo = if is_upper == transposed { Uplo::Lower } else { Uplo::Upper };
    let op = Potrs::triangle(Shape { uplo, a: of_a }, transposed, Matrix::of("b", x.layout())?);
    Ok(device.solver().submit(op, (a,), (x,))?)
}

/// The result for a vector has one axis less.
fn one_axis<T: SolverElement>(x: PendingDispatch<Tensor<T>>, is_vector: bool) -> Result<PendingDispatch<Tensor<T>>> {
    if !is_vector {
        return Ok(x);
    }
    let layout = x.layout().squeeze_axis(-1)?;
    x.retype(|(tensor,)| Ok((tensor.with_layout(layout).map_err(Rejected::into_error)?,)))
}
