//! Host data that an engine keeps where it landed.

use crate::core::error::Result;

/// The data of a download, in memory of the engine, that may still arrive piece by piece.
#[doc(hidden)]
pub trait Bulk: Send + Sync {
    /// The length in bytes.
    fn bytes(&self) -> usize;
    /// Copies all of it to `target` with several threads, each piece as soon as it has arrived.
    ///
    /// # Safety
    /// `target` is valid for writes of [`bytes`](Self::bytes) bytes, and no other thread touches it meanwhile.
    unsafe fn copy_to(&self, target: *mut u8) -> Result<()>;
}
