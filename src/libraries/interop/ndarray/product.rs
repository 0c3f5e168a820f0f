//! The sizes of products of arrays.

#[cfg(feature = "blaslt")]
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::libraries::blas::{Gemm, GemmElement};
#[cfg(feature = "blaslt")]
use crate::libraries::blaslt::Matmul;
use ndarray::ArrayRef2;

/// `m`, `n` and `k`.
pub(super) fn sizes((m, k): (usize, usize), (rows, n): (usize, usize)) -> Result<(usize, usize, usize)> {
    if k == rows {
        Ok((m, n, k))
    } else {
        Err(Error::invalid("b", format!("it is {rows} x {n}, but a is {m} x {k}: it needs {k} rows")))
    }
}

impl<T: GemmElement> Gemm<T> {
    /// The plain product of two matrices, [row by row](Self::row_major): for buffers uploaded from them in
    /// [`Order::Row`](crate::Order::Row), into one in the same order. Only the shapes are used.
    ///
    /// A factor that was uploaded in [`Order::Column`](crate::Order::Column) is, row by row, the transposed matrix: set
    /// `trans_a(Transpose::Yes)`, or `trans_b`, and nothing is moved.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when A has not as many columns as B has rows.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Gemm, Order, ndarray::array};
    /// let device = Device::host()?;
    /// let (a, b) = (array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], array![[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]]);
    /// let on_a = device.upload_array(&a, Order::Row)?.into_output();
    /// let on_b = device.upload_array(&b, Order::Row)?.into_output();
    /// let c = device.blas().gemm(Gemm::of_arrays(&a, &b)?, &on_a, &on_b, device.uninit(4)?)?.into_output();
    /// assert_eq!(device.download_array(&c, (2, 2), Order::Row)?.await_result()?, a.dot(&b));
    /// # Ok(()) }
    /// ```
    pub fn of_arrays(a: &ArrayRef2<T>, b: &ArrayRef2<T>) -> Result<Self> {
        let (m, n, k) = sizes(a.dim(), b.dim())?;
        Ok(Gemm::new(m, n, k).row_major())
    }
}

#[cfg(feature = "blaslt")]
impl<S: Element> Matmul<S> {
    /// The plain product of two matrices, [row by row](Self::row_major): for buffers uploaded from them in
    /// [`Order::Row`](crate::Order::Row), into one in the same order; [`order_a`](Self::order_a) and similar setters
    /// change that. Only the shapes are used.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when A has not as many columns as B has rows.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Matmul, Order, ndarray::array};
    /// let device = Device::host()?;
    /// let (a, b) = (array![[1.0f32, 2.0], [3.0, 4.0]], array![[10.0f32], [100.0]]);
    /// let on_a = device.upload_array(&a, Order::Row)?.into_output();
    /// let on_b = device.upload_array(&b, Order::Row)?.into_output();
    /// let d = device.blas_lt().matmul(Matmul::of_arrays(&a, &b)?, &on_a, &on_b, device.uninit::<f32>(2)?)?;
    /// assert_eq!(device.download_array(&d.into_output(), (2, 1), Order::Row)?.await_result()?, array![[210.0], [430.0]]);
    /// # Ok(()) }
    /// ```
    pub fn of_arrays<A, B>(a: &ArrayRef2<A>, b: &ArrayRef2<B>) -> Result<Self> {
        let (m, n, k) = sizes(a.dim(), b.dim())?;
        Ok(Matmul::new(m, n, k).row_major())
    }
}
