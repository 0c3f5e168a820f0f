//! Powers of matrices.

use super::{BlasElement, GemmElement};
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::device::Device;
use crate::device::tensor::{ReadableTensor, Tensor, TensorRef};

/// Powers of matrices.
impl Device {
    /// The product of `n` times each matrix of the last two axes with itself, by repeated squares, as a new tensor: NumPy's
    /// `matrix_power`. With `n == 0` it is the identity. A negative power is that of the inverse.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a tensor that is no square matrix, and no batch of them; else as [`matmul`](Self::matmul).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let steps = device.tensor([2, 2], [1.0f64, 1.0, 1.0, 0.0])?;
    /// assert_eq!(device.to_vec(&device.matrix_power(&steps, 10)?)?, [89.0, 55.0, 55.0, 34.0]);
    /// # Ok(()) }
    /// ```
    pub fn matrix_power<'a, T: BlasElement>(&self, a: impl ReadableTensor<'a, T>, n: u32) -> Result<Tensor<T>> {
        let a = a.into();
        power(self, &a, n).map_err(|error| error.in_op("matrix_power", "blas"))
    }

    /// The identity in each matrix of the last two axes.
    pub(in crate::libraries) fn identities<T: Element>(&self, shape: &[usize], one: T) -> Result<Tensor<T>> {
        let zeros = self.zeros(shape)?.part(|all| all.diagonal(0, -2, -1))?;
        Ok(self.fill(zeros, one)?.into_output())
    }
}

fn power<T: BlasElement>(device: &Device, a: &TensorRef<'_, T>, n: u32) -> Result<Tensor<T>> {
    check_square(a.shape())?;
    if n == 0 {
        return device.identities(a.shape(), <T as GemmElement>::ONE);
    }
    // The bits of n from the second highest on: a square for each, and one more factor for those that are set.
    let mut all = device.contiguous(a)?.into_output();
    for bit in (0..u32::BITS - 1 - n.leading_zeros()).rev() {
        all = device.matmul(&all, &all)?.into_output();
        if n >> bit & 1 == 1 {
            all = device.matmul(&all, a)?.into_output();
        }
    }
    Ok(all)
}

/// # Errors
/// [`Error::InvalidArgument`] for a shape without two last axes of one length.
pub(in crate::libraries) fn check_square(shape: &[usize]) -> Result<()> {
    match shape {
        [.., rows, cols] if rows == cols => Ok(()),
        _ => Err(Error::invalid("a", format!("shape {shape:?}, but a square matrix has two last axes of one length"))),
    }
}
