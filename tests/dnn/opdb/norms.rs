//! Rows that normalise.

use super::cases::Case;
use super::node::{Answer, Made, Node, Real};
use windlass::dnn::{Affine, NormKind, ResponseNorm};
use windlass::{Result, Tensor, TensorRef};

fn affine<'n, T: Real>(n: &'n Node<'_>) -> Affine<'n, T> {
    match (n.optional::<T>("weight"), n.optional::<T>("bias")) {
        (Some(weight), Some(bias)) => Affine::new(weight, bias),
        (Some(weight), None) => Affine::weight(weight),
        _ => Affine::none(),
    }
}

fn kind(case: &Case) -> NormKind {
    let axes = || case.setting("normalized_shape").and_then(|shape| shape.as_array()).map_or(1, Vec::len);
    match &*case.op {
        "layer_norm" => NormKind::Layer(axes()),
        "rms_norm" => NormKind::Rms(axes()),
        "group_norm" => NormKind::Group(case.list("num_groups", 1, 1)[0]),
        "instance_norm" => NormKind::Instance,
        _ => NormKind::Batch,
    }
}

/// Whether known statistics are taken instead of those of the input.
fn by_known(case: &Case) -> bool {
    match &*case.op {
        "batch_norm" => !case.flag("training", false),
        "instance_norm" => !case.flag("use_input_stats", true),
        _ => false,
    }
}

pub(super) fn lacks(case: &Case) -> Option<&'static str> {
    if case.float("eps", 0.0) < 0.0 {
        return Some("a negative epsilon");
    }
    if case.op == "batch_norm" && case.extents("input").len() < 2 {
        return Some("a batch without channels");
    }
    (case.has("bias") && !case.has("weight")).then_some("a bias without a weight")
}

pub(super) fn norm<T: Real>(n: &Node<'_>) -> Made {
    let (dnn, x, kind, affine) = (n.device.dnn(), n.typed::<T>("input"), kind(n.case), affine::<T>(n));
    let standard = if n.case.op == "rms_norm" { n.epsilon() } else { 1e-5 };
    let epsilon = n.case.float("eps", standard);
    if by_known(n.case) {
        let (mean, variance) = (n.cast::<T::Wide>("running_mean")?, n.cast::<T::Wide>("running_var")?);
        let answer = Answer::of(dnn.batch_norm(&x, &mean, &variance, epsilon, &affine)?.await_result()?);
        let Some(dy) = n.optional::<T>("dy") else { return Ok(answer) };
        let dx = dnn.batch_norm_gradient(&dy, &variance, epsilon, &affine)?.await_result()?;
        let moments = dnn.moments_of::<T>(&mean, &variance, epsilon, x.rank())?.await_result()?;
        let (dw, db) = dnn.norm_weight_gradient(&x, &dy, &moments, NormKind::Batch)?.await_result()?;
        return Ok(answer.gradient("input", dx).gradient("weight", dw).gradient("bias", db));
    }
    let (y, moments) = dnn.norm(&x, kind, epsilon, &affine)?.await_result()?;
    let answer = Answer::of(y);
    let Some(dy) = n.optional::<T>("dy") else { return Ok(answer) };
    let dx = dnn.norm_gradient(&x, &dy, &moments, kind, &affine)?.await_result()?;
    let (dw, db) = dnn.norm_weight_gradient(&x, &dy, &moments, kind)?.await_result()?;
    Ok(answer.gradient("input", dx).gradient("weight", dw).gradient("bias", db))
}

pub(super) fn response<T: Real>(n: &Node<'_>) -> Made {
    let norm = ResponseNorm {
        size: n.case.list("size", 1, 1)[0],
        alpha: n.case.float("alpha", 1e-4),
        beta: n.case.float("beta", 0.75),
        k: n.case.float("k", 1.0),
    };
    // Of an even number of neighbours one more lies behind here, and before there.
    let turned = norm.size.is_multiple_of(2);
    let along = |x: TensorRef<'_, T>| -> Result<Tensor<T>> {
        let x = if turned { x.flip(1)? } else { x };
        Ok(n.device.contiguous(&x)?.into_output())
    };
    let (dnn, x) = (n.device.dnn(), along(n.typed::<T>("input"))?);
    let answer = Answer::of(along(dnn.response_norm(&x, norm)?.await_result()?.view())?);
    let Some(dy) = n.optional::<T>("dy") else { return Ok(answer) };
    let dx = dnn.response_norm_gradient(&x, &along(dy)?, norm)?.await_result()?;
    Ok(answer.gradient("input", along(dx.view())?))
}
