//! Elements by a condition.

use super::found::{Found, first, flat, reshaped};
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::core::truth::Bool;
use crate::device::Device;
use crate::device::tensor::{Layout, ReadableTensor, Tensor, TensorRef};
use crate::libraries::arrays::By;
use crate::libraries::expressions::build::{Symbol, position};
use crate::libraries::reductions::All;

/// The numbers of the true elements of a vector, then those of the others; and how many are true.
pub(super) fn order(device: &Device, condition: &TensorRef<'_, Bool>) -> Result<(Tensor<i64>, Tensor<i64>)> {
    let order = device.argsort(condition, By::axis(0).descending())?.into_output();
    Ok((order, device.count_nonzero(condition, All)?.into_output()))
}

/// Elements by a condition.
impl Device {
    /// The slices of `x` along an axis at which a vector of truth values is true: NumPy's `compress`. The vector may be shorter than
    /// the axis.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([3, 2], [1, 2, 3, 4, 5, 6])?;
    /// let odd = device.map(&x.index(1, 0)?, |x| (x % 4).eq(1))?.into_output();
    /// let rows = device.compress(&x, &odd, 0)?.await_result()?;
    /// assert_eq!(device.show(&rows)?.to_string(), "[[1 2]\n [5 6]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an axis that is not there, and a condition that is no vector or longer than the axis; a stale
    /// tensor, or one of another device; [`Error::OutOfMemory`].
    pub fn compress<'a, 'c, T: Element>(
        &self,
        x: impl ReadableTensor<'a, T>,
        condition: impl ReadableTensor<'c, Bool>,
        axis: isize,
    ) -> Result<Found<Tensor<T>>> {
        let (x, condition) = (x.into(), condition.into());
        let rank = x.rank();
        let place = if axis < 0 { rank.checked_sub(axis.unsigned_abs()) } else { Some(axis.unsigned_abs()) };
        let n = place.and_then(|place| x.shape().get(place)).copied();
        let n = n.ok_or_else(|| Error::invalid("axis", format!("axis {axis}, but there are {rank} axes")))?;
        if condition.rank() != 1 || condition.len() > n {
            let what = format!("extents {:?}, but it is a vector of at most {n} elements", condition.shape());
            return Err(Error::invalid("condition", what));
        }
        let (order, count) = order(self, &condition)?;
        // Places of the axis.
        let parts = self.take(&x, &order, axis)?.never_reports().into_output();
        let axis = place.unwrap_or(0) as isize;
        Ok(Found { device: self.clone(), parts, count, axis, narrow: first })
    }

    /// The elements at which a tensor of truth values of the same extents is true, in row-major order: NumPy's `x[condition]`.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([2, 2], [0.5f32, -1.0, 2.0, -3.0])?;
    /// let positive = device.map(&x, |x| x.gt(0.0))?.into_output();
    /// assert_eq!(device.show(&device.masked_select(&x, &positive)?.await_result()?)?.to_string(), "[0.5 2. ]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for other extents; a stale tensor, or one of another device; [`Error::OutOfMemory`].
    pub fn masked_select<'a, 'c, T: Element>(
        &self,
        x: impl ReadableTensor<'a, T>,
        condition: impl ReadableTensor<'c, Bool>,
    ) -> Result<Found<Tensor<T>>> {
        let (x, condition) = (x.into(), condition.into());
        if x.shape() != condition.shape() {
            let what = format!("extents {:?}, but x has {:?}", condition.shape(), x.shape());
            return Err(Error::invalid("condition", what));
        }
        self.compress(&flat(self, &x)?, &flat(self, &condition)?, 0)
    }

    /// The positions of the true elements in row-major order: a column for each, a row for each axis. NumPy's `nonzero`, as one
    /// tensor.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([2, 3], [0, 7, 0, 1, 0, 2])?;
    /// let places = device.nonzero(&device.map(&x, |x| x.ne(0))?.into_output())?.await_result()?;
    /// assert_eq!(device.show(&places)?.to_string(), "[[0 1 1]\n [1 0 2]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// A stale tensor, or one of another device; [`Error::OutOfMemory`].
    #[doc(alias = "argwhere")]
    pub fn nonzero<'c>(&self, condition: impl ReadableTensor<'c, Bool>) -> Result<Found<Tensor<i64>>> {
        let condition = condition.into();
        let layout = Layout::row_major(condition.shape())?;
        let (order, count) = order(self, &flat(self, &condition)?)?;
        if layout.rank() == 1 {
            let parts = reshaped(order, &[1, layout.len()])?;
            return Ok(Found { device: self.clone(), parts, count, axis: 1, narrow: first });
        }
        let axes: Vec<(i64, i64)> =
            layout.shape().iter().zip(layout.strides()).map(|(n, stride)| (*n as i64, *stride as i64)).collect();
        let parts = self.map(&order.broadcast([axes.len(), order.len()])?, |number| {
            // Both are below 2^53, so the whole part of the rounded quotient is that of the quotient.
            let before = |stride: i64| (number.cast::<f64>() / stride as f64).floor().cast::<i64>();
            let (mut at, mut outer): (Symbol<i64>, Symbol<i64>) = (number, number);
            for (row, (n, stride)) in (0i64..).zip(&axes) {
                let all = if *stride == 1 { number } else { before(*stride) };
                let own = if row == 0 { all } else { all - outer * *n };
                at = if row == 0 { own } else { position(0).eq(row).select(own, at) };
                outer = all;
            }
            at
        })?;
        Ok(Found { device: self.clone(), parts: parts.into_output(), count, axis: 1, narrow: first })
    }
}
