//! Copies that wait: for a program's first data and its last, where nothing else is to be done meanwhile.

use super::Uploadable;
use crate::core::buffer::DeviceBuffer;
use crate::core::element::Element;
use crate::core::error::{Rejected, Result};
use crate::device::Device;
use crate::device::tensor::ReadableTensor;

/// Data from the host, and results there, with a wait.
impl Device {
    /// Copies host data into a new buffer, and waits for it: [`upload`](Self::upload) and its wait in one call.
    ///
    /// The next operation can follow an `upload` without a wait, so use that one where time counts.
    ///
    /// # Errors
    /// As [`upload`](Self::upload), and what goes wrong while the data is copied.
    ///
    /// ```
    /// # fn main() -> windlass::Result<()> {
    /// let device = windlass::Device::host()?;
    /// let x = device.buffer(vec![3.0f32, 4.0])?;
    /// assert_eq!(device.to_vec(&x)?, [3.0, 4.0]);
    /// # Ok(()) }
    /// ```
    pub fn buffer<'a, T: Element>(&self, data: impl Uploadable<'a, T>) -> Result<DeviceBuffer<T>> {
        self.upload(data)?.await_result().map_err(Rejected::into_error)
    }

    /// Copies a buffer, a part of one, or a tensor (the last axis the fastest) to the host, after all operations submitted on it so
    /// far, and waits for it: [`download`](Self::download) and its wait in one call.
    ///
    /// # Errors
    /// As there. Also the failure of an earlier operation that the contents depend on
    /// ([`Error::Upstream`](crate::Error::Upstream)).
    ///
    /// ```
    /// # fn main() -> windlass::Result<()> {
    /// let device = windlass::Device::host()?;
    /// let x = device.buffer([1, 2, 3, 4])?;
    /// assert_eq!(device.to_vec(x.slice(..2)?)?, [1, 2]);
    /// let x = device.tensor([2, 2], [1, 2, 3, 4])?;
    /// assert_eq!(device.to_vec(x.transpose())?, [1, 3, 2, 4]);
    /// # Ok(()) }
    /// ```
    pub fn to_vec<'a, T: Element>(&self, source: impl ReadableTensor<'a, T>) -> Result<Vec<T>> {
        self.download(source)?.await_result()
    }
}
