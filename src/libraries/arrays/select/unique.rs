//! The different elements of a tensor.

use super::choose::order;
use super::found::{Found, first, reshaped, vector};
use crate::core::error::Result;
use crate::device::Device;
use crate::device::tensor::{ReadableTensor, Tensor};
use crate::libraries::arrays::{Combine, Ordered};
use crate::libraries::expressions::build::position;

/// The different elements of a tensor, in order, and what else is known of them.
#[derive(Debug)]
pub struct Unique<T: Ordered> {
    /// The elements, the smallest first; NaN is one of them, and zeros of either sign are one.
    pub values: Tensor<T>,
    /// The number in row-major order of the first element that is equal to each of them.
    pub indices: Tensor<i64>,
    /// Of each element of the tensor: which of `values` it is. It has the tensor's extents.
    pub inverse: Tensor<i64>,
    /// How many elements are equal to each of them.
    pub counts: Tensor<i64>,
}

/// The elements in order, their places, the beginnings of the groups of equal ones and then other places, the number of the group of
/// each, and how many groups there are.
struct Groups<T: Ordered> {
    sorted: Tensor<T>,
    places: Tensor<i64>,
    begins: Tensor<i64>,
    numbers: Tensor<i64>,
    count: Tensor<i64>,
}

impl<T: Ordered> Groups<T> {
    fn new(device: &Device, x: &Tensor<T>) -> Result<Self> {
        let n = x.len();
        let (sorted, places) = device.sort_with_indices(x, 0)?.into_output();
        let (head, body) = (sorted.split(0, n.min(1))?.0, sorted.split(0, n.saturating_sub(1))?.0);
        let before = device.concat([head, body], 0)?.into_output();
        let is_first = device.map((&sorted, &before), |(own, before)| {
            let nan = own.ne(own) & before.ne(before);
            position(0).eq(0) | (own.ne(before) & !nan)
        })?;
        let is_first = is_first.into_output();
        let numbers = device.cumsum(&is_first, 0)?.into_output();
        let numbers = device.map(&numbers, |number| number - 1)?.into_output();
        let (begins, count) = order(device, &is_first.view())?;
        Ok(Groups { sorted, places, begins, numbers, count })
    }
}

/// Sets.
impl Device {
    /// The different elements, in order: NumPy's `unique`. A NaN is equal to another one, and -0 to 0: the first of them in row-major
    /// order stays.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([2, 3], [3, 1, 3, 2, 1, 3])?;
    /// assert_eq!(device.show(&device.unique(&x)?.await_result()?)?.to_string(), "[1 2 3]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// A stale tensor, or one of another device; [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn unique<'a, T: Ordered>(&self, x: impl ReadableTensor<'a, T>) -> Result<Found<Tensor<T>>> {
        let groups = Groups::new(self, &vector(self, x)?)?;
        // Where a group begins is a place of the vector.
        let parts = self.take(&groups.sorted, &groups.begins, 0)?.never_reports().into_output();
        Ok(Found { device: self.clone(), parts, count: groups.count, axis: 0, narrow: first })
    }

    /// The different elements, where each comes first, how often it comes, and which one each element of the tensor is.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([6], [3u8, 1, 3, 2, 1, 3])?;
    /// let unique = device.unique_all(&x)?.await_result()?;
    /// assert_eq!(device.show(&unique.values)?.to_string(), "[1 2 3]");
    /// assert_eq!(device.show(&unique.indices)?.to_string(), "[1 3 0]");
    /// assert_eq!(device.show(&unique.inverse)?.to_string(), "[2 0 2 1 0 2]");
    /// assert_eq!(device.show(&unique.counts)?.to_string(), "[2 1 3]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`unique`](Self::unique).
    pub fn unique_all<'a, T: Ordered>(&self, x: impl ReadableTensor<'a, T>) -> Result<Found<Unique<T>>> {
        let x = x.into();
        let groups = Groups::new(self, &vector(self, &x)?)?;
        let Groups { sorted, places, begins, numbers, count } = groups;
        let n = begins.len();
        let (head, body) = begins.split(0, n.min(1))?;
        let next = self.concat([body, head], 0)?.into_output();
        let counts = self.map((&begins, &next, &count.broadcast([n])?), |(begin, next, count)| {
            (position(0) + 1).lt(count).select(next, n as i64) - begin
        })?;
        let inverse = self.put(self.zeros::<i64>([n])?, &places, &numbers, 0, Combine::Replace);
        // All of them are places of the vector.
        let parts = Unique {
            values: self.take(&sorted, &begins, 0)?.never_reports().into_output(),
            indices: self.take(&places, &begins, 0)?.never_reports().into_output(),
            inverse: reshaped(inverse?.never_reports().into_output(), x.shape())?,
            counts: counts.into_output(),
        };
        let narrow = |all: Unique<T>, axis: isize, count: usize| {
            Ok(Unique {
                values: first(all.values, axis, count)?,
                indices: first(all.indices, axis, count)?,
                counts: first(all.counts, axis, count)?,
                ..all
            })
        };
        Ok(Found { device: self.clone(), parts, count, axis: 0, narrow })
    }
}
