//! How the fronts take tensors: where the strides allow it, the operands of a call of the front, without a copy.
//!
//! `operands` reads strides as vectors and matrices. The files, one for each front, make the front's own
//! specification of what it finds, and submit that. What cannot be described so is refused with an error that names
//! [`Device::contiguous`](crate::Device::contiguous), which makes the copy; no method here makes one.

#[cfg(feature = "blas")]
pub(super) mod blas;
#[cfg(feature = "blaslt")]
mod blaslt;
#[cfg(all(feature = "rng", feature = "expressions"))]
mod random;
