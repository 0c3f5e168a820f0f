//! How far the points of an axis are from each other.

use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::device::tensor::{AnyTensorRef, Tensor, TensorRef};

/// How far the points of an axis are from each other: a number, or the coordinates of the points, which are a vector with an element
/// for each point of the axis, or a tensor of the shape of the values.
///
/// A number, a tensor and a view of one become it.
#[derive(Debug, Clone)]
pub enum Spacing<'a, T: Element> {
    /// All at this distance.
    Even(f64),
    /// At these coordinates.
    At(TensorRef<'a, T>),
}

impl<T: Element> From<f64> for Spacing<'_, T> {
    fn from(distance: f64) -> Self {
        Spacing::Even(distance)
    }
}

impl<'a, T: Element> From<TensorRef<'a, T>> for Spacing<'a, T> {
    fn from(coordinates: TensorRef<'a, T>) -> Self {
        Spacing::At(coordinates)
    }
}

impl<'a, T: Element> From<&'a TensorRef<'_, T>> for Spacing<'a, T> {
    fn from(coordinates: &'a TensorRef<'_, T>) -> Self {
        Spacing::At(coordinates.view())
    }
}

impl<'a, T: Element> From<&'a Tensor<T>> for Spacing<'a, T> {
    fn from(coordinates: &'a Tensor<T>) -> Self {
        Spacing::At(coordinates.view())
    }
}

impl<'a, T: Element> From<&'a PendingDispatch<Tensor<T>>> for Spacing<'a, T> {
    fn from(coordinates: &'a PendingDispatch<Tensor<T>>) -> Self {
        Spacing::At(coordinates.view())
    }
}

/// As [`Spacing`], of any type.
pub(super) enum Points<'a> {
    Even(f64),
    /// In the shape of the values.
    At(AnyTensorRef<'a>),
}

impl<'a, T: Element> Spacing<'a, T> {
    /// For the points of an axis of values of this shape.
    pub(super) fn points(&self, shape: &[usize], axis: usize) -> Result<Points<'_>> {
        match self {
            Spacing::Even(distance) => Ok(Points::Even(*distance)),
            Spacing::At(coordinates) => spread(coordinates.into(), shape, axis).map(Points::At),
        }
    }
}

fn spread<'a>(coordinates: AnyTensorRef<'a>, shape: &[usize], axis: usize) -> Result<AnyTensorRef<'a>> {
    if coordinates.shape() == shape {
        return Ok(coordinates);
    }
    let n = shape.get(axis).copied().unwrap_or(0);
    if coordinates.shape() != [n] {
        let what = format!(
            "coordinates of shape {:?}, but axis {axis} of {shape:?} has {n} points: give a vector of as many, or a tensor of that shape",
            coordinates.shape()
        );
        return Err(Error::invalid("spacing", what));
    }
    let mut spread = coordinates;
    for _ in axis + 1..shape.len() {
        spread = spread.unsqueeze(-1)?;
    }
    spread.broadcast(shape)
}
