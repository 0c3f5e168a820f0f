//! Indices as vectors in which one element differs.

use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::Result;
use crate::device::Device;
use crate::device::tensor::{ReadableTensor, Tensor, TensorRef};
use crate::libraries::expressions::build::{position, scalar};
use crate::libraries::moves::Place;

/// Labels as vectors.
impl Device {
    /// For each index a vector of `depth` elements along a new axis: `on` at the place that the index names, and `off` elsewhere.
    /// ONNX's `OneHot`, with `axis` the place of the new axis in the result; a negative one counts from its end.
    ///
    /// Negative indices from `-depth` on count from the end. An index that names no place is no error: its vector has `off` alone, as
    /// ONNX says. (PyTorch's `one_hot` refuses both; `take` of rows of an [`eye`](Self::eye), NumPy's idiom, tells an index that is
    /// out of range.)
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let classes = device.tensor([4], [1i64, 0, -1, 3])?;
    /// let vectors = device.one_hot(&classes, 3, -1, [0.0f32, 1.0])?.await_result()?;
    /// assert_eq!(device.show(&vectors)?.to_string(), "[[0. 1. 0.]\n [1. 0. 0.]\n [0. 0. 1.]\n [0. 0. 0.]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for an axis that the result does not have, or more axes or elements
    /// than a tensor has; a stale tensor, or one of another device; [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn one_hot<'a, T: Element, I: Place>(
        &self,
        indices: impl ReadableTensor<'a, I>,
        depth: usize,
        axis: isize,
        [off, on]: [T; 2],
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let indices: TensorRef<'a, I> = indices.into();
        let thin = indices.unsqueeze(axis)?;
        let place = if axis < 0 { thin.rank().saturating_sub(axis.unsigned_abs()) } else { axis.unsigned_abs() };
        let mut extents = thin.shape().to_vec();
        extents.get_mut(place).into_iter().for_each(|n| *n = depth);
        let depth = depth as i64;
        self.map(&thin.broadcast(extents)?, |index| {
            let index = index.cast::<i64>();
            let own = index.lt(0).select(index + depth, index);
            own.eq(position(place as u8)).select(scalar(on), scalar(off))
        })
    }
}
