//! Whether elements are among others.

use crate::core::dispatch::PendingDispatch;
use crate::core::error::Result;
use crate::core::truth::Bool;
use crate::device::Device;
use crate::device::tensor::{ReadableTensor, Tensor, TensorRef};
use crate::libraries::arrays::{Ordered, SearchSide, select_vector};
use crate::libraries::expressions::build::index;

impl Device {
    /// For each element whether it is equal to one of `values`, whose shape does not matter: NumPy's `isin`. A NaN is equal to nothing.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([2, 2], [1, 2, 3, 4])?;
    /// let is_in = device.isin(&x, &device.tensor([3], [4, 2, 9])?)?.await_result()?;
    /// assert_eq!(device.show(&is_in)?.to_string(), "[[False  True]\n [False  True]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Costs
    /// A sort of the values, and a binary search for each element.
    ///
    /// # Errors
    /// A stale tensor, or one of another device; [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn isin<'a, 'v, T: Ordered>(
        &self,
        x: impl ReadableTensor<'a, T>,
        values: impl ReadableTensor<'v, T>,
    ) -> Result<PendingDispatch<Tensor<Bool>>> {
        let (x, values): (TensorRef<'a, T>, TensorRef<'v, T>) = (x.into(), values.into());
        if values.is_empty() {
            return self.tabulate(x.shape(), || index().lt(0));
        }
        let sorted = self.sort(&select_vector(self, &values)?, 0)?.into_output();
        let places = self.searchsorted(&sorted, &x, SearchSide::Left)?.into_output();
        let last = sorted.len() as i64 - 1;
        let places = self.map(&places, |place| place.minimum(last))?.into_output();
        // Places of the vector.
        let found = self.take(&sorted, &places, 0)?.never_reports().into_output();
        self.map((&x, &found), |(x, found)| x.eq(found))
    }
}
