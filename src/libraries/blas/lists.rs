//! Lists of tensors as operands.

use crate::core::buffer::In;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::core::room::with_capacity;
use crate::device::tensor::{Part, ReadableTensor, TensorRef, WritableTensor};

pub(super) fn views<'a, T: Element>(all: impl IntoIterator<Item: ReadableTensor<'a, T>>) -> Vec<TensorRef<'a, T>> {
    all.into_iter().map(Into::into).collect()
}

pub(super) fn parts<T: Element>(all: impl IntoIterator<Item: WritableTensor<T>>) -> Vec<Part<T>> {
    all.into_iter().map(Into::into).collect()
}

/// The part of its buffer that each tensor has, from its first to its last element.
pub(super) fn windows<'x, T: Element>(all: &'x [TensorRef<'_, T>]) -> Result<Vec<In<'x, T>>> {
    let mut windows = with_capacity(all.len())?;
    all.iter().try_for_each(|one| one.window().map(|window| windows.push(window)))?;
    Ok(windows)
}

/// The error of an operand, with its place in the list.
pub(super) fn numbered(error: Error, index: usize) -> Error {
    match error {
        Error::InvalidArgument { argument, reason, .. } if argument.len() == 1 => {
            Error::invalid(format!("{argument}[{index}]"), reason)
        }
        other => other,
    }
}
