//! Rows of the table that move elements of tensors to new ones.

use super::node::{Made, Node};
use super::value::Value;
use windlass::moves::Pad;
use windlass::tensor::Layout;
use windlass::{DType, Element, TensorRef, tensor::AnyTensor};

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

/// The distances between neighbours along the axes of these extents, in row-major order.
fn strides(extents: &[usize]) -> Vec<f64> {
    Layout::row_major(extents).unwrap().strides().iter().map(|stride| *stride as f64).collect()
}

/// An index that counts from the end if it is negative.
fn from_start(index: Value<'_>, len: usize) -> Value<'_> {
    index.lt(0.0).select(index + len as f64, index)
}

/// Elements by their number in row-major order: the position, but with the index in the place of the one on the axis.
pub(super) fn gather_elements(n: &Node<'_>) -> Made {
    let (x, indices) = (n.typed::<f32>(0), n.input(1));
    let axis = n.axis(n.int("axis", 0), x.rank());
    let strides = strides(x.shape());
    let numbers = n.formula(&[indices.view()], |index| {
        let own = from_start(index[0], x.shape()[axis]) * strides[axis];
        let others = (0..x.rank()).filter(|other| *other != axis);
        others.fold(own, |sum, other| sum + index[0].formula().position(other) * strides[other])
    })?;
    take(n, &x.reshape([x.len()])?, &number(&numbers), 0)
}

fn number(made: &[AnyTensor]) -> TensorRef<'_, i64> {
    made[0].view().downcast().unwrap()
}

pub(super) fn gather_nd(n: &Node<'_>) -> Made {
    match n.input(0).dtype() {
        DType::I32 => slices(n, &n.typed::<i32>(0)),
        _ => slices(n, &n.typed::<f32>(0)),
    }
}

/// The last axis of the indices has those of the axes behind the batch: together they number the slices.
fn slices<T: Element>(n: &Node<'_>, x: &TensorRef<'_, T>) -> Made {
    let (indices, batch) = (n.input(1), n.int("batch_dims", 0) as usize);
    let last = indices.rank() - 1;
    let all = x.shape();
    let (before, behind) = all.split_at(batch + indices.shape()[last]);
    let strides = strides(before);
    let columns: Result<Vec<_>, _> = (0..before.len() - batch).map(|k| indices.index(-1, k as isize)).collect();
    let numbers = n.formula(&columns?, |index| {
        let (f, own) = (index[0].formula(), &strides[batch..]);
        let batches = (0..batch).fold(f.number(DType::I64, 0.0), |sum, axis| sum + f.position(axis) * strides[axis]);
        let terms = index.iter().zip(own).zip(&before[batch..]);
        terms.fold(batches, |sum, ((index, stride), len)| sum + from_start(*index, *len) * *stride)
    })?;
    let extents = [&[before.iter().product::<usize>()][..], behind].concat();
    take(n, &x.reshape(extents)?, &number(&numbers), 0)
}
