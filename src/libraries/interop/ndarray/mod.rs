//! Arrays of crate `ndarray`: tensors from them ([`tensor_of`](crate::Device::tensor_of)), and back
//! ([`to_array`](crate::Device::to_array), [`download_array`](crate::Device::download_array)).
//!
//! An array of any dimension, or a view of one, has the elements that it shows, whatever their order in memory.

mod download;
mod upload;

use ndarray::{ArrayRef, Dimension};

/// Whether the first axis is the fastest, of elements that lie without gaps; `None` if there are gaps. If both apply (a vector, a
/// single row) it is not.
fn first_is_fastest<T, D: Dimension>(array: &ArrayRef<T, D>) -> Option<bool> {
    match (array.is_standard_layout(), array.view().reversed_axes().is_standard_layout()) {
        (true, _) => Some(false),
        (false, true) => Some(true),
        (false, false) => None,
    }
}
