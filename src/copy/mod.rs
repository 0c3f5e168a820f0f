//! Moving data: upload, download, fill, copies on the device and between devices.
//!
//! Nothing asynchronous ever borrows host memory: an upload owns its data or copies it into staging before it returns,
//! a download lands in memory of ours first.

mod device_copy;
mod download;
mod fill;
mod peer_copy;
mod source;
mod upload;

#[cfg(feature = "ndarray")]
pub(crate) use download::Form;
pub use source::HostData;
