//! Statistics of the elements up to each one: means, and extremes with their places.

use super::Measured;
use crate::core::dispatch::PendingDispatch;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::truth::Bool;
use crate::device::Device;
use crate::device::tensor::{ReadableTensor, Tensor, TensorRef};
use crate::libraries::arrays::Ordered;
use crate::libraries::expressions::build::{Symbol, position};
use crate::libraries::reductions::scans::{Along, Cumulative};
use crate::libraries::reductions::{Max, Min, Reduction, Sum};

/// The place of an axis; a negative one counts from the end.
fn place(axis: isize, rank: usize) -> Result<u8> {
    let place = if axis < 0 { rank.checked_sub(axis.unsigned_abs()) } else { Some(axis.unsigned_abs()) };
    let missing = || Error::invalid("axis", format!("axis {axis}, but the rank is {rank}"));
    // A tensor has at most 64 axes.
    place.filter(|place| *place < rank).map(|place| place as u8).ok_or_else(missing)
}

/// Values, and their places.
type Extremes<T> = (PendingDispatch<Tensor<T>>, PendingDispatch<Tensor<i64>>);

/// The extremes up to each element, and where each came first.
fn extremes<T: Ordered, K: Cumulative<T> + Reduction<T, Output = T> + Copy>(
    device: &Device,
    x: &TensorRef<'_, T>,
    axis: isize,
    kind: K,
    is_beyond: impl FnOnce(Symbol<T>, Symbol<T>) -> Symbol<Bool>,
) -> Result<Extremes<T>> {
    let own = place(axis, x.rank())?;
    let values = device.scan(x, Along::axis(axis), kind)?;
    let before = device.scan(x, Along::axis(axis).exclusive(), kind)?.into_output();
    let places = device.map((x, &before), |(x, before)| {
        let is_first_nan = x.ne(x) & before.eq(before);
        let is_new = position(own).eq(0) | is_beyond(x, before) | is_first_nan;
        is_new.select(position(own), 0)
    })?;
    Ok((values, device.cummax(&places.into_output(), Along::axis(axis))?))
}

/// Running statistics.
impl Device {
    /// The largest of the elements up to each one along an axis, as [`cummax`](Self::cummax) gives them, and the number of the
    /// element at which each came first. From a NaN on both are those of the NaN.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([5], [1.0f32, 3.0, 2.0, 3.0, 4.0])?;
    /// let (values, places) = device.cummax_with_indices(&x, 0)?;
    /// assert_eq!(device.show(&values.await_result()?)?.to_string(), "[1. 3. 3. 3. 4.]");
    /// assert_eq!(device.show(&places.await_result()?)?.to_string(), "[0 1 1 1 4]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`cummax`](Self::cummax).
    pub fn cummax_with_indices<'a, T: Ordered>(&self, x: impl ReadableTensor<'a, T>, axis: isize) -> Result<Extremes<T>>
    where
        Max: Reduction<T, Output = T>,
    {
        extremes(self, &x.into(), axis, Max, |x, before| x.gt(before))
    }

    /// The smallest of the elements up to each one along an axis, and the number of the element at which each came first: see
    /// [`cummax_with_indices`](Self::cummax_with_indices).
    ///
    /// # Errors
    /// As [`cummin`](Self::cummin).
    pub fn cummin_with_indices<'a, T: Ordered>(&self, x: impl ReadableTensor<'a, T>, axis: isize) -> Result<Extremes<T>>
    where
        Min: Reduction<T, Output = T>,
    {
        extremes(self, &x.into(), axis, Min, |x, before| x.lt(before))
    }

    /// The mean of the elements up to each one along an axis: [`cumsum`](Self::cumsum) over their number.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([4], [1.0f32, 3.0, 2.0, 6.0])?;
    /// assert_eq!(device.show(&device.cummean(&x, 0)?.await_result()?)?.to_string(), "[1. 2. 2. 3.]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`cumsum`](Self::cumsum).
    pub fn cummean<'a, T: Measured>(
        &self,
        x: impl ReadableTensor<'a, T>,
        axis: isize,
    ) -> Result<PendingDispatch<Tensor<T>>>
    where
        Sum: Reduction<T, Output = T>,
    {
        let x: TensorRef<'a, T> = x.into();
        let own = place(axis, x.rank())?;
        if matches!(T::DTYPE, DType::F16 | DType::Bf16) {
            // A sum, or a count, may be beyond a half where the mean is not.
            let wide = self.map(&x, |x| x.cast::<f32>())?.into_output();
            let sums = self.scan(&wide, Along::axis(axis), Sum)?.into_output();
            return self.map(&sums, |sum| (sum / (position(own) + 1).cast::<f32>()).cast::<T>());
        }
        let sums = self.scan(&x, Along::axis(axis), Sum)?.into_output();
        self.map(&sums, |sum| sum / (position(own) + 1).cast::<T>())
    }
}
