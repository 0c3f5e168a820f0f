//! Tensors of random numbers. `weighted.rs`: by weights, with tensors of parameters, in random orders.

#[cfg(feature = "expressions")]
mod weighted;

use crate::core::dispatch::PendingDispatch;
use crate::core::error::{Error, Result};
use crate::device::tensor::{Layout, Tensor};
use crate::libraries::rng::{Distribution, Random, Rng};

impl Rng {
    /// A row-major tensor of numbers from a distribution: those that [`draw`](Self::draw) gives, the last axis fastest.
    ///
    /// # Errors
    /// As [`draw`](Self::draw); [`Error::InvalidArgument`] for extents that no tensor can have.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, rng::Normal};
    /// let x = Device::host()?.rng(42).draw_tensor::<f32>(Normal::standard(), [100, 3])?.await_result()?;
    /// assert_eq!(x.shape(), [100, 3]);
    /// # Ok(()) }
    /// ```
    pub fn draw_tensor<T: Random>(
        &mut self,
        of: impl Distribution<T>,
        extents: impl AsRef<[usize]>,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let layout = Layout::row_major(extents)?;
        let drawn = self.draw(of, layout.len())?;
        drawn.retype(|(buffer,)| Ok::<_, Error>((Tensor::from(buffer).with_layout(layout)?,)))
    }
}
