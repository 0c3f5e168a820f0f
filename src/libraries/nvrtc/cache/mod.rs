//! Where images are kept: in memory, and on disk for the next process.
//!
//! - `memory.rs`: bounded by number and bytes, the least recently used goes first.
//! - `disk.rs`: a folder of files, bounded by bytes; `entry.rs`: one file of it, which knows what it is an answer to.
//! - `place.rs`: where that folder is.

mod disk;
mod entry;
mod memory;
mod place;

pub(super) use disk::Disk;
pub(super) use entry::Answer;
pub(super) use memory::Memory;
pub use place::DiskCache;
