//! Dropout of weights: the mask of those that are kept.

use super::problem::Rows;
use super::rows::{four, heads_last, layout_of, packed};
use super::spec::Attention;
use crate::core::element::DType;
use crate::core::element::Element;
use crate::core::error::Result;
use crate::device::Device;
use crate::device::tensor::{AnyTensor, AnyTensorRef, Layout};
use crate::libraries::dnn::formulas::{cast, either, formula};
use crate::libraries::dnn::maybe_copied::MaybeCopied;
use crate::libraries::expressions::front::made_any;
use crate::libraries::expressions::{constant, random};
use crate::libraries::rng::Stream;
use crate::libraries::tensor_routine::missing;

impl<T: Element> Attention<'_, T> {
    /// Weights become zero with a probability, else `weight / (1 - probability)`, by numbers of a stream of Philox: those that
    /// [`dropout`](crate::dnn::Dnn::dropout) takes for a tensor of batch, heads, queries and keys, on both engines. The gradients need the
    /// same stream.
    ///
    /// Each call makes a mask of an element for each score, in memory of its own for as long as the call takes. A GPU has it for f16 and
    /// bf16.
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
    let buffer = made.into_iter().next().ok_or_else(missing)?;
    Ok(AnyTensor::from_buffer(buffer, layout)?)
}

/// What is given for a result in a backward pass: the result over the factor of kept weights, in the order of its axes. The library takes
/// the mean slope of a row from it, and multiplies by that factor later.
pub(super) fn unscaled<'a>(device: &Device, o: &AnyTensorRef<'a>, probability: f64) -> Result<(MaybeCopied<'a>, Rows)> {
    let (part, from) = o.operand()?;
    let extents = four("o", from.shape())?;
    let rows = packed(extents, heads_last(&from));
    let (dtype, layout) = (o.dtype(), layout_of(extents, rows)?);
    let wide = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let scaled =
        formula(&[dtype], |inputs| inputs.iter().map(|x| cast(cast(*x, wide) * (1.0 - probability), dtype)).collect())?;
    let buffers = [device.uninit_any(dtype, extents)?.into_parts().0].into_iter().collect();
    let made = made_any(device, scaled, &[(part, from)], buffers, &layout)?.into_output();
    let buffer = made.into_iter().next().ok_or_else(missing)?;
    Ok((MaybeCopied::Copied(AnyTensor::from_buffer(buffer, layout)?), rows))
}
