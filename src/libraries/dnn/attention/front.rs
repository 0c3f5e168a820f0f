//! The calls of a device.

use super::super::{Dnn, DnnElement};
use super::gradient::AttendBackward;
use super::laid::{Laid, copied, four, heads_last, laid, layout_of, packed};
use super::op::{Attend, LIBRARY};
use super::scene::Scene;
use super::spec::Attention;
use crate::core::buffer::{AnyBuffers, AnyIns, DeviceBuffer};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Rejected, Result};
use crate::device::Device;
use crate::device::tensor::{AnyTensorRef, Layout, ReadableTensor, Tensor, TensorRef};

fn any<'a, T: Element>(view: &'a TensorRef<'_, T>) -> AnyTensorRef<'a> {
    view.into()
}

/// What is called, without its types.
struct Call<'a> {
    dtype: DType,
    scale: Option<f64>,
    causal: Option<super::Corner>,
    window: Option<usize>,
    bias: Option<AnyTensorRef<'a>>,
    lengths: Option<[AnyTensorRef<'a>; 2]>,
    tf32: bool,
    deterministic: bool,
}

impl<'a> Call<'a> {
    fn new<T: DnnElement>(spec: &'a Attention<'_, T>) -> Self {
        Call {
            dtype: T::DTYPE,
            scale: spec.scale,
            causal: spec.causal,
            window: spec.window,
            bias: spec.bias.as_ref().map(any),
            lengths: spec.lengths.as_ref().map(|[q, k]| [any(q), any(k)]),
            tf32: spec.tf32,
            deterministic: spec.deterministic,
        }
    }

    /// The sizes; where everything lies is not known yet.
    fn scene(&self, [q, k, v]: [&AnyTensorRef<'_>; 3]) -> Result<Scene> {
        let [batch, heads, queries, width] = four("q", q.extents())?;
        let [of_k, kv_heads, keys, of_key] = four("k", k.extents())?;
        let v_extents = four("v", v.extents())?;
        let [.., value_width] = v_extents;
        if (of_k, of_key) != (batch, width) {
            let what =
                format!("extents {:?}; {batch} batches and a width of {width} are needed, as q has", k.extents());
            return Err(Error::invalid("k", what));
        }
        if v_extents != [batch, kv_heads, keys, value_width] {
            let what = format!("extents {v_extents:?} where {:?} are needed", [batch, kv_heads, keys, value_width]);
            return Err(Error::invalid("v", what));
        }
        let lengths = self.lengths.is_some();
        let scale = self.scale.unwrap_or_else(|| 1.0 / (width.max(1) as f64).sqrt());
        let scene = Scene {
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
            causal: self.causal.map(|corner| if queries == keys && !lengths { super::Corner::TopLeft } else { corner }),
            window: self.window,
            bias: None,
            lengths,
            stats: false,
            tf32: self.tf32 && self.dtype == DType::F32,
            deterministic: self.deterministic,
        };
        scene.check()?;
        Ok(scene)
    }

    /// Bias and lengths, where they lie; sets what the sizes say of them.
    fn others(&self, device: &Device, scene: &mut Scene) -> Result<Vec<Laid<'a>>> {
        let mut all = Vec::new();
        if let Some(bias) = &self.bias {
            let scores = [scene.batch, scene.heads, scene.queries, scene.keys];
            let wide = bias.broadcast(scores).map_err(|error| match error {
                Error::InvalidArgument { reason, .. } => Error::invalid("bias", reason),
                other => other,
            })?;
            let (part, layout) = wide.operand()?;
            let last = layout.strides().last().copied().unwrap_or(1);
            let steps: Option<Vec<usize>> =
                layout.strides().iter().take(3).map(|step| usize::try_from(*step).ok()).collect();
            match (steps.as_deref(), scene.keys <= 1 || last == 1) {
                (Some([b, h, s]), true) => {
                    let one = |n: usize, step: usize| if n > 1 { step } else { 0 };
                    scene.bias = Some([one(scene.batch, *b), one(scene.heads, *h), one(scene.queries, *s)]);
                    all.push(Laid::Own(part));
                }
                _ => {
                    let (copy, rows) = copied(device, &wide, false)?;
                    scene.bias = Some(rows);
                    all.push(copy);
                }
            }
        }
        for (name, lengths) in ["query_lengths", "key_lengths"].into_iter().zip(self.lengths.iter().flatten()) {
            if lengths.extents() != [scene.batch] {
                let what = format!("extents {:?} where {:?} are needed", lengths.extents(), [scene.batch]);
                return Err(Error::invalid(name, what));
            }
            let is_dense = scene.batch <= 1 || lengths.layout().strides() == [1];
            all.push(match is_dense {
                true => Laid::Own(lengths.operand()?.0),
                false => Laid::Copied(device.contiguous_any(lengths)?),
            });
        }
        Ok(all)
    }
}

