//! Products of tensors that lie in any way.

use super::{Gemm, GemmElement, VectorElement};
use crate::core::dispatch::PendingDispatch;
use crate::core::error::{Error, Rejected, Result};
use crate::device::Device;
use crate::device::tensor::{Layout, ReadableTensor, Tensor, TensorRef};
use crate::libraries::flags::Order;
use crate::libraries::operands::Matrices;
use std::borrow::Cow;

/// Products of matrices.
impl Device {
    /// The product of matrices, as a new row-major tensor that is still computed: NumPy's and PyTorch's `a @ b`. The last two axes are
    /// those of the matrices, the axes before a batch, which is broadcast. An `a` of one axis is a row, a `b` of one axis a column, and
    /// that axis is not in the result; of two vectors it is their inner product, of no axis.
    ///
    /// Operands may lie in any way. Rows or columns whose elements are neighbours are read where they are, in batches at even
    /// distances; other operands are copied first, which [`Stats::operand_copies`](crate::Stats::operand_copies) counts.
    /// [`Blas::gemm`](crate::Blas::gemm) never copies, and has `alpha`, `beta`, and a result in memory that is there.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an operand without an axis, when the columns of `a` are not as many as the rows of `b`, and for
    /// batches that cannot be broadcast; else as [`Blas::gemm`](crate::Blas::gemm).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.tensor([2, 3], [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// let gram = device.matmul(&x, x.transpose())?;
    /// assert_eq!(device.show(&gram)?.to_string(), "[[14. 32.]\n [32. 77.]]");
    /// let sums = device.matmul(&x, device.full([3], 1.0)?.view())?;
    /// assert_eq!(device.to_vec(&sums)?, [6.0, 15.0]);
    /// # Ok(()) }
    /// ```
    #[doc(alias = "gemm")]
    #[doc(alias = "mm")]
    #[doc(alias = "bmm")]
    pub fn matmul<'a, 'b, T: GemmElement>(
        &self,
        a: impl ReadableTensor<'a, T>,
        b: impl ReadableTensor<'b, T>,
    ) -> Result<PendingDispatch<Tensor<T::Out>>> {
        matmul(self, &a.into(), &b.into()).map_err(|error| error.in_op("matmul", "blas"))
    }
}

/// Products of vectors.
impl Device {
    /// The inner product of two vectors, as a tensor without axes that is still computed: NumPy's `dot` of one axis. (`blas().dot`
    /// gives the number, and waits.)
    ///
    /// # Errors
    /// As [`Blas::dot_into`](crate::Blas::dot_into); [`Error::InvalidArgument`] for an operand of more axes than one.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let (x, y) = (device.tensor_of([1.0f32, 2.0, 3.0])?, device.tensor_of([1.0f32, 10.0, 100.0])?);
    /// assert_eq!(device.item(&device.dot(&x, y.flip(0)?)?)?, 123.0);
    /// # Ok(()) }
    /// ```
    #[doc(alias = "inner")]
    pub fn dot<'a, 'b, T: VectorElement>(
        &self,
        x: impl ReadableTensor<'a, T>,
        y: impl ReadableTensor<'b, T>,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let (x, y) = (x.into(), y.into());
        for (name, operand) in [("x", &x), ("y", &y)] {
            if operand.rank() != 1 {
                let what = format!("shape {:?}, but an inner product takes vectors of one axis", operand.shape());
                return Err(Error::invalid(name, what).in_op("dot", "blas"));
            }
        }
        Ok(self.blas().dot_into(x, y, self.uninit([])?)?)
    }
}

fn matmul<T: GemmElement>(
    device: &Device,
    a: &TensorRef<'_, T>,
    b: &TensorRef<'_, T>,
) -> Result<PendingDispatch<Tensor<T::Out>>> {
    let (is_row, is_column) = (a.rank() == 1, b.rank() == 1);
    let (a, b) = (if is_row { &a.unsqueeze(0)? } else { a }, if is_column { &b.unsqueeze(1)? } else { b });
    let ([.., m, k], [.., rows, n]) = (a.shape(), b.shape()) else {
        let name = if a.rank() < 2 { "a" } else { "b" };
        return Err(Error::invalid(name, "a product needs tensors of one axis at least"));
    };
    if k != rows {
        let what =
            format!("shape {:?} with {rows} rows, but `a` has shape {:?} with {k} columns", b.shape(), a.shape());
        return Err(Error::invalid("b", what));
    }
    let batch = Layout::broadcast_batches(a.shape(), b.shape())?;
    // Copies live until the product is submitted: what follows them does so on the device.
    let (copy_a, copy_b) = (copied(device, a, &batch)?, copied(device, b, &batch)?);
    let product = device.blas().gemm(
        Gemm::new(),
        copy_a.as_ref().map_or_else(|| a.view(), |copy| copy.view()),
        copy_b.as_ref().map_or_else(|| b.view(), |copy| copy.view()),
        device.uninit([&batch[..], &[*m, *n]].concat())?,
    )?;
    if !is_row && !is_column {
        return Ok(product);
    }
    let last = product.rank() as isize - 1;
    let mut layout = Cow::Borrowed(product.layout());
    if is_column {
        layout = Cow::Owned(layout.squeeze_axis(last)?);
    }
    if is_row {
        layout = Cow::Owned(layout.squeeze_axis(last - 1)?);
    }
    let layout = layout.into_owned();
    product.retype(|(tensor,)| Ok((tensor.with_layout(layout).map_err(Rejected::into_error)?,)))
}

/// A copy of an operand that no product can read as it lies, or whose batch is not at even distances once it is broadcast.
fn copied<T: GemmElement>(
    device: &Device,
    x: &TensorRef<'_, T>,
    batch: &[usize],
) -> Result<Option<PendingDispatch<Tensor<T>>>> {
    let readable = |x: Result<Matrices>| x.and_then(|x| x.lines("x", Order::Row)).is_ok();
    if readable(Matrices::along("x", x.layout(), batch)) {
        return Ok(None);
    }
    let spread_out = |x: &TensorRef<'_, T>| -> Result<_> {
        let [.., rows, cols] = x.shape() else { return device.copied(x) };
        device.copied(&x.broadcast([batch, &[*rows, *cols]].concat())?)
    };
    if readable(Matrices::from_layout("x", x.layout())) {
        return spread_out(x).map(Some);
    }
    // Without gaps; but a batch that goes on differently may still have to be spread out.
    let copy = device.copied(x)?;
    if readable(Matrices::along("x", copy.layout(), batch)) {
        return Ok(Some(copy));
    }
    spread_out(&copy.view()).map(Some)
}
