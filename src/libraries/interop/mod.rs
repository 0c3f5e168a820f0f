//! Data exchange with other crates and programs. One folder each, behind a feature of its name.
//!
//! `elements.rs` reads and writes the elements of tensors piece by piece, for all formats of files.

#[cfg(feature = "dlpack")]
pub mod dlpack;
#[cfg(any(feature = "npy", feature = "safetensors"))]
mod elements;
#[cfg(feature = "ndarray")]
pub(crate) mod ndarray;
#[cfg(feature = "npy")]
pub mod npy;
#[cfg(feature = "safetensors")]
pub mod safetensors;