fn told(op: &'static str) -> impl Fn(Error) -> Error {
    move |error| error.in_op(op, LIBRARY)
}

/// What a forward pass needs a plan for.
pub(in super::super) fn planned<T: DnnElement>(
    device: &Device,
    spec: &Attention<'_, T>,
    [q, k, v]: [TensorRef<'_, T>; 3],
    stats: bool,
) -> Result<Scene> {
    let reads = [&any(&q), &any(&k), &any(&v)];
    laid_out(device, &Call::new(spec), reads, stats).map(|(scene, ..)| scene).map_err(told(Attend::OP))
}

/// The operands as the library takes them: queries, keys and values; bias and lengths; and what is computed of them.
type LaidOut<'a> = (Scene, [Laid<'a>; 3], Vec<Laid<'a>>);

fn laid_out<'a>(
    device: &Device,
    call: &Call<'a>,
    [q, k, v]: [&AnyTensorRef<'a>; 3],
    stats: bool,
) -> Result<LaidOut<'a>> {
    let mut scene = call.scene([q, k, v])?;
    scene.stats = stats;
    let ((q_part, of_q), (k_part, of_k), (v_part, of_v)) =
        (laid(device, q, false)?, laid(device, k, false)?, laid(device, v, false)?);
    (scene.of_q, scene.of_k, scene.of_v) = (of_q, of_k, of_v);
    scene.of_o = packed(scene.extents_of_o(), heads_last(q.layout()));
    let others = call.others(device, &mut scene)?;
    Ok((scene, [q_part, k_part, v_part], others))
}

/// Submits the forward pass. Returns the layout of the result, too.
fn attend<'a>(
    device: &Device,
    call: &Call<'a>,
    reads: [&AnyTensorRef<'a>; 3],
    stats: bool,
) -> Result<(PendingDispatch<AnyBuffers>, Layout)> {
    let (scene, all, others) = laid_out(device, call, reads, stats)?;
    let layout = layout_of(scene.extents_of_o(), scene.of_o)?;
    let mut writes = AnyBuffers::from_iter([]);
    writes.push(device.uninit_any(scene.dtype, [layout.len()])?.into_parts().0);
    if stats {
        writes.push(device.uninit_any(scene.sums(), [scene.rows()])?.into_parts().0);
    }
    let ins: AnyIns<'_> = all.iter().chain(&others).map(Laid::part).collect();
    Ok((device.dispatch(Attend(scene), ins, writes).map_err(Rejected::into_error)?, layout))
}

/// The result of an attention, and the logarithms of its sums.
type Attended<T> = (Tensor<T>, Tensor<<T as DnnElement>::Sum>);
/// Of queries, keys and values.
type Gradients<T> = (Tensor<T>, Tensor<T>, Tensor<T>);

