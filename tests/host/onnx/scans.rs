//! Rows of the table that scan along an axis.

use super::node::{Made, Node};
use windlass::expressions::Overflow;
use windlass::reductions::scans::{Along, Cumulative};
use windlass::reductions::{Prod, Sum};
use windlass::{DType, Element, tensor::AnyTensor};

pub(super) fn cumsum(n: &Node<'_>) -> Made {
    match n.input(0).dtype() {
        DType::I32 => scan::<i32, _>(n, Sum),
        _ => scan::<f64, _>(n, Sum),
    }
}

pub(super) fn cumprod(n: &Node<'_>) -> Made {
    match n.input(0).dtype() {
        DType::I32 => scan::<i32, _>(n, Prod),
        _ => scan::<f64, _>(n, Prod),
    }
}

/// Integers are accumulated in 64 bits here, and are of their own type in ONNX.
fn scan<T: Element, K: Cumulative<T>>(n: &Node<'_>, kind: K) -> Made {
    let mut along = Along::axis(n.scalar(1).unwrap() as isize);
    if n.int("exclusive", 0) == 1 {
        along = along.exclusive();
    }
    if n.int("reverse", 0) == 1 {
        along = along.reverse();
    }
    let made: AnyTensor = n.device.scan(n.typed::<T>(0), along, kind)?.into_output().into();
    Ok(vec![n.device.cast_any(&made, T::DTYPE, Overflow::Wrap)?])
}
