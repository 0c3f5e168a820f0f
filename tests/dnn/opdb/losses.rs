//! Rows of losses and of softmax.

use super::cases::Case;
use super::node::{Answer, Made, Node, Real};
use windlass::DType;
use windlass::dnn::{LabelLoss, LossReduction};

fn axis(n: &Node<'_>) -> i32 {
    n.case.setting("dim").and_then(|dim| dim.as_i64()).unwrap() as i32
}

pub(super) fn scalar(case: &Case) -> Option<&'static str> {
    case.extents("input").is_empty().then_some("softmax of a tensor without axes")
}

pub(super) fn softmax<T: Real>(n: &Node<'_>) -> Made {
    let y = n.device.softmax(n.typed::<T>("input"), axis(n))?.await_result()?;
    let Some(dy) = n.optional::<T>("dy") else { return Ok(Answer::of(y)) };
    let dx = n.device.dnn().softmax_gradient(&y, &dy, axis(n))?.await_result()?;
    Ok(Answer::of(y).gradient("input", dx))
}

pub(super) fn log_softmax<T: Real>(n: &Node<'_>) -> Made {
    let y = n.device.log_softmax(n.typed::<T>("input"), axis(n))?.await_result()?;
    let Some(dy) = n.optional::<T>("dy") else { return Ok(Answer::of(y)) };
    let dx = n.device.dnn().log_softmax_gradient(&y, &dy, axis(n))?.await_result()?;
    Ok(Answer::of(y).gradient("input", dx))
}

pub(super) fn lacks(case: &Case) -> Option<&'static str> {
    if case.tensors.get("target").is_some_and(|target| target.dtype() != DType::I64) {
        return Some("labels that are probabilities");
    }
    (case.float("label_smoothing", 0.0) != 0.0).then_some("smoothed labels")
}

pub(super) fn loss<T: Real>(n: &Node<'_>) -> Made {
    let reduction = match n.case.text("reduction", "mean") {
        "none" => LossReduction::None,
        "sum" => LossReduction::Sum,
        _ => LossReduction::Mean,
    };
    let ignored = n.case.setting("ignore_index").and_then(|label| label.as_i64()).unwrap_or(-100);
    let mut loss = LabelLoss::<T>::new(reduction).ignore(ignored);
    if let Some(weights) = n.optional::<T>("weight") {
        loss = loss.weights(weights);
    }
    let (scores, labels, dnn) = (n.batched::<T>("input", 2)?, n.typed::<i64>("target"), n.device.dnn());
    let labels = if labels.rank() + 1 < scores.rank() { labels.unsqueeze(0)? } else { labels };
    let of_dy = if reduction == LossReduction::None { labels.rank() } else { 0 };
    let (normal, dy) = (n.case.op == "nll_loss", n.dy::<T>(of_dy)?);
    let y = match normal {
        true => dnn.negative_log_likelihood(&scores, &labels, &loss)?.await_result()?,
        false => dnn.cross_entropy(&scores, &labels, &loss)?.await_result()?,
    };
    let Some(dy) = dy else { return Ok(Answer::of(y)) };
    let dx = match normal {
        true => dnn.negative_log_likelihood_gradient(&scores, &labels, &dy, &loss)?.await_result()?,
        false => dnn.cross_entropy_gradient(&scores, &labels, &dy, &loss)?.await_result()?,
    };
    Ok(Answer::of(y).gradient("input", dx))
}
