//! What is called, without its types: the sizes, and where everything lies.

use super::problem::{AttentionProblem, Rows};
use super::rows::heads_last;
use super::rows::{copied, four, packed, placed, rows_or_copy};
use super::spec::{Attention, Corner};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::device::Device;
use crate::device::tensor::{AnyTensorRef, TensorRef};
use crate::libraries::dnn::DnnElement;
use crate::libraries::dnn::maybe_copied::MaybeCopied;
use crate::libraries::expressions::Overflow;
#[cfg(feature = "rng")]
use crate::libraries::rng::Stream;

pub(super) fn any<'a, T: crate::core::element::Element>(view: &'a TensorRef<'_, T>) -> AnyTensorRef<'a> {
    view.into()
}

/// What is called, without its types.
pub(super) struct Call<'a> {
    dtype: DType,
    scale: Option<f64>,
    causal: Option<Corner>,
    window: Option<usize>,
    bias: Option<AnyTensorRef<'a>>,
    #[cfg(feature = "rng")]
    dropout: Option<(f64, &'a Stream)>,
    sink: Option<AnyTensorRef<'a>>,
    pages: Option<AnyTensorRef<'a>>,
    lengths: Option<[AnyTensorRef<'a>; 2]>,
    tf32: bool,
    deterministic: bool,
}

impl<'a> Call<'a> {
    pub(super) fn new<T: DnnElement>(spec: &'a Attention<'_, T>) -> Self {
        Call {
            dtype: T::DTYPE,
            scale: spec.scale,
            causal: spec.causal,
            window: spec.window,
            bias: spec.bias.as_ref().map(any),
            #[cfg(feature = "rng")]
            dropout: spec.dropout.as_ref().map(|(probability, stream)| (*probability, stream)),
            sink: spec.sink.as_ref().map(any),
            pages: spec.pages.as_ref().map(any),
            lengths: spec.lengths.as_ref().map(|[q, k]| [any(q), any(k)]),
            tf32: spec.tf32,
            deterministic: spec.deterministic,
        }
    }

    /// The probability that a weight is dropped.
    fn dropped(&self) -> Option<f64> {
        #[cfg(feature = "rng")]
        return self.dropout.map(|(probability, _)| probability);
        #[cfg(not(feature = "rng"))]
        None
    }

    /// The sizes; where everything lies is not known yet.
    pub(super) fn problem(&self, [q, k, v]: [&AnyTensorRef<'_>; 3]) -> Result<AttentionProblem> {
        let [batch, heads, queries, width] = four("q", q.shape())?;
        let k_extents = four("k", k.shape())?;
        let [of_k, kv_heads, places, of_key] = k_extents;
        let v_extents = four("v", v.shape())?;
        let [.., value_width] = v_extents;
        let lengths = self.lengths.is_some();
        let pages = match &self.pages {
            Some(table) => Some(super::pages::pages(table, batch, k_extents, lengths)?),
            None => None,
        };
        if of_key != width || (pages.is_none() && of_k != batch) {
            let what = format!("extents {k_extents:?}; {batch} batches and a width of {width} are needed, as q has");
            return Err(Error::invalid("k", what));
        }
        if v_extents != [of_k, kv_heads, places, value_width] {
            let what = format!("extents {v_extents:?} where {:?} are needed", [of_k, kv_heads, places, value_width]);
            return Err(Error::invalid("v", what));
        }
        let keys = pages.map_or(Some(places), |pages| places.checked_mul(pages.table));
        let keys = keys.ok_or_else(|| Error::invalid("pages", "the sizes are too large"))?;
        let scale = self.scale.unwrap_or_else(|| 1.0 / (width.max(1) as f64).sqrt());
        let problem = AttentionProblem {
            dtype: self.dtype,
            batch,
            heads,
            kv_heads,
            queries,
            keys,
            width,
            value_width,
            of_q: [0; 3],
            of_k: [0; 3],
            of_v: [0; 3],
            of_o: [0; 3],
            scale: scale.to_bits(),
            // Both corners are one where there are as many queries as keys; cuDNN has more at the first.
            causal: self.causal.map(|corner| if queries == keys && !lengths { Corner::TopLeft } else { corner }),
            window: self.window,
            bias: None,
            // Of probability 0 it is none; -0 is 0.
            dropout: self.dropped().filter(|probability| *probability != 0.0).map(f64::to_bits),
            sink: self.sink.is_some(),
            sunk: false,
            pages,
            lengths,
            stats: false,
            tf32: self.tf32 && self.dtype == DType::F32,
            deterministic: self.deterministic,
        };
        problem.check()?;
        Ok(problem)
    }

    /// Gradients are those of tensors.
    pub(super) fn has_gradients(&self) -> Result<()> {
        match self.pages {
            Some(_) => {
                Err(Error::invalid("pages", "keys and values in pages have no gradients; gather them (`Device::take`)"))
            }
            None => Ok(()),
        }
    }

    /// The bias where it is read: as it lies, or `None` for a copy in row-major order; and its distances.
    fn bias(&self, problem: &AttentionProblem) -> Result<Option<(AnyTensorRef<'a>, Option<MaybeCopied<'a>>, Rows)>> {
        let Some(bias) = &self.bias else { return Ok(None) };
        let wide = bias.broadcast(problem.extents_of_scores()).map_err(|error| match error {
            Error::InvalidArgument { reason, .. } => Error::invalid("bias", reason),
            other => other,
        })?;
        let (part, layout) = wide.operand()?;
        let last = layout.strides().last().copied().unwrap_or(1);
        let steps: Option<Vec<usize>> =
            layout.strides().iter().take(3).map(|step| usize::try_from(*step).ok()).collect();
        Ok(Some(match (steps.as_deref(), problem.keys <= 1 || last == 1) {
            (Some([b, h, s]), true) => {
                let one = |n: usize, step: usize| if n > 1 { step } else { 0 };
                (
                    wide,
                    Some(MaybeCopied::Own(part)),
                    [one(problem.batch, *b), one(problem.heads, *h), one(problem.queries, *s)],
                )
            }
            _ => (wide, None, packed(problem.extents_of_scores(), false)),
        }))
    }

    /// Bias, mask, sink, pages and lengths, where they lie; sets what the sizes say of them.
    pub(super) fn others(&self, device: &Device, problem: &mut AttentionProblem) -> Result<Vec<MaybeCopied<'a>>> {
        let mut all = Vec::new();
        if let Some((wide, own, rows)) = self.bias(problem)? {
            problem.bias = Some(rows);
            all.push(match own {
                Some(own) => own,
                None => copied(device, &wide, false)?.0,
            });
        }
        #[cfg(feature = "rng")]
        if let Some(dropout) = self.dropout.filter(|_| problem.dropout.is_some()) {
            all.push(MaybeCopied::Copied(super::dropout::mask(
                device,
                dropout,
                problem.dtype,
                problem.extents_of_scores(),
            )?));
        }
        if let Some(sink) = self.sink.as_ref().filter(|_| problem.sink) {
            all.push(self.sink_of(device, sink, problem)?);
        }
        if let (Some(table), Some(pages)) = (&self.pages, problem.pages) {
            all.push(super::pages::bounded(device, table, pages)?);
        }
        for (name, lengths) in ["query_lengths", "key_lengths"].into_iter().zip(self.lengths.iter().flatten()) {
            if lengths.shape() != [problem.batch] {
                let what = format!("extents {:?} where {:?} are needed", lengths.shape(), [problem.batch]);
                return Err(Error::invalid(name, what));
            }
            all.push(MaybeCopied::contiguous(device, lengths)?);
        }
        Ok(all)
    }

    /// The sink in the type of sums, which the library wants.
    fn sink_of(&self, device: &Device, sink: &AnyTensorRef<'a>, problem: &AttentionProblem) -> Result<MaybeCopied<'a>> {
        if sink.shape() != [problem.heads] {
            let what = format!("extents {:?} where {:?} are needed", sink.shape(), [problem.heads]);
            return Err(Error::invalid("sink", what));
        }
        match problem.dtype == problem.sums() {
            true => MaybeCopied::contiguous(device, sink),
            false => Ok(MaybeCopied::Copied(device.cast_any(sink, problem.sums(), Overflow::Saturate)?)),
        }
    }

    /// Only the sizes and distances, for a plan: `gradients`, of a backward pass for a result as the forward pass gives it.
    pub(super) fn planned(&self, [q, k, v]: [&AnyTensorRef<'_>; 3], gradients: bool) -> Result<AttentionProblem> {
        let mut problem = self.problem([q, k, v])?;
        (problem.sink, problem.sunk) = (problem.sink && !gradients, problem.sink && gradients);
        if gradients {
            self.has_gradients()?;
        }
        let rows = |view: &AnyTensorRef<'_>, dense: bool| -> Result<Rows> {
            let (_, layout) = view.operand()?;
            Ok(placed(view.dtype(), &layout, dense)?.0)
        };
        let of_v = rows(v, gradients || problem.blanks_values())?;
        (problem.of_q, problem.of_k, problem.of_v) = (rows(q, gradients)?, rows(k, gradients)?, of_v);
        problem.of_o = packed(problem.extents_of_o(), heads_last(q.layout()));
        problem.bias = self.bias(&problem)?.map(|(.., rows)| rows);
        Ok(problem)
    }

    /// Queries, keys and values as they are read.
    pub(super) fn reads(
        &self,
        device: &Device,
        problem: &mut AttentionProblem,
        [q, k, v]: [&AnyTensorRef<'a>; 3],
        dense: bool,
    ) -> Result<[MaybeCopied<'a>; 3]> {
        let (q_part, k_part, v_part);
        (q_part, problem.of_q) = rows_or_copy(device, q, dense)?;
        (k_part, problem.of_k) = rows_or_copy(device, k, dense)?;
        (v_part, problem.of_v) = rows_or_copy(device, v, dense || problem.blanks_values())?;
        Ok([q_part, k_part, v_part])
    }

    /// The result as a backward pass reads it.
    pub(super) fn result(
        &self,
        device: &Device,
        problem: &AttentionProblem,
        o: &AnyTensorRef<'a>,
    ) -> Result<(MaybeCopied<'a>, Rows)> {
        match problem.dropout.map(f64::from_bits) {
            #[cfg(feature = "rng")]
            Some(probability) => super::dropout::unscaled(device, o, probability),
            _ => rows_or_copy(device, o, true),
        }
    }
}
