//! The calls of a device.

use super::op::Search;
use crate::core::buffer::{AnyBuffers, AnyIns};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::DType;
use crate::core::error::{Error, Rejected, Result};
use crate::device::Device;
use crate::device::tensor::{Layout, ReadableTensor, Tensor};
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
    let output = Layout::row_major(values.1.extents())?;
    let buffer = device.uninit::<i64>(output.len())?;
    let search = Search { dtype, sorted: sorted.1, values: values.1, right: side == SearchSide::Right };
    let reads: AnyIns<'_> = [sorted.0, values.0].into_iter().collect();
    let pending =
        device.dispatch(search, reads, [buffer.into()].into_iter().collect()).map_err(Rejected::into_error)?;
    pending.retype(|buffers| Symbol::<i64>::tie(buffers, &output)).map_err(|any: AnyBuffers| Error::from(any))
}

impl Device {
    /// Where values stand in a sorted vector: the number of its elements that are smaller, and with [`SearchSide::Right`] also of those
    /// that are equal. NumPy's `searchsorted`. A NaN is larger than all numbers.
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
    /// # Errors
    /// [`Error::InvalidArgument`] for `sorted` of another rank than 1; a stale tensor, or one of another device;
    /// [`Error::OutOfMemory`]. If the vector is not sorted, the places mean nothing.
    pub fn searchsorted<'a, 'v, T: Ordered>(
        &self,
        sorted: impl ReadableTensor<'a, T>,
        values: impl ReadableTensor<'v, T>,
        side: SearchSide,
    ) -> Result<PendingDispatch<Tensor<i64>>> {
        let (sorted, values) = (sorted.into(), values.into());
        let (one, other) = (sorted.operand()?, values.operand()?);
        submit(self, T::DTYPE, ((one.0.into(), one.1), (other.0.into(), other.1)), side)
    }
}
