//! Tensors one after the other.

use super::compose;
use super::compose::Compose;
use super::compose::Piece;
use crate::core::buffer::AnyIns;
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::device::Device;
use crate::device::tensor::{Layout, ReadableTensor, Tensor, TensorRef};
use crate::libraries::tensor_routine::TensorRoutine;

/// The place of an axis among `rank`; a negative one counts from the end.
pub(in crate::libraries) fn place(axis: isize, rank: usize) -> Result<usize> {
    let place = if axis < 0 { rank.checked_sub(axis.unsigned_abs()) } else { Some(axis.unsigned_abs()) };
    let missing = || Error::invalid("axis", format!("axis {axis}, but the rank is {rank}"));
    place.filter(|place| *place < rank).ok_or_else(missing)
}

fn join<T: Element>(device: &Device, parts: &[TensorRef<'_, T>], axis: isize) -> Result<PendingDispatch<Tensor<T>>> {
    let none = || Error::invalid("tensors", "the list is empty, but at least one is needed");
    let mut extents = parts.first().ok_or_else(none)?.shape().to_vec();
    let axis = place(axis, extents.len())?;
    let (mut reads, mut pieces, mut end) = (AnyIns::new(), Vec::with_capacity(parts.len()), 0usize);
    for (k, part) in parts.iter().enumerate() {
        let own = part.shape();
        let alike = own.len() == extents.len()
            && own.iter().zip(&extents).enumerate().all(|(a, (one, other))| a == axis || one == other);
        if !alike {
            let what = format!("extents {own:?}, but the first one has {extents:?}: only axis {axis} may differ");
            return Err(Error::invalid(format!("tensors[{k}]"), what));
        }
        let mut start = vec![0; extents.len()];
        start.get_mut(axis).into_iter().for_each(|start| *start = end);
        let n = own.get(axis).copied().unwrap_or(0);
        end = end.checked_add(n).ok_or_else(|| Error::invalid("tensors", "more elements than `usize` can count"))?;
        let (read, layout) = part.operand()?;
        reads.push(read.into());
        pieces.push(Piece { start, source: k, layout });
    }
    extents.get_mut(axis).into_iter().for_each(|n| *n = end);
    compose(device, Layout::row_major(extents)?, None, pieces, reads)
}

/// Refuses tensors that have other extents than the first one, beside the new axis that all have.
fn alike(shapes: &[&[usize]], axis: isize) -> Result<()> {
    let first = shapes.first().copied().unwrap_or_default();
    let Some((k, other)) = shapes.iter().enumerate().find(|(_, shape)| **shape != first) else { return Ok(()) };
    let own = |shape: &[usize]| {
        let mut shape = shape.to_vec();
        place(axis, shape.len()).map(|axis| shape.remove(axis)).map(|_| shape)
    };
    let what = format!("extents {:?}, but the first one has {:?}: all have the same", own(other)?, own(first)?);
    Err(Error::invalid(format!("tensors[{k}]"), what))
}

/// Tensors joined.
impl Device {
    /// The tensors one after the other along an axis, as one new tensor: NumPy's `concatenate`.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let (x, y) = (device.tensor([2, 1], [1, 2])?, device.tensor([2, 2], [3, 4, 5, 6])?);
    /// let joined = device.concat([&x, &y], -1)?.await_result()?;
    /// assert_eq!(device.show(&joined)?.to_string(), "[[1 3 4]\n [2 5 6]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] that names the tensor whose extents differ on another axis, or the axis; no tensor; a stale one, or
    /// one of another device; [`Error::OutOfMemory`].
    #[doc(alias = "concatenate")]
    pub fn concat<'a, T: Element, V: ReadableTensor<'a, T>>(
        &self,
        tensors: impl IntoIterator<Item = V>,
        axis: isize,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let parts: Vec<TensorRef<'a, T>> = tensors.into_iter().map(Into::into).collect();
        join(self, &parts, axis).map_err(Compose::refused)
    }

    /// Tensors of the same extents along a new axis, as one new tensor.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let (x, y) = (device.tensor([2], [1, 2])?, device.tensor([2], [3, 4])?);
    /// assert_eq!(device.show(&device.stack([&x, &y], 0)?.await_result()?)?.to_string(), "[[1 2]\n [3 4]]");
    /// assert_eq!(device.show(&device.stack([&x, &y], -1)?.await_result()?)?.to_string(), "[[1 3]\n [2 4]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`concat`](Self::concat).
    pub fn stack<'a, T: Element, V: ReadableTensor<'a, T>>(
        &self,
        tensors: impl IntoIterator<Item = V>,
        axis: isize,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let unsqueezed = |view: V| {
            let view: TensorRef<'a, T> = view.into();
            view.unsqueeze(axis)
        };
        let parts = tensors.into_iter().map(unsqueezed).collect::<Result<Vec<_>>>().map_err(Compose::refused)?;
        alike(&parts.iter().map(TensorRef::shape).collect::<Vec<_>>(), axis).map_err(Compose::refused)?;
        join(self, &parts, axis).map_err(Compose::refused)
    }
}
