//! Rows of the table that move elements of tensors to new ones.

use super::node::{Made, Node};
use windlass::moves::Pad;
use windlass::{DType, Element, TensorRef};

pub(super) fn concat(n: &Node<'_>) -> Made {
    let parts = (0..n.case.inputs.len()).map(|k| n.typed::<f32>(k));
    Ok(vec![n.device.concat(parts, n.int("axis", 0) as isize)?.into_output().into()])
}

pub(super) fn pad(n: &Node<'_>) -> Made {
    match n.input(0).dtype() {
        DType::I32 => padded(n, n.scalar(2).unwrap_or(0.0) as i32),
        _ => padded(n, n.scalar(2).unwrap_or(0.0) as f32),
    }
}

/// All widths before, then all behind: of these axes, or of all.
fn padded<T: Element>(n: &Node<'_>, constant: T) -> Made {
    let x = n.typed::<T>(0);
    let pad = match n.text("mode", "constant") {
        "constant" => Pad::Constant(constant),
        "edge" => Pad::Edge,
        "reflect" => Pad::Reflect,
        "wrap" => Pad::Wrap,
        other => panic!("{other}"),
    };
    let given: Vec<usize> = n.ints(1).unwrap().into_iter().map(|width| width.try_into().unwrap()).collect();
    let (before, behind) = given.split_at(given.len() / 2);
    let axes = n.ints(3).unwrap_or_else(|| (0..x.rank() as i64).collect());
    let mut widths = vec![(0, 0); x.rank()];
    for (axis, pair) in axes.iter().zip(before.iter().copied().zip(behind.iter().copied())) {
        widths[n.axis(*axis, x.rank())] = pair;
    }
    Ok(vec![n.device.pad(&x, &widths, pad)?.into_output().into()])
}

pub(super) fn gather(n: &Node<'_>) -> Made {
    take(n, &n.typed::<f32>(0), &n.typed(1), n.int("axis", 0) as isize)
}

/// Columns by number.
pub(super) fn array_feature_extractor(n: &Node<'_>) -> Made {
    take(n, &n.typed::<f32>(0), &n.typed(1), -1)
}

fn take<T: Element>(n: &Node<'_>, x: &TensorRef<'_, T>, numbers: &TensorRef<'_, i64>, axis: isize) -> Made {
    Ok(vec![n.device.take(x, numbers, axis)?.await_result()?.into()])
}

/// Each index is one of the elements at its own place on the other axes, of which there may be more.
pub(super) fn gather_elements(n: &Node<'_>) -> Made {
    let (mut x, indices) = (n.typed::<f32>(0), n.typed::<i64>(1));
    let axis = n.axis(n.int("axis", 0), x.rank());
    for other in (0..x.rank()).filter(|other| *other != axis) {
        x = x.split(other as isize, indices.shape()[other])?.0;
    }
    Ok(vec![n.device.take_along_axis(&x, &indices, axis as isize)?.await_result()?.into()])
}

pub(super) fn gather_nd(n: &Node<'_>) -> Made {
    match n.input(0).dtype() {
        DType::I32 => slices(n, &n.typed::<i32>(0)),
        _ => slices(n, &n.typed::<f32>(0)),
    }
}

fn slices<T: Element>(n: &Node<'_>, x: &TensorRef<'_, T>) -> Made {
    let batch = n.int("batch_dims", 0) as usize;
    Ok(vec![n.device.gather_nd(x, n.typed::<i64>(1), batch)?.await_result()?.into()])
}
