//! The row of attention.

use super::cases::Case;
use super::node::{Answer, Made, Node, Real};
use windlass::dnn::{Attention, Corner};
use windlass::expressions::Symbol;
use windlass::{DType, Result, Tensor, TensorRef};

/// The sums of exponentials.
type Sums<T> = Tensor<<T as windlass::dnn::DnnElement>::Sum>;

/// Batch, heads, places, width.
fn heads<'n, T: Real>(n: &'n Node<'_>, name: &str) -> Result<TensorRef<'n, T>> {
    let x = n.typed::<T>(name);
    if x.rank() == 3 { x.unsqueeze(1) } else { Ok(x) }
}

/// The mask as what is added.
fn mask<T: Real>(n: &Node<'_>) -> Result<Option<Tensor<T>>> {
    let Some(mask) = n.given("attn_mask") else { return Ok(None) };
    if mask.dtype() != DType::Bool {
        return Ok(Some(n.device.contiguous(n.typed::<T>("attn_mask"))?.into_output()));
    }
    let whole: Tensor<T> = n.cast("attn_mask")?;
    // Of 1 that is 0, and of 0 it is what hides a key.
    Ok(Some(n.device.map(&whole, |x: Symbol<T>| x.log())?.into_output()))
}

pub(super) fn lacks(case: &Case) -> Option<&'static str> {
    if case.float("dropout_p", 0.0) > 0.0 {
        return Some("dropout in attention");
    }
    let rank = case.extents("query").len();
    if [case.extents("key"), case.extents("value")].iter().any(|extents| extents.len() != rank) {
        return Some("attention whose operands have other numbers of axes");
    }
    (!(3..=4).contains(&case.extents("query").len())).then_some("attention of other than three or four axes")
}

pub(super) fn attention<T: Real>(n: &Node<'_>) -> Made {
    let (q, k, v, dnn) = (heads::<T>(n, "query")?, heads::<T>(n, "key")?, heads::<T>(n, "value")?, n.device.dnn());
    let mask = mask::<T>(n)?;
    let mut spec = Attention::<T>::new().deterministic(true);
    if n.case.flag("is_causal", false) {
        spec = spec.causal(Corner::TopLeft);
    }
    if n.case.setting("scale").is_some() {
        spec = spec.scale(n.case.float("scale", 1.0));
    }
    if let Some(mask) = &mask {
        let mask =
            if n.case.extents("query").len() == 3 && mask.rank() == 3 { mask.unsqueeze(1)? } else { mask.view() };
        spec = spec.bias(mask);
    }
    let (y, sums): (Tensor<T>, Sums<T>) = dnn.attend_training(&spec, &q, &k, &v)?.await_result()?;
    let bare = n.case.extents("query").len() == 3;
    let shaped = |x: Tensor<T>| -> Result<Tensor<T>> {
        let view = if bare { x.index(1, 0)? } else { x.view() };
        Ok(n.device.contiguous(view)?.into_output())
    };
    let Some(_) = n.given("dy") else { return Ok(Answer::of(shaped(y)?)) };
    let dy = heads::<T>(n, "dy")?;
    let (dq, dk, dv) = dnn.attend_gradients(&spec, &q, &k, &v, &y, &dy, &sums)?.await_result()?;
    let answer = Answer::of(shaped(y)?).gradient("query", shaped(dq)?);
    Ok(answer.gradient("key", shaped(dk)?).gradient("value", shaped(dv)?))
}
