//! Partitions: a sort does what they promise, and more.

use super::front::Ordered;
use crate::core::dispatch::PendingDispatch;
use crate::core::error::{Error, Result};
use crate::device::Device;
use crate::device::tensor::{ReadableTensor, Tensor, TensorRef};

/// Refuses places that are not on the axis.
fn check<T: Ordered>(x: &TensorRef<'_, T>, places: &[usize], axis: isize) -> Result<()> {
    let rank = x.rank();
    let place = if axis < 0 { rank.checked_sub(axis.unsigned_abs()) } else { Some(axis.unsigned_abs()) };
    let n = place.and_then(|place| x.shape().get(place)).copied();
    let n = n.ok_or_else(|| Error::invalid("axis", format!("axis {axis}, but the rank is {rank}")))?;
    match places.iter().find(|place| **place >= n) {
        Some(place) => Err(Error::invalid("places", format!("place {place}, but axis {axis} has {n} elements"))),
        None => Ok(()),
    }
}

/// Sorting: partitions.
impl Device {
    /// The elements along an axis with those of the given places where a sort has them, no larger ones before them, and no smaller
    /// ones behind: NumPy's `partition`. The elements between are in order too, for this is a [`sort`](Self::sort), with its
    /// costs; of few elements at one end [`bottom_k`](Self::bottom_k) and [`top_k`](Self::top_k) cost less.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([5], [5, 1, 4, 2, 3])?;
    /// let parts = device.partition(&x, &[2], 0)?.await_result()?;
    /// assert_eq!(device.item(parts.index(0, 2)?)?, 3);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`sort`](Self::sort); [`Error::InvalidArgument`] for a place that is not on the axis.
    pub fn partition<'a, T: Ordered>(
        &self,
        x: impl ReadableTensor<'a, T>,
        places: &[usize],
        axis: isize,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let x = x.into();
        check(&x, places, axis)?;
        self.sort(x, axis)
    }

    /// The numbers of the elements that [`partition`](Self::partition) gives: NumPy's `argpartition`.
    ///
    /// # Errors
    /// As [`partition`](Self::partition).
    pub fn argpartition<'a, T: Ordered>(
        &self,
        x: impl ReadableTensor<'a, T>,
        places: &[usize],
        axis: isize,
    ) -> Result<PendingDispatch<Tensor<i64>>> {
        let x = x.into();
        check(&x, places, axis)?;
        self.argsort(x, axis)
    }
}
