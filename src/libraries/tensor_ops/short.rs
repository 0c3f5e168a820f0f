//! The calls that programs make most, on the device itself.

use super::{Expression, TensorElement, TensorOperands};
use crate::core::dispatch::PendingDispatch;
use crate::core::error::Result;
use crate::device::Device;
use crate::device::tensor::{ReadableTensor, Tensor};

/// Contractions.
impl Device {
    /// The sum of products that the expression describes: NumPy's `einsum`, see [`TensorOps::einsum`](crate::TensorOps::einsum).
    ///
    /// # Errors
    /// As there.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let (x, y) = (device.tensor_of([[1.0f32, 2.0], [3.0, 4.0]])?, device.tensor_of([10.0f32, 100.0])?);
    /// assert_eq!(device.to_vec(&device.einsum("ij,j", (&x, &y))?)?, [210.0, 430.0]);
    /// # Ok(()) }
    /// ```
    pub fn einsum<'a, T: TensorElement>(
        &self,
        expression: impl Expression,
        operands: impl TensorOperands<'a, T>,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        self.tensor_ops().einsum(expression, operands)
    }

    /// The sum of products over pairs of axes: NumPy's `tensordot`, see [`TensorOps::tensordot`](crate::TensorOps::tensordot).
    ///
    /// # Errors
    /// As there.
    pub fn tensordot<'a, 'b, T: TensorElement>(
        &self,
        a: impl ReadableTensor<'a, T>,
        b: impl ReadableTensor<'b, T>,
        axes_a: &[isize],
        axes_b: &[isize],
    ) -> Result<PendingDispatch<Tensor<T>>> {
        self.tensor_ops().tensordot(a, b, axes_a, axes_b)
    }
}
