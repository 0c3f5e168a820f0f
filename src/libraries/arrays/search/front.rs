//! The calls of a device.

use super::op::{Answer, Search};
use crate::core::buffer::{AnyBuffers, AnyIn, AnyIns};
use crate::core::device_info::DeviceKind;
use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Rejected, Result};
use crate::core::op::Verdict;
use crate::device::Device;
use crate::device::tensor::{Layout, ReadableTensor, Tensor, TensorRef};
use crate::libraries::arrays::Ordered;
use crate::libraries::expressions::build::{Symbol, sealed::Outputs};
use crate::libraries::expressions::operands::Read;

/// Where a value stands among elements that are equal to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchSide {
    /// Before them.
    Left,
    /// Behind them.
    Right,
}

/// Compiled once for all types.
fn submit(
    device: &Device,
    dtype: DType,
    (sorted, values): (Read<'_>, Read<'_>),
    side: SearchSide,
) -> Result<PendingDispatch<Tensor<i64>>> {
    let output = Layout::row_major(values.1.shape())?;
    let buffer = device.unwritten::<i64>(output.len())?;
    let (right, answer) = (side == SearchSide::Right, Answer::Places);
    let search = Search { dtype, sorted: sorted.1, values: values.1, right, answer };
    let reads: AnyIns<'_> = [sorted.0, values.0].into_iter().collect();
    let pending =
        device.dispatch(search, reads, [buffer.into()].into_iter().collect()).map_err(Rejected::into_error)?;
    pending.retype(|buffers| Symbol::<i64>::tie(buffers, &output)).map_err(|any: AnyBuffers| Error::from(any))
}

/// Whether counts are found in one pass. Programs keep the steps that both engines have, since one may run what the other recorded.
pub(in crate::libraries::arrays) fn counts_at_once(device: &Device) -> bool {
    device.kind() == DeviceKind::Host && device.recording().is_none()
}

/// Submits a search with counts for an answer.
fn count(device: &Device, search: Search, reads: &[AnyIn<'_>]) -> Result<PendingDispatch<Tensor<i64>>> {
    let output = search.output()?;
    let written = [device.unwritten::<i64>(output.len())?.into()].into_iter().collect();
    let pending = device.dispatch(search, reads.iter().copied().collect(), written).map_err(Rejected::into_error)?;
    pending.retype(|buffers| Symbol::<i64>::tie(buffers, &output)).map_err(|any: AnyBuffers| Error::from(any))
}

/// How many values lie between neighbours of the edges, the last bin with its end; where [`counts_at_once`].
pub(in crate::libraries::arrays) fn count_between<T: Ordered>(
    device: &Device,
    edges: &Tensor<T>,
    values: &TensorRef<'_, T>,
) -> Result<PendingDispatch<Tensor<i64>>> {
    let edges = edges.view();
    let ((edges, sorted), (part, values)) = (edges.operand()?, values.operand()?);
    let search = Search { dtype: T::DTYPE, sorted, values, right: true, answer: Answer::Bins };
    count(device, search, &[edges.into(), part.into()])
}

/// How often each number below `bins` is a value; where [`counts_at_once`]. The wait tells the first that is negative.
pub(in crate::libraries::arrays) fn count_numbers<I: Element>(
    device: &Device,
    values: &TensorRef<'_, I>,
    bins: usize,
) -> Result<PendingDispatch<Tensor<i64>, Verdict>> {
    let (part, values) = values.operand()?;
    let (sorted, answer) = (Layout::row_major([0])?, Answer::Numbers(bins));
    let search = Search { dtype: I::DTYPE, sorted, values, right: false, answer };
    count(device, search, &[part.into()]).map(PendingDispatch::reports)
}

/// Searching.
impl Device {
    /// Where values stand in a sorted vector: the number of its elements that are smaller, and with [`SearchSide::Right`] also of those
    /// that are equal. NumPy's `searchsorted`. A NaN is larger than all numbers.
    ///
    /// A `sorted` of several axes has a vector along its last axis for each row of `values`: PyTorch's `searchsorted`. All other axes
    /// of both are the same.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::arrays::SearchSide;
    /// let device = windlass::Device::best()?;
    /// let edges = device.tensor([4], [0.0f32, 1.0, 1.0, 2.0])?;
    /// let values = device.tensor([3], [1.0f32, -1.0, 7.0])?;
    /// assert_eq!(device.show(&device.searchsorted(&edges, &values, SearchSide::Left)?.await_result()?)?.to_string(), "[1 0 4]");
    /// assert_eq!(device.show(&device.searchsorted(&edges, &values, SearchSide::Right)?.await_result()?)?.to_string(), "[3 0 4]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Costs
    /// One pass over the values for a vector; over rows two for each bit of their length.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for `sorted` that is neither a vector nor has the rows of `values`; a stale tensor, or one of
    /// another device; [`Error::OutOfMemory`]. If a vector is not sorted, its places mean nothing.
    pub fn searchsorted<'a, 'v, T: Ordered>(
        &self,
        sorted: impl ReadableTensor<'a, T>,
        values: impl ReadableTensor<'v, T>,
        side: SearchSide,
    ) -> Result<PendingDispatch<Tensor<i64>>> {
        let (sorted, values) = (sorted.into(), values.into());
        if sorted.rank() != 1 {
            return super::rows::search(self, &sorted, &values, side);
        }
        let (one, other) = (sorted.operand()?, values.operand()?);
        submit(self, T::DTYPE, ((one.0.into(), one.1), (other.0.into(), other.1)), side)
    }
}
