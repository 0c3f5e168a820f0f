//! Elements by a condition.

use super::found::{Found, first, flat, reshaped};
use super::op::{Choose, Slices};
use crate::core::buffer::{AnyBuffers, AnyIns, DeviceBuffer};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Rejected, Result};
use crate::core::truth::Bool;
use crate::device::Device;
use crate::device::tensor::{Layout, ReadableTensor, Tensor, TensorRef};
use crate::libraries::arrays::By;
use crate::libraries::arrays::search::counts_at_once;
use crate::libraries::expressions::build::{Symbol, position};
use crate::libraries::reductions::All;

/// What is chosen in one pass, on the CPU: in memory for the largest number, with zeros behind it; and the number. Compiled once for all
/// types.
fn submit(device: &Device, choose: Choose, reads: AnyIns<'_>) -> Result<(PendingDispatch<AnyBuffers>, Layout)> {
    let output = Layout::row_major(choose.extents())?;
    let mut written: AnyBuffers =
        [device.uninit_any(choose.dtype(), output.shape())?.into_parts().0].into_iter().collect();
    written.push(device.unwritten::<i64>(1)?.into());
    Ok((device.dispatch(choose, reads, written).map_err(Rejected::into_error)?, output))
}

fn chosen<T: Element>((pending, output): (PendingDispatch<AnyBuffers>, Layout)) -> Result<(Tensor<T>, Tensor<i64>)> {
    let pending: PendingDispatch<(Tensor<T>, Tensor<i64>)> = pending.retype(|all: AnyBuffers| -> Result<_> {
        let (parts, count) = all.downcast::<(DeviceBuffer<T>, DeviceBuffer<i64>)>().map_err(Error::from)?;
        Ok((Tensor::from(parts).with_layout(output)?, Tensor::from(count).with_layout(Layout::row_major([0; 0])?)?))
    })?;
    Ok(pending.into_output())
}

/// The places of the true elements of a row-major tensor, a row for each axis, on the CPU.
fn places(device: &Device, condition: &TensorRef<'_, Bool>) -> Result<(Tensor<i64>, Tensor<i64>)> {
    let (part, condition) = condition.operand()?;
    let choose = Choose { condition, slices: None };
    chosen(submit(device, choose, [part.into()].into_iter().collect())?)
}

/// The numbers of the true elements of a vector, then others of its numbers; and how many are true.
pub(super) fn order(device: &Device, condition: &TensorRef<'_, Bool>) -> Result<(Tensor<i64>, Tensor<i64>)> {
    if counts_at_once(device) {
        let (places, count) = places(device, condition)?;
        return Ok((reshaped(places, condition.shape())?, count));
    }
    let order = device.argsort(condition, By::axis(0).descending())?.into_output();
    Ok((order, device.count_nonzero(condition, All)?.into_output()))
}

/// The same elements in row-major order, in the memory of the operand where they lie so.
fn ordered<'a, T: Element>(device: &Device, x: &TensorRef<'a, T>) -> Result<TensorRef<'a, T>> {
    if x.layout().is_row_major() { Ok(x.clone()) } else { Ok(device.contiguous(x)?.share()) }
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
        let n = n.ok_or_else(|| Error::invalid("axis", format!("axis {axis}, but the rank is {rank}")))?;
        if condition.rank() != 1 || condition.len() > n {
            let what = format!("extents {:?}, but it is a vector of at most {n} elements", condition.shape());
            return Err(Error::invalid("condition", what));
        }
        let axis = place.unwrap_or(0);
        let (parts, count) = if counts_at_once(self) {
            let (x, condition) = (ordered(self, &x)?, ordered(self, &condition)?);
            let ((part, x), (truth, condition)) = (x.operand()?, condition.operand()?);
            let choose = Choose { condition, slices: Some(Slices { dtype: T::DTYPE, x, axis }) };
            chosen(submit(self, choose, [truth.into(), part.into()].into_iter().collect())?)?
        } else {
            let (order, count) = order(self, &condition)?;
            // Places of the axis.
            (self.take(&x, &order, axis as isize)?.never_reports().into_output(), count)
        };
        let axis = axis as isize;
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
        if counts_at_once(self) {
            let (parts, count) = places(self, &ordered(self, &condition)?)?;
            return Ok(Found { device: self.clone(), parts, count, axis: 1, narrow: first });
        }
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
