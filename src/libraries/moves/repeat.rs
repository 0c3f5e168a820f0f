//! Elements more than once: a view with axes along which nothing moves, copied.

use super::compose::Compose;
use super::join::place;
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Rejected, Result};
use crate::device::Device;
use crate::device::tensor::{Layout, ReadableTensor, Tensor, TensorRef};
use crate::libraries::tensor_routine::TensorRoutine;

/// How often something comes, in front of an axis or behind each of its elements.
#[derive(Clone, Copy)]
enum New {
    Before(usize),
    Behind(usize),
}

/// A copy of a view that has one more axis for each of its own; the pairs are one axis of the result.
fn spread<T: Element>(device: &Device, x: &TensorRef<'_, T>, new: &[New]) -> Result<PendingDispatch<Tensor<T>>> {
    let (mut thin, mut wide, mut whole) = (vec![], vec![], vec![]);
    for (n, new) in x.shape().iter().zip(new) {
        let (times, is_before) = match new {
            New::Before(times) => (*times, true),
            New::Behind(times) => (*times, false),
        };
        thin.extend(if is_before { [1, *n] } else { [*n, 1] });
        wide.extend(if is_before { [times, *n] } else { [*n, times] });
        let many = || Error::invalid("x", format!("{times} times {n} elements are more than `usize` can count"));
        whole.push(n.checked_mul(times).ok_or_else(many)?);
    }
    // Axes beside which nothing is repeated need no second one, so the rank may be the largest that there is.
    let keep: Vec<usize> = (0..thin.len()).filter(|k| wide.get(*k) != Some(&1)).collect();
    let kept = |all: &[usize]| -> Vec<usize> { keep.iter().filter_map(|k| all.get(*k)).copied().collect() };
    let layout = Layout::row_major(&whole)?;
    let view = x.reshape(kept(&thin))?.broadcast(kept(&wide))?;
    let pending = device.contiguous(view)?;
    pending.retype(|(tensor,)| Ok((tensor.with_layout(layout).map_err(Rejected::into_error)?,)))
}

/// Tensors repeated.
impl Device {
    /// A tensor beside itself, so often along each axis: NumPy's `tile`. More counts than axes make new axes in front; axes in
    /// front for which there is no count stay as they are.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([1, 2], [1, 2])?;
    /// let tiled = device.tile(&x, [2, 2])?.await_result()?;
    /// assert_eq!(device.show(&tiled)?.to_string(), "[[1 2 1 2]\n [1 2 1 2]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for more axes or elements than a tensor has; a stale tensor, or one of another device;
    /// [`Error::OutOfMemory`].
    pub fn tile<'a, T: Element>(
        &self,
        x: impl ReadableTensor<'a, T>,
        counts: impl AsRef<[usize]>,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let (mut x, counts): (TensorRef<'a, T>, _) = (x.into(), counts.as_ref());
        while x.rank() < counts.len() {
            x = x.unsqueeze(0).map_err(Compose::refused)?;
        }
        let alone = x.rank() - counts.len();
        let all: Vec<New> =
            std::iter::repeat_n(New::Before(1), alone).chain(counts.iter().map(|n| New::Before(*n))).collect();
        spread(self, &x, &all).map_err(Compose::refused)
    }

    /// Each slice along an axis `count` times, one after the other: NumPy's `repeat`. For a number for each slice see
    /// [`repeat_each`](Self::repeat_each).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([2, 2], [1, 2, 3, 4])?;
    /// let twice = device.repeat(&x, 2, 1)?.await_result()?;
    /// assert_eq!(device.show(&twice)?.to_string(), "[[1 1 2 2]\n [3 3 4 4]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an axis that is not there, or more elements than a tensor has; a stale tensor, or one of
    /// another device; [`Error::OutOfMemory`].
    pub fn repeat<'a, T: Element>(
        &self,
        x: impl ReadableTensor<'a, T>,
        count: usize,
        axis: isize,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let x: TensorRef<'a, T> = x.into();
        let axis = place(axis, x.rank()).map_err(Compose::refused)?;
        let all: Vec<New> = (0..x.rank()).map(|a| New::Behind(if a == axis { count } else { 1 })).collect();
        spread(self, &x, &all).map_err(Compose::refused)
    }
}