impl Dnn {
    /// Attention: `softmax(scale * Q K^T + bias) V` for each batch and head, as a new tensor. Does not wait.
    ///
    /// The axes are batch, heads, places, width; strides say where elements lie, so that places may come before heads in memory. The
    /// result has the order of `q`. Keys and values may have fewer heads than queries, each of which serves as many of theirs
    /// (grouped and multi-query attention); values may have another width.
    ///
    /// A query that sees no key, by its mask or its length, gives zeros. f16 and bf16 are computed in f32; on a GPU the weights are
    /// rounded to the type of the operands before they meet the values.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::dnn::{Attention, Corner};
    /// let device = windlass::Device::host()?;
    /// let q = device.tensor([1, 1, 2, 1], [0.0f32, 0.0])?;
    /// let v = device.tensor([1, 1, 2, 1], [1.0f32, 3.0])?;
    /// let o = device.dnn().attend(&Attention::new().causal(Corner::TopLeft), &q, &q, &v)?.await_result()?;
    /// assert_eq!(device.show(&o)?.to_string(), "[[[[1.]\n   [2.]]]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] that names the argument: extents that do not fit each other, heads that do not divide; a stale tensor,
    /// or one of another device. At the wait [`Error::LibraryMissing`] without cuDNN, and [`Error::Unsupported`] on a GPU for f64, f32
    /// without [`Attention::tf32`], widths that are no multiples of 8 or too large, and a window at the bottom right corner of lengths.
    pub fn attend<'q, 'k, 'v, T: DnnElement>(
        &self,
        spec: &Attention<'_, T>,
        q: impl ReadableTensor<'q, T>,
        k: impl ReadableTensor<'k, T>,
        v: impl ReadableTensor<'v, T>,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let (q, k, v) = (q.into(), k.into(), v.into());
        let submitted = attend(&self.device, &Call::new(spec), [&any(&q), &any(&k), &any(&v)], false);
        let (pending, layout) = submitted.map_err(told(Attend::OP))?;
        pending.retype(|all: AnyBuffers| -> Result<_> {
            let (o,) = all.downcast::<DeviceBuffer<T>>().map_err(Error::from)?;
            Ok((Tensor::from(o).with_layout(layout)?,))
        })
    }

    /// As [`attend`](Self::attend), with what [`attend_gradients`](Self::attend_gradients) needs: for each batch, head and query the
    /// logarithm of the sum of the exponentials of its scores; -inf if it sees no key. In f32, or f64 for f64.
    ///
    /// # Errors
    /// As there.
    pub fn attend_training<'q, 'k, 'v, T: DnnElement>(
        &self,
        spec: &Attention<'_, T>,
        q: impl ReadableTensor<'q, T>,
        k: impl ReadableTensor<'k, T>,
        v: impl ReadableTensor<'v, T>,
    ) -> Result<PendingDispatch<Attended<T>>> {
        let (q, k, v) = (q.into(), k.into(), v.into());
        let submitted = attend(&self.device, &Call::new(spec), [&any(&q), &any(&k), &any(&v)], true);
        let (pending, layout) = submitted.map_err(told(Attend::OP))?;
        let rows = layout.extents().get(..3).unwrap_or_default().to_vec();
        pending.retype(|all: AnyBuffers| -> Result<_> {
            let (o, sums) = all.downcast::<(DeviceBuffer<T>, DeviceBuffer<T::Sum>)>().map_err(Error::from)?;
            let sums = Tensor::from_buffer(sums, rows)?;
            Ok((Tensor::from(o).with_layout(layout)?, sums))
        })
    }
    /// The gradients of queries, keys and values, of that of the result: `o` and `log_sums` are what
    /// [`attend_training`](Self::attend_training) has given for the same operands, `dy` is the gradient of `o`. The bias gets none.
    ///
    /// On a GPU with [`Attention::deterministic`] the library takes `batch * heads * queries * keys * 2` bytes of memory, with queries
    /// and keys rounded up to multiples of 64; more than 8 GiB are refused.
    ///
    /// # Errors
    /// As [`attend`](Self::attend); [`Error::Unsupported`] on a GPU also for f32, and for one query.
    #[expect(clippy::too_many_arguments, reason = "what the forward pass has read and written")]
    pub fn attend_gradients<'a, T: DnnElement>(
        &self,
        spec: &Attention<'_, T>,
        q: impl ReadableTensor<'a, T>,
        k: impl ReadableTensor<'a, T>,
        v: impl ReadableTensor<'a, T>,
        o: impl ReadableTensor<'a, T>,
        dy: impl ReadableTensor<'a, T>,
        log_sums: impl ReadableTensor<'a, T::Sum>,
    ) -> Result<PendingDispatch<Gradients<T>>> {
        let (q, k, v, o, dy, sums) = (q.into(), k.into(), v.into(), o.into(), dy.into(), log_sums.into());
        let reads = [any(&q), any(&k), any(&v), any(&o), any(&dy), any(&sums)];
        let submitted = gradients(&self.device, &Call::new(spec), &reads);
        let (pending, [of_q, of_k, of_v]) = submitted.map_err(told(AttendBackward::OP))?;
        pending.retype(|all: AnyBuffers| -> Result<_> {
            let (dq, dk, dv) =
                all.downcast::<(DeviceBuffer<T>, DeviceBuffer<T>, DeviceBuffer<T>)>().map_err(Error::from)?;
            let tensor = |buffer, layout| Tensor::from(buffer).with_layout(layout);
            Ok((tensor(dq, of_q)?, tensor(dk, of_k)?, tensor(dv, of_v)?))
        })
    }
}

