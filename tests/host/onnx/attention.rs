//! Rows of the table that are attentions: by `Dnn::attend` what it has, else by products, formulas and softmax.

use super::node::{Made, Node};
use windlass::dnn::{Attention, Corner, DnnElement};
use windlass::expressions::{Binary, Compare, Function, Unary};
use windlass::moves::Pad;
use windlass::tensor_ops::TensorElement;
use windlass::{
    DType, Error, Tensor, TensorRef, bf16, f16,
    tensor::{AnyTensor, AnyTensorRef},
};

pub(super) fn attention(n: &Node<'_>) -> Made {
    match n.input(0).dtype() {
        DType::F16 => attention_of::<f16>(n),
        DType::Bf16 => attention_of::<bf16>(n),
        DType::F64 => attention_of::<f64>(n),
        _ => attention_of::<f32>(n),
    }
}

/// Batch, heads, places, width.
fn heads<'n, T: DnnElement>(n: &'n Node<'_>, k: usize, name: &str) -> windlass::Result<TensorRef<'n, T>> {
    let x = n.typed::<T>(k);
    let [batch, places, width] = x.shape()[..] else { return Ok(x) };
    let heads = n.int(name, 1) as usize;
    x.reshape([batch, places, heads, width / heads])?.permute([0, 2, 1, 3])
}

/// What queries see, besides a mask.
struct Sight {
    causal: bool,
    left: i64,
    right: i64,
    /// Keys before the first query.
    past: usize,
    /// Keys of each batch.
    lengths: Option<Vec<i64>>,
    queries: usize,
    keys: usize,
}

impl Sight {
    /// As `attend` has it: a corner, and a window; `None` if it has not.
    fn own(&self) -> Option<(Option<Corner>, Option<usize>)> {
        let window = usize::try_from(self.left).ok().map(|left| left + 1);
        match (self.causal, window, self.right, &self.lengths) {
            (false, None, -1, _) => Some((None, None)),
            (true, _, -1 | 0, Some(_)) => Some((Some(Corner::BottomRight), window)),
            (true, _, -1 | 0, None) if self.past == 0 => Some((Some(Corner::TopLeft), window)),
            (true, _, -1 | 0, None) if self.past + self.queries == self.keys => {
                Some((Some(Corner::BottomRight), window))
            }
            _ => None,
        }
    }
}

/// The mask as what is added, of all keys; none if there is none.
fn mask<T: DnnElement>(n: &Node<'_>, keys: usize) -> windlass::Result<Option<Tensor<T>>> {
    let Some(mask) = n.given(3) else { return Ok(None) };
    let added = match mask.dtype() {
        DType::Bool => n.formula(&[mask.view()], |x| {
            let f = x[0].formula();
            x[0].select(f.number(T::DTYPE, 0.0), f.number(T::DTYPE, f64::NEG_INFINITY))
        })?,
        _ => n.view(Ok(mask.view()))?,
    };
    let added: TensorRef<'_, T> = added[0].view().downcast().unwrap();
    let mut widths = vec![(0, 0); added.rank()];
    widths[added.rank() - 1].1 = keys - added.shape()[added.rank() - 1];
    let lowest = n.device.full([1], f64::NEG_INFINITY)?;
    let lowest = n.formula(&[AnyTensor::from(lowest).view()], |x| x[0].cast(T::DTYPE))?;
    let lowest: TensorRef<'_, T> = lowest[0].view().downcast().unwrap();
    let lowest = n.device.item(&lowest)?;
    Ok(Some(n.device.pad(&added, &widths, Pad::Constant(lowest))?.into_output()))
}

