//! Dropout of weights: the mask of those that are kept.

use super::spec::Attention;
use crate::core::element::DType;
use crate::core::element::Element;
use crate::core::error::Result;
use crate::device::Device;
use crate::device::tensor::{AnyTensor, Layout};
use crate::libraries::dnn::formulas::{cast, either, formula};
use crate::libraries::expressions::front::made_any;
use crate::libraries::expressions::{constant, random};
use crate::libraries::rng::Stream;

impl<T: Element> Attention<'_, T> {
    /// Weights become zero with a probability, else `weight / (1 - probability)`, by numbers of a stream of Philox: those that
    /// [`dropout`](crate::dnn::Dnn::dropout) takes for a tensor of batch, heads, queries and keys, on both engines. The gradients need the
    /// same stream.
    ///
    /// Each call makes a mask of an element for each score, in memory of its own for as long as the call takes.
    #[must_use]
    pub fn dropout(mut self, probability: f64, stream: &Stream) -> Self {
        self.dropout = Some((probability, stream.clone()));
        self
    }
}

/// The mask: 1 for a weight that is kept, else 0.
pub(super) fn mask(
    device: &Device,
    (probability, stream): (f64, &Stream),
    dtype: DType,
    scores: [usize; 4],
) -> Result<AnyTensor> {
    let kept = formula(&[], |_| {
        let kept = random::uniform::<f32>(stream).gt(probability as f32);
        vec![cast(either(kept, constant(1.0), constant(0.0), DType::F32), dtype)]
    })?;
    let layout = Layout::row_major(scores)?;
    let buffers = [device.uninit_any(dtype, scores)?.into_parts().0].into_iter().collect();
    let made = made_any(device, kept, &[], buffers, &layout)?.into_output();
    let buffer = made.into_iter().next().ok_or_else(super::laid::lost)?;
    Ok(AnyTensor::from_buffer(buffer, layout)?)
}
