//! Tensors: a buffer and where its elements lie.

mod layout;

pub use layout::{AxisSlice, AxisSlices, Layout};