/// All that hides keys as what is added.
fn whole_mask<T: DnnElement>(
    n: &Node<'_>,
    scores: [usize; 4],
    mask: Option<&Tensor<T>>,
    sight: &Sight,
) -> windlass::Result<Tensor<T>> {
    let zeros = n.device.zeros::<T>([1])?;
    let mask: TensorRef<'_, T> = mask.unwrap_or(&zeros).view().broadcast(scores)?;
    let lengths = sight.lengths.clone().unwrap_or_else(|| vec![sight.keys as i64; scores[0]]);
    let lengths = n.device.tensor([scores[0], 1, 1, 1], lengths)?;
    let lengths: TensorRef<'_, i64> = lengths.view().broadcast(scores)?;
    let operands: [AnyTensorRef<'_>; 2] = [(&mask).into(), (&lengths).into()];
    let made = n.formula(&operands, |x| {
        let (query, key) = (x[0].formula().position(2), x[0].formula().position(3));
        let int = |k: i64| x[1].number(k as f64);
        let at = match sight.lengths {
            Some(_) => query + x[1] - int(sight.queries as i64),
            None => query + int(sight.past as i64),
        };
        let mut seen = key.compare(Compare::Lt, x[1]);
        if sight.causal {
            seen = seen.binary(Binary::And, key.compare(Compare::Le, at));
        }
        if sight.left >= 0 {
            seen = seen.binary(Binary::And, (at - key).compare(Compare::Le, int(sight.left)));
        }
        if sight.right >= 0 {
            seen = seen.binary(Binary::And, (key - at).compare(Compare::Le, int(sight.right)));
        }
        seen.select(x[0], f64::NEG_INFINITY)
    })?;
    Ok(made.into_iter().next().unwrap().downcast().unwrap())
}

/// Scores, capped ones, those with the mask, weights; and the result.
struct Steps {
    stages: [AnyTensor; 4],
    result: AnyTensor,
}

fn steps<T: DnnElement + TensorElement>(
    n: &Node<'_>,
    [q, k, v]: [&TensorRef<'_, T>; 3],
    mask: &Tensor<T>,
    [scale, cap]: [f64; 2],
) -> windlass::Result<Steps> {
    let (ops, dtype) = (n.device.tensor_ops(), T::DTYPE);
    let [batch, heads, queries, width] = q.shape()[..] else { panic!() };
    let [_, of_keys, keys, _] = k.shape()[..] else { panic!() };
    let grouped = n.device.contiguous(q)?.into_output();
    let grouped = grouped.reshape([batch, of_keys, heads / of_keys, queries, width])?;
    let products = AnyTensor::from(ops.einsum("bkgsd,bktd->bkgst", [&grouped, k])?.into_output());
    let products = n.reshaped(products, &[batch, heads, queries, keys]);
    let first = n.formula(&[products.view()], |x| (x[0].cast(DType::F32) * scale).cast(dtype))?.remove(0);
    let capped = n.formula(&[first.view()], |x| match cap {
        0.0 => x[0],
        cap => ((x[0].cast(DType::F32) / cap).call(Function::Tanh) * cap).cast(dtype),
    })?;
    let capped = capped.into_iter().next().unwrap();
    let operands: [AnyTensorRef<'_>; 2] = [capped.view(), mask.into()];
    let masked = n.formula(&operands, |x| x[0] + x[1])?.remove(0);
    // A key that is hidden stays so, whatever its score is.
    let operands: [AnyTensorRef<'_>; 2] = [masked.view(), mask.into()];
    let wide = n.formula(&operands, |x| {
        let hidden = x[1].compare(Compare::Eq, f64::NEG_INFINITY);
        hidden.select(x[0].number(f64::NEG_INFINITY), x[0]).cast(DType::F32)
    })?;
    let wide: TensorRef<'_, f32> = wide[0].view().downcast().unwrap();
    let weights = AnyTensor::from(n.device.softmax(&wide, -1)?.into_output());
    // A query that sees nothing has no weights.
    let weights = n.formula(&[weights.view()], |x| {
        let none = x[0].unary(Unary::IsNan);
        none.select(x[0].number(0.0), x[0]).cast(dtype)
    })?;
    let weights = weights.into_iter().next().unwrap();
    let grouped: TensorRef<'_, T> = weights.view().downcast().unwrap();
    let grouped = grouped.reshape([batch, of_keys, heads / of_keys, queries, keys])?;
    let result = AnyTensor::from(ops.einsum("bkgst,bktd->bkgsd", [&grouped, v])?.into_output());
    let result = n.reshaped(result, &[batch, heads, queries, v.shape()[3]]);
    Ok(Steps { stages: [first, capped, masked, weights], result })
}

fn attention_of<T: DnnElement + TensorElement>(n: &Node<'_>) -> Made {
    let (q, d) = (heads::<T>(n, 0, "q_num_heads")?, n.device);
    let whole = |k: usize, past: usize| -> windlass::Result<Tensor<T>> {
        let x = heads::<T>(n, k, "kv_num_heads")?;
        Ok(match n.given(past) {
            Some(_) => d.concat([n.typed::<T>(past), x], 2)?.into_output(),
            None => d.contiguous(&x)?.into_output(),
        })
    };
    let (k, v) = (whole(1, 4)?, whole(2, 5)?);
    let [batch, heads, queries, width] = q.shape()[..] else { panic!() };
    let keys = k.shape()[2];
    let sight = Sight {
        causal: n.int("is_causal", 0) == 1,
        left: n.int("left_window_size", -1),
        right: n.int("right_window_size", -1),
        past: n.given(4).map_or(0, |past| past.shape()[2]),
        lengths: n.ints(6),
        queries,
        keys,
    };
    let scale = n.float("scale", 1.0 / (width as f64).sqrt());
    let (cap, stage) = (n.float("softcap", 0.0), n.int("qk_matmul_output_mode", 0) as usize);
    let mask = mask::<T>(n, keys)?;
    let all = [batch, heads, queries, keys];
    let whole = whole_mask(n, all, mask.as_ref(), &sight)?;
    let wants = n.case.wanted.get(3).copied().unwrap_or(n.case.outputs.len() > 3);
    let mut made = None;
    if cap == 0.0 {
        let lengths = sight.lengths.as_ref().map(|lengths| lengths.iter().map(|n| *n as i32).collect::<Vec<_>>());
        let lengths = lengths.map(|keys| (vec![queries as i32; batch], keys));
        let lengths = match lengths {
            Some((queries, keys)) => Some((d.tensor([batch], queries)?, d.tensor([batch], keys)?)),
            None => None,
        };
        let mut spec = Attention::<T>::new().scale(scale);
        match sight.own() {
            Some((corner, window)) => {
                spec = corner.map_or(spec.clone(), |corner| spec.causal(corner));
                spec = window.map_or(spec.clone(), |window| spec.window(window));
                spec = mask.as_ref().map_or(spec.clone(), |mask| spec.bias(mask));
                spec = lengths.as_ref().map_or(spec.clone(), |(queries, keys)| spec.lengths(queries, keys));
            }
            None => spec = spec.bias(&whole),
        }
        made = match d.dnn().attend(&spec, &q, &k, &v)?.await_result() {
            Ok(y) => Some(AnyTensor::from(y)),
            // On a GPU: f32, and widths that cuDNN has not.
            Err(refused) if matches!(refused.error, Error::Unsupported { .. }) => None,
            Err(other) => return Err(other.into()),
        };
    }
    let by_steps =
        (made.is_none() || wants).then(|| steps(n, [&q, &k.view(), &v.view()], &whole, [scale, cap])).transpose()?;
    let (stages, other) = by_steps.map_or((None, None), |steps| (Some(steps.stages), Some(steps.result)));
    let y = made.or(other).unwrap();
    let y = match n.input(0).rank() {
        3 => {
            let turned = n.view(y.permute([0, 2, 1, 3]))?.remove(0);
            n.reshaped(turned, &[batch, queries, heads * v.shape()[3]])
        }
        _ => n.view(Ok(y.view()))?.remove(0),
    };
    let mut made: Vec<Option<AnyTensor>> = vec![Some(y), Some(k.into()), Some(v.into())];
    made.push(stages.and_then(|stages| stages.into_iter().nth(stage)));
    let count = n.case.outputs.len();
    let wanted = |k: usize| n.case.wanted.get(k).copied().unwrap_or(k < count);
    Ok(made.into_iter().enumerate().filter(|(k, _)| wanted(*k)).filter_map(|(_, x)| x).collect())
}

/// A matrix that keys and values are added to, step by step.
pub(super) fn linear(n: &Node<'_>) -> Made {
    let (d, ops) = (n.device, n.device.tensor_ops());
    let (of_q, of_k) = (n.int("q_num_heads", 1) as usize, n.int("kv_num_heads", 1) as usize);
    let rule = n.text("update_rule", "gated_delta").to_owned();
    let (gated, corrected) = (rule.starts_with("gated"), rule.ends_with("delta"));
    let x = n.input(0);
    let (dtype, batch, steps) = (x.dtype(), x.shape()[0], x.shape()[1]);
    // Batch, steps, heads, elements, in f32.
    let split = |k: usize, heads: usize| -> windlass::Result<Tensor<f32>> {
        let x = n.formula(&[n.input(k).view()], |x| x[0].cast(DType::F32))?.remove(0);
        let width = x.shape()[2] / heads;
        Ok(n.reshaped(x, &[batch, steps, heads, width]).downcast::<f32>().unwrap())
    };
    let (q, k, v) = (split(0, of_q)?, split(1, of_k)?, split(2, of_k)?);
    let (width, of_v) = (k.shape()[3], v.shape()[3]);
    let decay = if gated { Some(split(4, of_k)?) } else { None };
    let beta = if corrected { Some(split(5, n.input(5).shape()[2])?) } else { None };
    let mut state: Tensor<f32> = match n.given(3) {
        Some(past) => n.formula(&[past.view()], |x| x[0].cast(DType::F32))?.remove(0).downcast().unwrap(),
        None => d.zeros([batch, of_k, width, of_v])?,
    };
    let kept = n.given(3).map_or(dtype, AnyTensor::dtype);
    let scale = match n.float("scale", 0.0) {
        0.0 => 1.0 / (width as f64).sqrt(),
        scale => scale,
    };
    let mut rows = vec![];
    for step in 0..steps as isize {
        let (q, k, v) = (q.index(1, step)?, k.index(1, step)?, v.index(1, step)?);
        if let Some(decay) = &decay {
            let decay = decay.index(1, step)?.unsqueeze(-1)?;
            state = d.map((&state, &decay), |(state, decay)| state * decay.exp())?.into_output();
        }
        let known = ops.einsum("bhdm,bhd->bhm", [&state.view(), &k])?.into_output();
        let v: Tensor<f32> = match &beta {
            Some(beta) => {
                let beta = beta.index(1, step)?;
                d.map((&v, &known, &beta), |(v, known, beta)| beta * (v - known))?.into_output()
            }
            None => d.contiguous(&v)?.into_output(),
        };
        let (k, v) = (k.unsqueeze(-1)?, v.unsqueeze(2)?);
        state = d.map((&state, &k, &v), |(state, k, v)| state + k * v)?.into_output();
        let q = d.contiguous(&q)?.into_output();
        let grouped = q.reshape([batch, of_k, of_q / of_k, width])?;
        let row = AnyTensor::from(ops.einsum("bhgd,bhdm->bhgm", [&grouped, &state.view()])?.into_output());
        rows.push(n.reshaped(row, &[batch, 1, of_q * of_v]).downcast::<f32>().unwrap());
    }
    let all = AnyTensor::from(d.concat(rows.iter().map(Tensor::view), 1)?.into_output());
    let y = n.formula(&[all.view()], |x| (x[0] * scale).cast(dtype))?.remove(0);
    let state = n.formula(&[AnyTensor::from(state).view()], |x| x[0].cast(kept))?.remove(0);
    Ok(vec![y, state])
}
