//! Elements moved around an axis: its two parts, joined the other way round.

use super::compose::Compose;
use super::join::place;
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::Result;
use crate::device::Device;
use crate::device::tensor::{ReadableTensor, Tensor, TensorRef};
use crate::libraries::tensor_routine::TensorRoutine;

/// Elements moved along an axis.
impl Device {
    /// A new tensor whose elements are `shift` places further along an axis; those that leave it at the end come in again at the
    /// beginning: NumPy's `roll`. A negative `shift` moves them towards the beginning.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([5], [0, 1, 2, 3, 4])?;
    /// assert_eq!(device.show(&device.roll(&x, 2, 0)?.await_result()?)?.to_string(), "[3 4 0 1 2]");
    /// assert_eq!(device.show(&device.roll(&x, -1, 0)?.await_result()?)?.to_string(), "[1 2 3 4 0]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for an axis that is not there; a stale tensor, or one of another
    /// device; [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn roll<'a, T: Element>(
        &self,
        x: impl ReadableTensor<'a, T>,
        shift: isize,
        axis: isize,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let x: TensorRef<'a, T> = x.into();
        let own = place(axis, x.rank()).map_err(Compose::refused)?;
        let n = x.shape().get(own).copied().unwrap_or(0);
        // An extent is at most `isize::MAX`.
        let leave = shift.checked_rem_euclid(n as isize).unwrap_or(0).unsigned_abs();
        let (front, back) = x.split(axis, n - leave).map_err(Compose::refused)?;
        self.concat([back, front], axis)
    }
}
