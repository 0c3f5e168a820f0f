//! What is known of a structure in addition to its arrays.

use crate::core::sync::{AtomicU64, Ordering};

/// An identifier for the contents of offsets and indices, and a result of their validation.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(in super::super) struct Structure {
    /// Unique in the process.
    pub(in super::super) name: u64,
    /// The number of entries of the longest row (or column), if a GPU has counted it.
    pub(in super::super) longest: Option<u64>,
}

impl Structure {
    /// A structure with a new identifier.
    pub(super) fn new(longest: Option<u64>) -> Self {
        static NAMES: AtomicU64 = AtomicU64::new(1);
        Structure { name: NAMES.fetch_add(1, Ordering::Relaxed), longest }
    }
}
