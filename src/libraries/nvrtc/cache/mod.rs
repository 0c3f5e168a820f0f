//! The caches of images: in memory, and on disk for later processes.
//!
//! - `memory.rs`: limited by number and bytes; the least recently used images are removed first.
//! - `disk.rs`: a folder of files, limited by bytes; `entry.rs`: one file, which contains the inputs of its answer.
//! - `place.rs`: the location of that folder.

mod disk;
mod entry;
mod memory;
mod place;

pub(super) use disk::Disk;
pub(super) use entry::Answer;
pub(super) use memory::Memory;
pub use place::DiskCache;
