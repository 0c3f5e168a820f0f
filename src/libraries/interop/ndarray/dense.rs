//! Products of arrays by the dense fronts: views in, arrays out, in whatever order they lie.

use super::Coming;
use crate::blas::{BlasElement, GemmElement, Gemv};
use crate::blaslt::MatmulElement;
use crate::{Blas, BlasLt, Device, DeviceBuffer, Element, Error, Gemm, Matmul, Order, Result, Transpose};
use ndarray::{ArrayRef1, ArrayRef2, Ix1, Ix2};

/// A matrix on the device, in the order in which its array lies: one that lies in neither is copied row by row.
pub(super) fn lay<T: Element>(device: &Device, array: &ArrayRef2<T>) -> Result<(DeviceBuffer<T>, Order)> {
    let order = Order::of_array(array).unwrap_or(Order::Row);
    Ok((device.upload_array(array, order)?.into_output(), order))
}

/// A matrix that lies so is the transposed one row by row.
fn by_rows(order: Order) -> Transpose {
    match order {
        Order::Row => Transpose::No,
        Order::Column => Transpose::Yes,
    }
}

/// Room for `m x n` elements.
fn room<T: Element>(device: &Device, m: usize, n: usize) -> Result<DeviceBuffer<T>> {
    device.uninit(m.checked_mul(n).ok_or_else(|| Error::invalid("a", format!("{m} x {n} elements overflow")))?)
}

impl Blas {
    /// The product of two matrices: uploaded in the order in which they lie, multiplied ([`gemm`](Self::gemm)),
    /// downloaded. Views may lie by rows or by columns without a copy on the host; any other is copied row by row.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when A has not as many columns as B has rows; else as [`gemm`](Self::gemm).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, ndarray::array};
    /// let (a, b) = (array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], array![[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]]);
    /// let blas = Device::host()?.blas();
    /// assert_eq!(blas.gemm_array(&a, &b)?.await_result()?, a.dot(&b));
    /// assert_eq!(blas.gemm_array(&b.t(), &a.t())?.await_result()?, b.t().dot(&a.t()));
    /// # Ok(()) }
    /// ```
    pub fn gemm_array<T: GemmElement>(&self, a: &ArrayRef2<T>, b: &ArrayRef2<T>) -> Coming<T::Out, Ix2> {
        let spec = Gemm::of_arrays(a, b)?;
        let ((on_a, order_a), (on_b, order_b)) = (lay(self.device(), a)?, lay(self.device(), b)?);
        let spec = spec.trans_a(by_rows(order_a)).trans_b(by_rows(order_b));
        let (m, n) = (a.nrows(), b.ncols());
        let c = self.gemm(spec, &on_a, &on_b, room(self.device(), m, n)?)?.into_output();
        self.device().download_array(&c, (m, n), Order::Row)
    }

    /// The product of a matrix and a vector, as [`gemm_array`](Self::gemm_array) ([`gemv`](Self::gemv)).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when A has not as many columns as x has elements; else as [`gemv`](Self::gemv).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, ndarray::array};
    /// let (a, x) = (array![[1.0f32, 2.0], [3.0, 4.0]], array![1.0f32, 10.0]);
    /// let y = Device::host()?.blas().gemv_array(&a.t(), &x)?.await_result()?;
    /// assert_eq!(y, array![31.0, 42.0]);
    /// # Ok(()) }
    /// ```
    pub fn gemv_array<T: BlasElement>(&self, a: &ArrayRef2<T>, x: &ArrayRef1<T>) -> Coming<T, Ix1> {
        let (m, n) = a.dim();
        if n != x.len() {
            return Err(Error::invalid("x", format!("{} elements, but a is {m} x {n}", x.len())));
        }
        let device = self.device();
        let ((on_a, order), on_x) = (lay(device, a)?, device.upload_array(x, Order::Row)?.into_output());
        // As BLAS has it, a matrix that lies by rows is the transposed one.
        let spec = match order {
            Order::Row => Gemv::new(n, m).trans(Transpose::Yes),
            Order::Column => Gemv::new(m, n),
        };
        // Without columns nothing happens, and nothing is left of it but zeros.
        let y = if n == 0 { device.zeros(m)? } else { device.uninit(m)? };
        let y = self.gemv(spec, &on_a, &on_x, y)?.into_output();
        device.download_array(&y, m, Order::Row)
    }
}

impl BlasLt {
    /// The product of two matrices, of any types that go together ([`matmul`](Self::matmul)), as
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
        let out = room::<D>(self.device(), m, n)?;
        let d = self.matmul(spec.order_a(order_a).order_b(order_b), &on_a, &on_b, out)?.into_output();
        self.device().download_array(&d, (m, n), Order::Row)
    }
}
