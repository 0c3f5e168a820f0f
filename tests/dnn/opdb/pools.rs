//! Rows that are windows.

use super::cases::Case;
use super::node::{Answer, Made, Node, Real};
use windlass::dnn::Pool;

fn rank(case: &Case) -> usize {
    case.op.chars().rev().nth(1).and_then(|digit| digit.to_digit(10)).unwrap() as usize
}

fn windows(case: &Case) -> Pool {
    let rank = rank(case);
    if case.op.starts_with("adaptive") {
        let extents = case.extents("input");
        let own = &extents[extents.len() - rank..];
        let wanted: Vec<usize> = match case.setting("output_size").unwrap().as_array() {
            Some(all) if all.len() == rank => {
                all.iter().zip(own).map(|(m, n)| m.as_u64().map_or(*n, |m| m as usize)).collect()
            }
            _ => case.list("output_size", rank, 1),
        };
        return Pool::adaptive(wanted);
    }
    let window = case.list("kernel_size", rank, 1);
    let mut stride = case.list("stride", rank, 0);
    if stride.contains(&0) {
        stride.clone_from(&window);
    }
    Pool::new(window)
        .stride(stride)
        .dilation(case.list("dilation", rank, 1))
        .padding(case.list("padding", rank, 0))
        .ceil(case.flag("ceil_mode", false))
        .count_padding(case.flag("count_include_pad", true))
}

pub(super) fn lacks(case: &Case) -> Option<&'static str> {
    case.setting("divisor_override").is_some().then_some("another divisor of a mean")
}

pub(super) fn largest<T: Real>(n: &Node<'_>) -> Made {
    let (x, pool, dnn) = (n.typed::<T>("input"), windows(n.case), n.device.dnn());
    let (y, places) = dnn.max_pool_places(&x, &pool)?.await_result()?;
    let dx = match n.optional::<T>("dy") {
        Some(dy) => Some(dnn.max_pool_gradient(&dy, &places, x.shape(), &pool)?.await_result()?),
        None => None,
    };
    let mut answer = Answer::of(y);
    if n.case.outputs.len() > 1 {
        answer = answer.output(places);
    }
    Ok(match dx {
        Some(dx) => answer.gradient("input", dx),
        None => answer,
    })
}

pub(super) fn mean<T: Real>(n: &Node<'_>) -> Made {
    let (x, pool, dnn) = (n.typed::<T>("input"), windows(n.case), n.device.dnn());
    let answer = Answer::of(dnn.average_pool(&x, &pool)?.await_result()?);
    let Some(dy) = n.optional::<T>("dy") else { return Ok(answer) };
    Ok(answer.gradient("input", dnn.average_pool_gradient(&dy, x.shape(), &pool)?.await_result()?))
}

pub(super) fn unpooled<T: Real>(n: &Node<'_>) -> Made {
    let (y, places) = (n.typed::<T>("input"), n.typed::<i64>("indices"));
    let (elements, dnn) = (n.case.outputs[0].shape(), n.device.dnn());
    let answer = Answer::of(dnn.max_unpool(&y, &places, elements, rank(n.case))?.await_result()?);
    let Some(dy) = n.optional::<T>("dy") else { return Ok(answer) };
    Ok(answer.gradient("input", dnn.max_unpool_gradient(&dy, &places, rank(n.case))?.await_result()?))
}
