//! The calls.

use super::Activation;
use super::table::wide;
use crate::core::dispatch::PendingDispatch;
use crate::core::error::Result;
use crate::device::tensor::{Layout, ReadableTensor, Tensor, TensorRef};
use crate::libraries::dnn::Dnn;
use crate::libraries::dnn::formulas::cast;
use crate::libraries::expressions::Symbol;
use crate::libraries::reductions::SoftmaxElement;

impl Dnn {
    /// An activation of each element, as [`map`](crate::Device::map) with [`Activation::of`].
    ///
    /// # Errors
    /// As [`map`](crate::Device::map).
    pub fn activate<'a, T: SoftmaxElement>(
        &self,
        x: impl ReadableTensor<'a, T>,
        activation: Activation,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let x: TensorRef<'a, T> = x.into();
        self.device.map(&x, |x: Symbol<T>| activation.of(x))
    }

    /// The gradient of [`activate`](Self::activate) for `x`: `dy` times the derivative at `x`.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::dnn::Activation;
    /// let device = windlass::Device::best()?;
    /// let (x, dy) = (device.tensor([3], [-1.0f32, 0.5, 2.0])?, device.tensor([3], [1.0f32, 2.0, 3.0])?);
    /// let dx = device.dnn().activation_gradient(&x, &dy, Activation::Relu)?.await_result()?;
    /// assert_eq!(device.show(&dx)?.to_string(), "[0. 2. 3.]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`map`](crate::Device::map).
    pub fn activation_gradient<'a, 'd, T: SoftmaxElement>(
        &self,
        x: impl ReadableTensor<'a, T>,
        dy: impl ReadableTensor<'d, T>,
        activation: Activation,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let (x, dy): (TensorRef<'a, T>, TensorRef<'d, T>) = (x.into(), dy.into());
        Layout::broadcast_both(["x", "dy"], [x.shape(), dy.shape()])
            .map_err(|error| error.in_op("activation_gradient", "dnn"))?;
        self.device.map((&x, &dy), |(x, dy): (Symbol<T>, Symbol<T>)| {
            // Halves are not rounded in between.
            Symbol::<T>::new(cast(wide(dy) * activation.slope(wide(x)), T::DTYPE).raw)
        })
    }
}
