//! What a lack of memory names.

use super::Text;
use serde::{Deserialize, Serialize};

/// A living piece of a device's memory, as [`Error::OutOfMemory`](crate::Error::OutOfMemory) and
/// [`Device::memory_report`](crate::Device::memory_report) name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LivingBuffer {
    /// Its size in bytes.
    pub bytes: u64,
    /// The label of the handle that it was made through: see [`Device::labelled`](crate::Device::labelled).
    pub label: Option<Text>,
}

impl std::fmt::Display for LivingBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.bytes)?;
        self.label.as_ref().map_or(Ok(()), |label| write!(f, " \"{label}\""))
    }
}
