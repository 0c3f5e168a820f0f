//! What later processes need not make again: files in the user's cache. Kernels of [`nvrtc`](super::nvrtc) and plans of
//! [`dnn`](super::dnn) lie there, each in a folder of its own.
//!
//! - `disk.rs`: a folder of files, limited by bytes; `entry.rs`: one file, which contains the inputs of its answer.
//! - `place.rs`: the location of that folder.

mod disk;
mod entry;
mod place;

pub(in crate::libraries) use disk::Disk;
pub(in crate::libraries) use entry::Answer;
pub use place::DiskCache;
