//! The calls of a device.

use super::super::{Dnn, DnnElement};
use super::call::{Call, any};
use super::gradient::AttendBackward;
use super::op::Attend;
use super::problem::AttentionProblem;
use super::rows::{copied, heads_last, layout_of, packed, rows_or_copy};
use super::spec::Attention;
use crate::core::buffer::{AnyBuffers, AnyIns, DeviceBuffer};
use crate::core::dispatch::PendingDispatch;
use crate::core::error::{Error, Rejected, Result};
use crate::device::Device;
use crate::device::tensor::{AnyTensorRef, Layout, ReadableTensor, Tensor, TensorRef};
use crate::libraries::dnn::maybe_copied::MaybeCopied;
use crate::libraries::tensor_routine::{TensorRoutine, one_tensor};

/// What a pass needs a plan for: a forward pass with or without the logarithms of the sums, or `None` for the gradients.
pub(in super::super) fn planned<T: DnnElement>(
    spec: &Attention<'_, T>,
    [q, k, v]: [TensorRef<'_, T>; 3],
    stats: Option<bool>,
) -> Result<AttentionProblem> {
    let problem = Call::new(spec).planned([&any(&q), &any(&k), &any(&v)], stats.is_none());
    problem.map(|problem| AttentionProblem { stats: stats.unwrap_or(true), ..problem }).map_err(if stats.is_some() {
        Attend::refused
    } else {
        AttendBackward::refused
    })
}

/// Submits the forward pass. Returns the layout of the result, too.
fn attend<'a>(
    device: &Device,
    call: &Call<'a>,
    reads: [&AnyTensorRef<'a>; 3],
    stats: bool,
) -> Result<(PendingDispatch<AnyBuffers>, Layout)> {
    let mut problem = call.problem(reads)?;
    problem.stats = stats;
    let all = call.reads(device, &mut problem, reads, false)?;
    let [q, ..] = reads;
    problem.of_o = packed(problem.extents_of_o(), heads_last(q.layout()));
    let others = call.others(device, &mut problem)?;
    let layout = layout_of(problem.extents_of_o(), problem.of_o)?;
    let mut writes = AnyBuffers::from_iter([]);
    writes.push(device.uninit_any(problem.dtype, [layout.len()])?.into_parts().0);
    if stats {
        writes.push(device.uninit_any(problem.sums(), [problem.rows()])?.into_parts().0);
    }
    let ins: AnyIns<'_> = all.iter().chain(&others).map(MaybeCopied::part).collect();
    Ok((device.dispatch(Attend(problem), ins, writes).map_err(Rejected::into_error)?, layout))
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
        let (pending, layout) = submitted.map_err(Attend::refused)?;
        one_tensor(pending, layout)
    }

    /// As [`attend`](Self::attend), with what [`attend_gradients`](Self::attend_gradients) needs: for each batch, head and query the
    /// logarithm of the sum of the exponentials of its scores, that of [`Attention::sink`] among them. A query that sees no key has that
    /// of the sink, or -inf without a sink; one behind the length of its batch has -inf. In f32, or f64 for f64.
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
        let (pending, layout) = submitted.map_err(Attend::refused)?;
        let rows = layout.shape().get(..3).unwrap_or_default().to_vec();
        pending.retype(|all: AnyBuffers| -> Result<_> {
            let (o, sums) = all.downcast::<(DeviceBuffer<T>, DeviceBuffer<T::Sum>)>().map_err(Error::from)?;
            let sums = Tensor::from_buffer(sums, rows)?;
            Ok((Tensor::from(o).with_layout(layout)?, sums))
        })
    }
    /// The gradients of queries, keys and values, of that of the result: `o` and `log_sums` are what
    /// [`attend_training`](Self::attend_training) has given for the same operands and settings, `dy` is the gradient of `o`. The bias gets
    /// none, the sink that of [`attend_sink_gradient`](Self::attend_sink_gradient).
    ///
    /// On a GPU with [`Attention::deterministic`] the library takes `batch * heads * queries * keys * 2` bytes of memory, with queries
    /// rounded up to multiples of 64, and keys of 128. Where these are more than 2 GiB, some batches or heads are computed at a time: the
    /// same bits.
    ///
    /// # Errors
    /// As [`attend`](Self::attend); [`Error::Unsupported`] on a GPU also for f32, and for one query; [`Error::OutOfMemory`] at the wait
    /// with the bytes, if there is no memory for the scores of the heads that one of `k` serves.
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
        let (pending, [of_q, of_k, of_v]) = submitted.map_err(AttendBackward::refused)?;
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
    call.has_gradients()?;
    let mut problem = call.problem([q, k, v])?;
    // The sums have its part.
    (problem.stats, problem.sink, problem.sunk) = (true, false, problem.sink);
    let extents = problem.extents_of_o();
    for (name, view) in [("o", o), ("dy", dy)] {
        if view.shape() != extents {
            return Err(Error::invalid(name, format!("extents {:?} where {extents:?} are needed", view.shape())));
        }
    }
    let rows = [problem.batch, problem.heads, problem.queries];
    if sums.shape() != rows {
        return Err(Error::invalid("log_sums", format!("extents {:?} where {rows:?} are needed", sums.shape())));
    }
    let [q_part, k_part, v_part] = call.reads(device, &mut problem, [q, k, v], true)?;
    let (o_part, of_o) = call.result(device, &problem, o)?;
    problem.of_o = of_o;
    let (dy_part, of_dy) = rows_or_copy(device, dy, true)?;
    // The library wants both to lie alike.
    let dy_part = if of_dy == of_o { dy_part } else { copied(device, dy, heads_last(&layout_of(extents, of_o)?))?.0 };
    let sums_part = MaybeCopied::contiguous(device, sums)?;
    let others = call.others(device, &mut problem)?;
    let layouts = [
        layout_of(problem.extents_of_q(), problem.of_q)?,
        layout_of(problem.extents_of_k(), problem.of_k)?,
        layout_of(problem.extents_of_v(), problem.of_v)?,
    ];
    let mut writes = AnyBuffers::from_iter([]);
    for layout in &layouts {
        writes.push(device.uninit_any(problem.dtype, [layout.len()])?.into_parts().0);
    }
    let all = [q_part, k_part, v_part, o_part, dy_part, sums_part];
    let ins: AnyIns<'_> = all.iter().chain(&others).map(MaybeCopied::part).collect();
    Ok((device.dispatch(AttendBackward(problem), ins, writes).map_err(Rejected::into_error)?, layouts))
}
