//! Matrices with a given diagonal.

use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::device::Device;
use crate::device::tensor::{ReadableTensor, Tensor, TensorRef};

impl Device {
    /// Matrices of zeros with the last axis of `x` on diagonal `k`: NumPy's `diag` of a vector, and PyTorch's `diag_embed`. The axes
    /// before are a batch. Diagonal 0 is the main one, a positive `k` is to the right of it.
    ///
    /// The other way, from a matrix to its diagonal, is a view: [`Tensor::diagonal`].
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([2], [3, 4])?;
    /// assert_eq!(device.show(&device.diag(&x, 0)?.await_result()?)?.to_string(), "[[3 0]\n [0 4]]");
    /// assert_eq!(device.diag(&x, -1)?.await_result()?.shape(), [3, 3]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a number instead of a vector, and matrices with more elements than a tensor can have; a stale
    /// tensor, or one of another device; [`Error::OutOfMemory`].
    #[doc(alias = "diagflat")]
    #[doc(alias = "diag_embed")]
    pub fn diag<'a, T: Element>(&self, x: impl ReadableTensor<'a, T>, k: isize) -> Result<PendingDispatch<Tensor<T>>> {
        let x: TensorRef<'a, T> = x.into();
        let mut extents = x.shape().to_vec();
        let Some(n) = extents.pop() else {
            return Err(Error::invalid("x", "it has no axis, but a diagonal is a vector: `unsqueeze` gives it one"));
        };
        let side = n.saturating_add(k.unsigned_abs());
        extents.extend([side, side]);
        let matrices = self.zeros::<T>(extents)?;
        let part = matrices.part(|all| all.diagonal(k, -2, -1)).map_err(|rejected| rejected.error)?;
        self.assign(part, &x).map_err(|rejected| rejected.error)
    }
}
