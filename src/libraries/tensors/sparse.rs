//! Products of sparse matrices with tensors.

use crate::core::error::{Error, Rejected, Result};
use crate::device::dispatch::Submitted;
use crate::device::tensor::{Layout, ReadableTensor, Tensor, WritableTensor};
use crate::libraries::blas::Scaled;
use crate::libraries::flags::Order;
use crate::libraries::operands::{Matrices, Vector};
use crate::libraries::sparse::{Sparse, SparseElement, SparseIndex, SparseMatrix, Spmm, Spmv};

impl Sparse {
    /// `C = alpha * A * B + beta * C` with a sparse A, where B and C are tensors of two axes, each in either order
    /// ([`spmm`](Self::spmm)). Nothing is copied.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the shapes do not agree, and when neither the rows nor the columns of B or C are
    /// contiguous: [`Device::contiguous`](crate::Device::contiguous) makes a copy that is; else as [`spmm`](Self::spmm). `c`
    /// comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let a = device.sparse().upload_csr(2, 3, &[0, 2, 3], &[0, 2, 1], &[1.0f32, 2.0, 3.0])?; // [1 0 2; 0 3 0]
    /// let b = device.tensor([2, 3], [1.0f32, 3.0, 5.0, 2.0, 4.0, 6.0])?;
    /// let c = device.uninit_tensor([2, 2])?;
    /// let c = device.sparse().spmm_tensor(1.0, &a, b.transpose(), 0.0, c)?.await_result()?;
    /// assert_eq!(device.show(&c)?.to_string(), "[[11. 14.]\n [ 9. 12.]]");
    /// # Ok(()) }
    /// ```
    pub fn spmm_tensor<'a, T: SparseElement, I: SparseIndex>(
        &self,
        alpha: T::Scalar,
        a: &impl SparseMatrix<T, I>,
        b: impl ReadableTensor<'a, T>,
        beta: T::Scalar,
        c: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        let (b, c) = (b.into(), c.into());
        let made = b.operand().and_then(|(b, of_b)| Ok((b, spec::<T>((a.rows(), a.cols()), &of_b, c.layout())?)));
        match made {
            Ok((b, spec)) => {
                let (c, _, whole) = c.operand();
                whole.submitted(self.spmm(spec.alpha(alpha).beta(beta), a, b, c))
            }
            Err(error) => Err(Rejected::new(error.in_op("spmm", "sparse"), (c.into_tensor(),))),
        }
    }

    /// `y = alpha * op(A) * x + beta * y` with a sparse A, where x and y are tensors of one axis whose elements are neighbours
    /// ([`spmv`](Self::spmv)). Nothing is copied.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a tensor of another rank, and when the elements of x or y are not neighbours:
    /// [`Device::contiguous`](crate::Device::contiguous) makes a copy whose are; else as [`spmv`](Self::spmv). `y` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::sparse::Spmv;
    /// let device = windlass::Device::host()?;
    /// let a = device.sparse().upload_csr(2, 3, &[0, 2, 3], &[0, 2, 1], &[1.0f32, 2.0, 3.0])?; // [1 0 2; 0 3 0]
    /// let (x, y) = (device.tensor([2, 3], [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?, device.uninit_tensor([2])?);
    /// let y = device.sparse().spmv_tensor(Spmv::new(), &a, x.index(0, 1)?, y)?.await_result()?;
    /// assert_eq!(device.show(&y)?.to_string(), "[16. 15.]");
    /// # Ok(()) }
    /// ```
    pub fn spmv_tensor<'a, T: SparseElement, I: SparseIndex>(
        &self,
        spec: impl Into<Scaled<'a, Spmv<T::Scalar>>>,
        a: &impl SparseMatrix<T, I>,
        x: impl ReadableTensor<'a, T>,
        y: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        let (x, y, spec) = (x.into(), y.into(), spec.into());
        let operand = x.operand().and_then(|(part, layout)| {
            Vector::from_layout("x", &layout)?.neighbours("x")?;
            Vector::from_layout("y", y.layout())?.neighbours("y")?;
            Ok(part)
        });
        match operand {
            Ok(x) => {
                let (y, _, whole) = y.operand();
                whole.submitted(self.spmv(spec, a, x, y))
            }
            Err(error) => Err(Rejected::new(error.in_op("spmv", "sparse"), (y.into_tensor(),))),
        }
    }
}

fn spec<T: SparseElement>((m, k): (usize, usize), of_b: &Layout, of_c: &Layout) -> Result<Spmm<T::Scalar>> {
    let matrix = |name, layout: &Layout| match layout.rank() {
        2 => Matrices::from_layout(name, layout),
        rank => Err(Error::invalid(name, format!("{layout:?} has {rank} axes, not two"))),
    };
    let (b, c) = (matrix("b", of_b)?, matrix("c", of_c)?);
    if b.rows != k {
        return Err(Error::invalid("b", format!("{} rows, but a has {k} columns", b.rows)));
    }
    if (c.rows, c.cols) != (m, b.cols) {
        return Err(Error::invalid("c", format!("{} x {}, but the product is {m} x {}", c.rows, c.cols, b.cols)));
    }
    let ((order_b, ldb), (order_c, ldc)) = (b.lines("b", Order::Row)?, c.lines("c", Order::Row)?);
    Ok(Spmm::new(b.cols).order_b(order_b).order_c(order_c).ldb(ldb).ldc(ldc))
}