/// Submits the backward pass. Returns the layouts of the gradients, too.
fn gradients(
    device: &Device,
    call: &Call<'_>,
    [q, k, v, o, dy, sums]: &[AnyTensorRef<'_>; 6],
) -> Result<(PendingDispatch<AnyBuffers>, [Layout; 3])> {
    let mut scene = call.scene([q, k, v])?;
    scene.stats = true;
    let extents = scene.extents_of_o();
    for (name, view) in [("o", o), ("dy", dy)] {
        if view.extents() != extents {
            return Err(Error::invalid(name, format!("extents {:?} where {extents:?} are needed", view.extents())));
        }
    }
    let rows = [scene.batch, scene.heads, scene.queries];
    if sums.extents() != rows {
        return Err(Error::invalid("log_sums", format!("extents {:?} where {rows:?} are needed", sums.extents())));
    }
    let ((q_part, of_q), (k_part, of_k), (v_part, of_v)) =
        (laid(device, q, true)?, laid(device, k, true)?, laid(device, v, true)?);
    let (o_part, of_o) = laid(device, o, true)?;
    (scene.of_q, scene.of_k, scene.of_v, scene.of_o) = (of_q, of_k, of_v, of_o);
    let (dy_part, of_dy) = laid(device, dy, true)?;
    // The library wants both to lie alike.
    let dy_part = if of_dy == of_o { dy_part } else { copied(device, dy, heads_last(&layout_of(extents, of_o)?))?.0 };
    let sums_part = match sums.layout().is_row_major() {
        true => Laid::Own(sums.operand()?.0),
        false => Laid::Copied(device.contiguous_any(sums)?),
    };
    let others = call.others(device, &mut scene)?;
    let layouts = [
        layout_of(scene.extents_of_q(), of_q)?,
        layout_of(scene.extents_of_k(), of_k)?,
        layout_of(scene.extents_of_v(), of_v)?,
    ];
    let mut writes = AnyBuffers::from_iter([]);
    for layout in &layouts {
        writes.push(device.uninit_any(scene.dtype, [layout.len()])?.into_parts().0);
    }
    let all = [q_part, k_part, v_part, o_part, dy_part, sums_part];
    let ins: AnyIns<'_> = all.iter().chain(&others).map(Laid::part).collect();
    Ok((device.dispatch(AttendBackward(scene), ins, writes).map_err(Rejected::into_error)?, layouts))
}
