//! A tensor as a run of elements.

use crate::core::error::{Error, Result, Text};
use crate::device::tensor::Layout;

/// Checks that a tensor is its elements in row-major order, without gaps.
///
/// # Errors
/// [`Error::InvalidArgument`] when it is not.
pub(crate) fn check_packed(name: impl Into<Text>, layout: &Layout) -> Result<()> {
    if layout.is_row_major() {
        return Ok(());
    }
    let what = format!("{layout:?} is not in row-major order without gaps; `contiguous` makes a copy that is");
    Err(Error::invalid(name, what))
}
