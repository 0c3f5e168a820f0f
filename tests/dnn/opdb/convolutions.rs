//! Rows that are convolutions.

use super::cases::Case;
use super::node::{Answer, Made, Node, Real};
use windlass::dnn::{Convolution, Fused};
use windlass::expressions::Symbol;
use windlass::tensor::TensorRef;

fn rank(case: &Case) -> usize {
    case.extents("weight").len() - 2
}

fn spec(case: &Case) -> Convolution {
    let rank = rank(case);
    let (stride, dilation) = (case.list("stride", rank, 1), case.list("dilation", rank, 1));
    let window = &case.extents("weight")[2..];
    let sides: Vec<(usize, usize)> = match case.setting("padding").and_then(|padding| padding.as_str()) {
        // The odd one is behind.
        Some("same") => (0..rank).map(|d| dilation[d] * (window[d] - 1)).map(|all| (all / 2, all - all / 2)).collect(),
        Some(_) => vec![(0, 0); rank],
        None => case.list("padding", rank, 0).into_iter().map(|n| (n, n)).collect(),
    };
    let groups = case.list("groups", 1, 1)[0];
    Convolution::new()
        .stride(&stride[..])
        .dilation(&dilation[..])
        .padding(&sides[..])
        .groups(groups)
        .deterministic(true)
}

pub(super) fn convolve<T: Real>(n: &Node<'_>) -> Made {
    let (conv, rank, dnn) = (spec(n.case), rank(n.case), n.device.dnn());
    let (x, w) = (n.batched::<T>("input", rank + 2)?, n.typed::<T>("weight"));
    let y = match n.optional::<T>("bias") {
        Some(bias) => dnn.convolve_fused(&conv, &x, &w, Fused::new().bias(&bias))?.await_result()?,
        None => dnn.convolve(&conv, &x, &w)?.await_result()?,
    };
    let Some(dy) = n.dy::<T>(rank + 2)? else { return Ok(Answer::of(y)) };
    let dx = dnn.convolve_data(&conv, &dy, &w, &x.shape()[2..])?.await_result()?;
    let dw = dnn.convolve_filter(&conv, &x, &dy, &w.shape()[2..])?.await_result()?;
    let answer = Answer::of(y).gradient("input", dx).gradient("weight", dw);
    biased(n, answer, &dy)
}

fn biased<T: Real>(n: &Node<'_>, answer: Answer, dy: &TensorRef<'_, T>) -> Made {
    if n.given("bias").is_none() {
        return Ok(answer);
    }
    Ok(answer.gradient("bias", n.device.dnn().convolve_bias(dy)?.await_result()?))
}

pub(super) fn transposed<T: Real>(n: &Node<'_>) -> Made {
    let (conv, rank, dnn) = (spec(n.case), rank(n.case), n.device.dnn());
    let (x, w) = (n.batched::<T>("input", rank + 2)?, n.typed::<T>("weight"));
    let more = n.case.list("output_padding", rank, 0);
    let mut y = dnn.convolve_transposed(&conv, &x, &w, &more[..])?.await_result()?;
    if let Some(bias) = n.optional::<T>("bias") {
        let mut extents = vec![1; rank + 2];
        extents[1] = bias.len();
        let bias = n.device.contiguous(&bias)?.into_output();
        let bias = bias.reshape(extents)?;
        y = n.device.map((&y, &bias), |(y, bias): (Symbol<T>, Symbol<T>)| y + bias)?.await_result()?;
    }
    let Some(dy) = n.dy::<T>(rank + 2)? else { return Ok(Answer::of(y)) };
    let dx = dnn.convolve(&conv, &dy, &w)?.await_result()?;
    let dw = dnn.convolve_filter(&conv, &dy, &x, &w.shape()[2..])?.await_result()?;
    let answer = Answer::of(y).gradient("input", dx).gradient("weight", dw);
    biased(n, answer, &dy)
}

pub(super) fn lacks(case: &Case) -> Option<&'static str> {
    let rank = rank(case);
    let (more, stride) = (case.list("output_padding", rank, 0), case.list("stride", rank, 1));
    let beyond = more.iter().zip(&stride).any(|(more, stride)| *more > 0 && more >= stride);
    beyond.then_some("an output padding that is not less than the stride")
}
