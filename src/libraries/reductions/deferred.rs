//! Reductions of expressions that are not computed yet.

use super::axes::Axes;
use super::front::{Call, submit};
use super::kind::Reduction;
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::Result;
use crate::device::Device;
use crate::device::tensor::Tensor;
use crate::libraries::expressions::Deferred;
use crate::libraries::reductions::op::Reduce;
use crate::libraries::tensor_routine::TensorRoutine;

impl<T: Element> Deferred<'_, T> {
    /// Computes the expression's elements and reduces them along axes, without storing them. Does not wait.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::reductions::{All, Sum};
    /// let device = windlass::Device::best()?;
    /// let (a, b) = (device.tensor([3], [1.0f32, 2.0, 3.0])?, device.tensor([3], [2.0f32, 2.0, 0.0])?);
    /// let distance = (&a - &b).abs().reduce(&device, All, Sum)?.await_result()?;
    /// assert_eq!(device.item(&distance)?, 4.0);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`eval`](Self::eval) and [`Device::reduce`].
    pub fn reduce<K: Reduction<T>>(
        &self,
        device: &Device,
        axes: impl Axes,
        kind: K,
    ) -> Result<PendingDispatch<Tensor<K::Output>>> {
        let whole = self.whole();
        let formula = whole.recorded().map(|(recorded, _)| recorded);
        let call = Call { kind: kind.kind(), less: kind.less(), axes: &axes, formula, finish: None };
        submit(device, call, whole.reads().map_err(Reduce::refused))
    }
}
