//! What is known of a structure beside its arrays.

use crate::sync::{AtomicU64, Ordering};

/// What offsets and indices hold: a name for it, and what its validation saw.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(in super::super) struct Structure {
    /// No other structure of the process has had it.
    pub(in super::super) name: u64,
    /// The most entries of a row (or column), where a GPU has counted them.
    pub(in super::super) longest: Option<u64>,
}

impl Structure {
    /// Another one than all before.
    pub(super) fn new(longest: Option<u64>) -> Self {
        static NAMES: AtomicU64 = AtomicU64::new(1);
        Structure { name: NAMES.fetch_add(1, Ordering::Relaxed), longest }
    }
}
