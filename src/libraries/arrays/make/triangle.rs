//! Triangles of matrices, and the identity.

use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::core::truth::Bool;
use crate::device::Device;
use crate::device::tensor::{ReadableTensor, Tensor, TensorRef};
use crate::libraries::expressions::build::{Symbol, position, scalar};

/// How far the element is to the right of the diagonal.
fn right_of_diagonal(rank: usize) -> Symbol<i64> {
    // A tensor has at most 64 axes.
    position(rank.saturating_sub(1) as u8) - position(rank.saturating_sub(2) as u8)
}

fn triangle<T: Element>(
    device: &Device,
    x: &TensorRef<'_, T>,
    stays: impl FnOnce(Symbol<i64>) -> Symbol<Bool>,
) -> Result<PendingDispatch<Tensor<T>>> {
    let rank = x.rank();
    if rank < 2 {
        return Err(Error::invalid("x", format!("extents {:?}, but a matrix has two axes", x.shape())));
    }
    device.map(x, |x| stays(right_of_diagonal(rank)).select(x, scalar(T::zeroed())))
}

/// Triangles, and the identity.
impl Device {
    /// The matrices of the last two axes with zeros above diagonal `k`: NumPy's `tril`. Diagonal 0 is the main one, a positive
    /// `k` is to the right of it.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([2, 3], [1, 2, 3, 4, 5, 6])?;
    /// assert_eq!(device.show(&device.tril(&x, 0)?.await_result()?)?.to_string(), "[[1 0 0]\n [4 5 0]]");
    /// assert_eq!(device.show(&device.tril(&x, -1)?.await_result()?)?.to_string(), "[[0 0 0]\n [4 0 0]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for fewer than two axes; a stale tensor, or one of another device; [`Error::OutOfMemory`].
    pub fn tril<'a, T: Element>(&self, x: impl ReadableTensor<'a, T>, k: isize) -> Result<PendingDispatch<Tensor<T>>> {
        triangle(self, &x.into(), |right| right.le(k as i64))
    }

    /// The matrices of the last two axes with zeros below diagonal `k`: NumPy's `triu`. See [`tril`](Self::tril).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([2, 3], [1, 2, 3, 4, 5, 6])?;
    /// assert_eq!(device.show(&device.triu(&x, 1)?.await_result()?)?.to_string(), "[[0 2 3]\n [0 0 6]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`tril`](Self::tril).
    pub fn triu<'a, T: Element>(&self, x: impl ReadableTensor<'a, T>, k: isize) -> Result<PendingDispatch<Tensor<T>>> {
        triangle(self, &x.into(), |right| right.ge(k as i64))
    }

    /// A new matrix of these rows and columns, with ones on diagonal `k` and zeros elsewhere: NumPy's `eye`. See
    /// [`tril`](Self::tril) for `k`.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let eye = device.eye::<f32>([2, 3], 1)?.await_result()?;
    /// assert_eq!(device.show(&eye)?.to_string(), "[[0. 1. 0.]\n [0. 0. 1.]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for more elements than a tensor has; [`Error::OutOfMemory`].
    pub fn eye<T: Element>(&self, extents: [usize; 2], k: isize) -> Result<PendingDispatch<Tensor<T>>> {
        self.tabulate(extents, || right_of_diagonal(2).eq(k as i64).cast::<T>())
    }
}
