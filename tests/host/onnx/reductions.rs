//! Rows of the table that reduce along axes.

use super::node::{Made, Node};
use windlass::expressions::{Compare, Symbol};
use windlass::moves::Pad;
use windlass::reductions::{
    AllTrue, AnyTrue, ArgMax, ArgMin, Axes, Keep, LogSumExp, Max, Mean, Min, Norm1, Norm2, Prod, Reduction, Sum,
};
use windlass::{Bool, DType, Element, TensorRef, tensor::AnyTensor};

/// The axes of operand 1. If there are none, these are all axes, unless the node says that there are none.
fn axes(n: &Node<'_>, rank: usize) -> Vec<i32> {
    let given = n.ints(1).unwrap_or_default();
    match given.is_empty() && n.int("noop_with_empty_axes", 0) == 0 {
        true => (0..rank as i32).collect(),
        false => given.iter().map(|axis| *axis as i32).collect(),
    }
}

fn reduce<T: Element, K: Reduction<T>>(n: &Node<'_>, x: &TensorRef<'_, T>, kind: K) -> Made {
    formula(n, x, |x| x, kind)
}

/// A reduction of a formula.
fn formula<T: Element, K: Reduction<T>>(
    n: &Node<'_>,
    x: &TensorRef<'_, T>,
    f: impl FnOnce(Symbol<T>) -> Symbol<T>,
    kind: K,
) -> Made {
    let axes = axes(n, x.rank());
    let made = match n.int("keepdims", 1) {
        1 => n.device.reduce(x, Keep(axes), f, kind),
        _ => n.device.reduce(x, axes, f, kind),
    };
    Ok(vec![made?.into_output().into()])
}

pub(super) fn sum(n: &Node<'_>) -> Made {
    reduce(n, &n.typed::<f32>(0), Sum)
}

pub(super) fn prod(n: &Node<'_>) -> Made {
    reduce(n, &n.typed::<f32>(0), Prod)
}

pub(super) fn mean(n: &Node<'_>) -> Made {
    reduce(n, &n.typed::<f32>(0), Mean)
}

pub(super) fn norm1(n: &Node<'_>) -> Made {
    reduce(n, &n.typed::<f32>(0), Norm1)
}

pub(super) fn norm2(n: &Node<'_>) -> Made {
    reduce(n, &n.typed::<f32>(0), Norm2)
}

pub(super) fn sum_of_squares(n: &Node<'_>) -> Made {
    formula(n, &n.typed::<f32>(0), |x| x * x, Sum)
}

pub(super) fn log_of_sum(n: &Node<'_>) -> Made {
    let x = n.typed::<f32>(0);
    let axes = axes(n, x.rank());
    let made = match n.int("keepdims", 1) {
        1 => n.device.reduce_then(&x, Keep(axes), |x| x, Sum, |sum| sum.log()),
        _ => n.device.reduce_then(&x, axes, |x| x, Sum, |sum| sum.log()),
    };
    Ok(vec![made?.into_output().into()])
}

pub(super) fn logsumexp(n: &Node<'_>) -> Made {
    match n.input(0).dtype() {
        DType::F64 => reduce(n, &n.typed::<f64>(0), LogSumExp),
        _ => reduce(n, &n.typed::<f32>(0), LogSumExp),
    }
}

pub(super) fn max(n: &Node<'_>) -> Made {
    extreme(n, AnyTrue, Max, f32::NEG_INFINITY)
}

pub(super) fn min(n: &Node<'_>) -> Made {
    extreme(n, AllTrue, Min, f32::INFINITY)
}

/// The largest truth value is whether any is true. An extreme of no element is an error here, and infinite in ONNX: then
/// each reduced axis gets one element more.
fn extreme(n: &Node<'_>, truth: impl Reduction<Bool>, kind: impl Reduction<f32>, none: f32) -> Made {
    if n.input(0).dtype() == DType::Bool {
        return reduce(n, &n.typed::<Bool>(0), truth);
    }
    let x = n.typed::<f32>(0);
    if !x.is_empty() {
        return reduce(n, &x, kind);
    }
    let error = reduce(n, &x, kind).unwrap_err();
    assert!(error.to_string().contains("of no element"), "{error}");
    let mut widths = vec![(0, 0); x.rank()];
    axes(n, x.rank()).iter().for_each(|axis| widths[n.axis((*axis).into(), x.rank())].1 = 1);
    let wide = n.device.pad(&x, &widths, Pad::Constant(none))?.into_output();
    reduce(n, &wide.view(), kind)
}

pub(super) fn argmax(n: &Node<'_>) -> Made {
    place(n, ArgMax)
}

pub(super) fn argmin(n: &Node<'_>) -> Made {
    place(n, ArgMin)
}

/// The last of equal elements is the first one from the end.
fn place(n: &Node<'_>, kind: impl Reduction<f32>) -> Made {
    let x = n.typed::<f32>(0);
    let axis = n.axis(n.int("axis", 0), x.rank());
    let from_end = n.int("select_last_index", 0) == 1;
    let x = if from_end { x.flip(axis as isize)? } else { x };
    let made = match n.int("keepdims", 1) {
        1 => first(n, &x, Keep(axis as i32), kind)?,
        _ => first(n, &x, axis as i32, kind)?,
    };
    let last = x.shape()[axis] as f64 - 1.0;
    match from_end {
        true => n.formula(&[made.view()], |k| k[0].number(last) - k[0]),
        false => Ok(vec![made]),
    }
}

fn first(
    n: &Node<'_>,
    x: &TensorRef<'_, f32>,
    axes: impl Axes,
    kind: impl Reduction<f32>,
) -> windlass::Result<AnyTensor> {
    Ok(n.device.reduce(x, axes, |x| x, kind)?.into_output().into())
}

pub(super) fn softmax(n: &Node<'_>) -> Made {
    Ok(vec![n.device.softmax(n.typed::<f32>(0), n.int("axis", -1) as i32)?.into_output().into()])
}

pub(super) fn log_softmax(n: &Node<'_>) -> Made {
    Ok(vec![n.device.log_softmax(n.typed::<f32>(0), n.int("axis", -1) as i32)?.into_output().into()])
}

/// 1 where the first of the largest elements along the axis is.
pub(super) fn hardmax(n: &Node<'_>) -> Made {
    let x = n.typed::<f32>(0);
    let axis = n.axis(n.int("axis", -1), x.rank());
    let places = AnyTensor::from(n.device.argmax(&x, Keep(axis as i32))?.into_output());
    n.formula(&[places.broadcast(x.shape())?], |k| {
        let f = k[0].formula();
        f.position(axis).compare(Compare::Eq, k[0]).select(f.number(DType::F32, 1.0), 0.0)
    })
}
