//! Products of arrays by the dense fronts: views in, arrays out, in any order.

use super::Coming;
use super::product::sizes;
use crate::core::buffer::DeviceBuffer;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::device::Device;
use crate::libraries::blas::{Blas, BlasElement, Gemm, GemmElement, Gemv};
#[cfg(feature = "blaslt")]
use crate::libraries::blaslt::{BlasLt, Matmul, MatmulElement};
use crate::libraries::flags::{Order, Transpose};
use ndarray::{ArrayRef, ArrayRef2, Dimension, Ix2, RemoveAxis};

/// Uploads a matrix, or a batch of matrices along the first axes, one after the other, each in the order that it has in
/// the array. Matrices with neither order are copied row by row.
fn lay<T: Element, D: Dimension>(device: &Device, array: &ArrayRef<T, D>) -> Result<(DeviceBuffer<T>, Order)> {
    let axes = array.ndim();
    if axes >= 2 && !array.is_standard_layout() {
        let mut turned = array.view();
        turned.swap_axes(axes - 2, axes - 1);
        if turned.is_standard_layout() {
            return Ok((device.upload_array(&turned, Order::Row)?.into_output(), Order::Column));
        }
    }
    Ok((device.upload_array(array, Order::Row)?.into_output(), Order::Row))
}

/// Rows and columns of the matrices of an array, and the sizes of the other axes.
fn matrices<'s>(name: &'static str, shape: &'s [usize]) -> Result<((usize, usize), &'s [usize])> {
    match shape {
        [batch @ .., rows, cols] => Ok(((*rows, *cols), batch)),
        _ => Err(Error::invalid(name, format!("a shape of {shape:?} has no rows and columns"))),
    }
}

/// The sizes `m`, `n`, `k` of the products of matrices, and the number of products.
fn products(a: &[usize], b: &[usize]) -> Result<((usize, usize, usize), usize)> {
    let ((of_a, batch_a), (of_b, batch_b)) = (matrices("a", a)?, matrices("b", b)?);
    if batch_a != batch_b {
        return Err(Error::invalid("b", format!("a batch shape of {batch_b:?}, but that of a is {batch_a:?}")));
    }
    Ok((sizes(of_a, of_b)?, batch_a.iter().product()))
}

/// The shape `of`, with another size of the last axis.
fn with_last<D: Dimension>(of: &D, size: usize) -> D {
    let mut shape = of.clone();
    if let Some(last) = shape.slice_mut().last_mut() {
        *last = size;
    }
    shape
}

/// A column-major matrix is, row by row, the transposed one.
fn by_rows(order: Order) -> Transpose {
    match order {
        Order::Row => Transpose::No,
        Order::Column => Transpose::Yes,
    }
}

/// A buffer for `count` matrices of `m x n` elements.
fn room<T: Element>(device: &Device, (m, n): (usize, usize), count: usize) -> Result<DeviceBuffer<T>> {
    let len = m.checked_mul(n).and_then(|each| each.checked_mul(count));
    device.uninit(len.ok_or_else(|| Error::invalid("a", format!("{count} matrices of {m} x {n} overflow")))?)
}

