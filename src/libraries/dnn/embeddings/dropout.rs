//! Dropout.

use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element as _;
use crate::core::error::{Error, Result};
use crate::device::tensor::{ReadableTensor, Tensor, TensorRef};
use crate::libraries::dnn::Dnn;
use crate::libraries::dnn::formulas::{Value, cast, either};
use crate::libraries::expressions::{Symbol, constant, random};
use crate::libraries::reductions::SoftmaxElement;
use crate::libraries::rng::Stream;

impl Dnn {
    /// Zero with a probability, else `x / (1 - probability)`, by numbers of a stream of Philox: the same elements on both engines.
    ///
    /// The same call on `dy`, with the same stream, is the gradient: no mask is stored.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// # #[cfg(feature = "rng")] {
    /// use windlass::rng::{Generator, Stream};
    /// let device = windlass::Device::best()?;
    /// let x = device.full([1000], 1.0f32)?;
    /// let y = device.dnn().dropout(&x, 0.5, &Stream::new(Generator::Philox, 7))?.into_output();
    /// let kept = device.item(&device.count_nonzero(&y, 0)?.await_result()?)?;
    /// assert!((400..600).contains(&kept));
    /// # }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a probability that is not from 0 to less than 1, a stream of another generator; a stale tensor,
    /// or one of another device; [`Error::OutOfMemory`].
    pub fn dropout<'a, T: SoftmaxElement>(
        &self,
        x: impl ReadableTensor<'a, T>,
        probability: f64,
        stream: &Stream,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        if !(0.0..1.0).contains(&probability) {
            let what = format!("{probability} is not from 0 to less than 1");
            return Err(Error::invalid("probability", what).in_op("dropout", "dnn"));
        }
        let x: TensorRef<'a, T> = x.into();
        self.device.map(&x, |x: Symbol<T>| {
            let wide = T::Wide::DTYPE;
            let kept = random::uniform::<f32>(stream).gt(probability as f32);
            let scaled = cast(Value::new(x.raw), wide) * (1.0 / (1.0 - probability));
            Symbol::<T>::new(cast(either(kept, scaled, constant(0.0), wide), T::DTYPE).raw)
        })
    }
}
