//! Arrays of random numbers.

use super::Coming;
use crate::libraries::rng::{Distribution, Random, Rng};
use ndarray::{Dimension, IntoDimension};

impl Rng {
    /// An array of this shape of numbers from a distribution, as [`draw`](Self::draw) makes them, the last axis fastest. The type of the array says which numbers.
    ///
    /// # Errors
    /// As [`draw`](Self::draw).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, ndarray::Array2, rng::Normal};
    /// let x: Array2<f32> = Device::host()?.rng(42).draw_array(Normal::standard(), (100, 3))?.await_result()?;
    /// assert_eq!(x.dim(), (100, 3));
    /// # Ok(()) }
    /// ```
    pub fn draw_array<T: Random, D: Dimension + 'static>(
        &mut self,
        of: impl Distribution<T>,
        shape: impl IntoDimension<Dim = D>,
    ) -> Coming<T, D> {
        let x = self.draw::<T>(of, shape.into_dimension().slice())?;
        self.device().download_tensor_array(&x)
    }
}