impl Blas {
    /// The product of two matrices: uploaded in the order in which they lie, multiplied ([`gemm`](Self::gemm)),
    /// downloaded. Views may lie by rows or by columns without a copy on the host; any other is copied row by row.
    ///
    /// Arrays of three or more dimensions are batches of matrices; the last two axes are those of a matrix
    /// ([`gemm_strided_batched`](Self::gemm_strided_batched)). The first axes of both must be the same.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when A has not as many columns as B has rows, or another number of matrices; else as
    /// [`gemm`](Self::gemm).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, ndarray::{Array3, array}};
    /// let (a, b) = (array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], array![[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]]);
    /// let blas = Device::host()?.blas();
    /// assert_eq!(blas.gemm_array(&a, &b)?.await_result()?, a.dot(&b));
    /// assert_eq!(blas.gemm_array(&b.t(), &a.t())?.await_result()?, b.t().dot(&a.t()));
    /// let batch = Array3::from_shape_fn((4, 2, 3), |(l, i, j)| (l + i * j) as f64); // four matrices
    /// let squares = blas.gemm_array(&batch, &batch.view().permuted_axes([0, 2, 1]))?.await_result()?;
    /// assert_eq!(squares.dim(), (4, 2, 2));
    /// # Ok(()) }
    /// ```
    pub fn gemm_array<T: GemmElement, D: Dimension + 'static>(
        &self,
        a: &ArrayRef<T, D>,
        b: &ArrayRef<T, D>,
    ) -> Coming<T::Out, D> {
        let (device, ((m, n, k), count)) = (self.device(), products(a.shape(), b.shape())?);
        let ((on_a, order_a), (on_b, order_b)) = (lay(device, a)?, lay(device, b)?);
        let spec = Gemm::new(m, n, k).row_major().trans_a(by_rows(order_a)).trans_b(by_rows(order_b));
        let c = room(device, (m, n), count)?;
        let c = if a.ndim() == 2 {
            self.gemm(spec, &on_a, &on_b, c)?
        } else {
            self.gemm_strided_batched(spec.batch(count), &on_a, &on_b, c)?
        };
        device.download_array(&c.into_output(), with_last(&a.raw_dim(), n), Order::Row)
    }

    /// The product of a matrix and a vector, as [`gemm_array`](Self::gemm_array) ([`gemv`](Self::gemv)); for batches
    /// ([`gemv_strided_batched`](Self::gemv_strided_batched)), x has one axis less than a.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when A has not as many columns as x has elements, or another number of matrices than there
    /// are vectors; else as [`gemv`](Self::gemv).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, ndarray::array};
    /// let (a, x) = (array![[1.0f32, 2.0], [3.0, 4.0]], array![1.0f32, 10.0]);
    /// let y = Device::host()?.blas().gemv_array(&a.t(), &x)?.await_result()?;
    /// assert_eq!(y, array![31.0, 42.0]);
    /// # Ok(()) }
    /// ```
    pub fn gemv_array<T: BlasElement, D: RemoveAxis + 'static>(
        &self,
        a: &ArrayRef<T, D>,
        x: &ArrayRef<T, D::Smaller>,
    ) -> Coming<T, D::Smaller> {
        let (device, ((m, n), batch)) = (self.device(), matrices("a", a.shape())?);
        if x.shape().split_last() != Some((&n, batch)) {
            let what = if batch.is_empty() {
                format!("{} elements, but a is {m} x {n}", x.len())
            } else {
                format!("a shape of {:?}, but that of a is {:?}", x.shape(), a.shape())
            };
            return Err(Error::invalid("x", what));
        }
        let count = batch.iter().product();
        let ((on_a, order), on_x) = (lay(device, a)?, device.upload_array(x, Order::Row)?.into_output());
        // For BLAS, a row-major matrix is the transposed one.
        let spec = match order {
            Order::Row => Gemv::new(n, m).trans(Transpose::Yes),
            Order::Column => Gemv::new(m, n),
        };
        // For a matrix without columns BLAS does nothing, so the result is filled with zeros here.
        let y = room(device, (m, 1), count)?;
        let y = if n == 0 { device.fill(y, T::default())?.into_output() } else { y };
        let y = if batch.is_empty() {
            self.gemv(spec, &on_a, &on_x, y)?
        } else {
            self.gemv_strided_batched(spec.batch(count), &on_a, &on_x, y)?
        };
        device.download_array(&y.into_output(), with_last(&x.raw_dim(), m), Order::Row)
    }
}

#[cfg(feature = "blaslt")]
impl BlasLt {
    /// The product of two matrices, of any supported combination of types ([`matmul`](Self::matmul)), as
    /// [`Blas::gemm_array`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when A has not as many columns as B has rows; else as [`matmul`](Self::matmul).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, ndarray::array};
    /// let (a, b) = (array![[1i8, 2], [3, 4]], array![[100i8], [100]]);
    /// let d = Device::host()?.blas_lt().matmul_array::<_, _, i32>(&a, &b)?.await_result()?;
    /// assert_eq!(d, array![[300], [700]]);
    /// # Ok(()) }
    /// ```
    pub fn matmul_array<A, B, D>(&self, a: &ArrayRef2<A>, b: &ArrayRef2<B>) -> Coming<D, Ix2>
    where
        A: MatmulElement<B, D>,
        B: Element,
        D: Element,
    {
        let spec = Matmul::of_arrays(a, b)?;
        let ((on_a, order_a), (on_b, order_b)) = (lay(self.device(), a)?, lay(self.device(), b)?);
        let (m, n) = (a.nrows(), b.ncols());
        let out = room::<D>(self.device(), (m, n), 1)?;
        let d = self.matmul(spec.order_a(order_a).order_b(order_b), &on_a, &on_b, out)?.into_output();
        self.device().download_array(&d, (m, n), Order::Row)
    }
}
