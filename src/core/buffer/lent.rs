//! Memory of others that buffers are made of.

#[cfg(feature = "external")]
use super::{Allocation, Home, Meter};
use crate::core::op::Contained;
#[cfg(feature = "external")]
use crate::core::sync::Arc;
use crate::core::sync::Mutex;
use std::any::Any;

/// What owns memory of others, and frees it when it is dropped: once, on whatever thread, with no lock of ours held.
pub(crate) struct Owner(#[expect(dead_code, reason = "owned")] Mutex<Contained<Box<dyn Any + Send>>>);

impl Owner {
    pub(crate) fn new(owner: Box<dyn Any + Send>) -> Self {
        Owner(Mutex::new(Contained::new(owner)))
    }
}

impl std::fmt::Debug for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Owner")
    }
}

#[cfg(feature = "external")]
impl Allocation {
    /// Memory of others, which counts against no limit of ours.
    pub(crate) fn lent(address: u64, bytes: u64, home: Home) -> Self {
        let meter = Meter::new(u64::MAX, u64::MAX);
        // Never refused: it is the first of a meter without a limit. The drop gives it back.
        let _ = meter.take(bytes);
        Self::new(address, bytes, home, Arc::new(meter))
    }
}
