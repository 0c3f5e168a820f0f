//! Slices that are repeated, each so often as a number says.

use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::core::op::Verdict;
use crate::device::Device;
use crate::device::tensor::{ReadableTensor, Tensor, TensorRef};
use crate::libraries::arrays::SearchSide;
use crate::libraries::expressions::build::position;
use crate::libraries::moves::Place;
use crate::libraries::reductions::All;

/// Elements repeated.
impl Device {
    /// Each slice of `x` along an axis so often as its number in `counts` says: NumPy's `repeat` with an array. `total` is the sum of
    /// all counts, which the result has on the axis; without it the call waits for the device to add them.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([3], [1.5f32, 2.5, 3.5])?;
    /// let counts = device.tensor([3], [2i64, 0, 3])?;
    /// let repeated = device.repeat_each(&x, &counts, 0, Some(5))?.await_result()?;
    /// assert_eq!(device.show(&repeated)?.to_string(), "[1.5 1.5 3.5 3.5 3.5]");
    /// assert_eq!(device.repeat_each(&x, &counts, 0, None)?.await_result()?.shape(), [5]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an axis that is not there, and counts that are no vector of as many elements as the axis has; a
    /// stale tensor, or one of another device; [`Error::OutOfMemory`]. For a negative count, or counts that are not `total` together,
    /// [`Error::InvalidArgument`]: of the call without `total`, and of the wait with it, which says that number 0 of the indices is
    /// out of range.
    pub fn repeat_each<'a, 'c, T: Element, I: Place>(
        &self,
        x: impl ReadableTensor<'a, T>,
        counts: impl ReadableTensor<'c, I>,
        axis: isize,
        total: Option<usize>,
    ) -> Result<PendingDispatch<Tensor<T>, Verdict>> {
        let (x, counts): (TensorRef<'a, T>, TensorRef<'c, I>) = (x.into(), counts.into());
        let rank = x.rank();
        let place = if axis < 0 { rank.checked_sub(axis.unsigned_abs()) } else { Some(axis.unsigned_abs()) };
        let n = place.and_then(|place| x.shape().get(place)).copied();
        let n = n.ok_or_else(|| Error::invalid("axis", format!("axis {axis}, but the rank is {rank}")))?;
        if counts.shape() != [n] {
            let what = format!("extents {:?}, but axis {axis} has {n} elements: one count for each", counts.shape());
            return Err(Error::invalid("counts", what));
        }
        let wide = self.map(&counts, |count| count.cast::<i64>())?.into_output();
        let ends = self.cumsum(&wide, 0)?.into_output();
        // The first sum that is beyond `i64` is negative.
        let wrong = self.map((&wide, &ends), |(count, end)| count.lt(0) | end.lt(0))?.into_output();
        let least = self.any_true(&wrong, All)?.into_output();
        let all = self.sum(&wide, All)?.into_output();
        let total = match total {
            Some(total) if total > 0 => total,
            // Without an element no index tells what is wrong.
            _ => {
                if self.item(&least)?.0 != 0 {
                    return Err(Error::invalid(
                        "counts",
                        "one is negative, or they are more together than `i64` can count",
                    ));
                }
                let sum = self.item(&all)?;
                if total.is_some() && sum != 0 {
                    return Err(Error::invalid("total", format!("0, but the counts are {sum} together")));
                }
                usize::try_from(sum).map_err(|_| Error::invalid("counts", "together more than `i64` can count"))?
            }
        };
        let places = self.tabulate([total], || position(0))?.into_output();
        let numbers = self.searchsorted(&ends, &places, SearchSide::Right)?.into_output();
        let (all, least) = (all.broadcast([total])?, least.broadcast([total])?);
        let (sum, none) = (total as i64, n as i64);
        let checked =
            self.map((&numbers, &all, &least), |(number, all, least)| (all.eq(sum) & !least).select(number, none))?;
        self.take(&x, &checked.into_output(), axis)
    }
}
