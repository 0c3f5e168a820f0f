//! Memory that grows inside a reserve of addresses.
//!
//! Regions lie in `0..used`. The owner of the region that ends at `used` may grow it, or shrink it, while it has the
//! [`Resizing`]: parts of no elements end there as well, so several handles may. Everything below stays where it is, with its handles
//! and with what is in flight on it.

use super::{Allocation, Region};
use crate::core::order::AccessHistory;
use crate::core::sync::{Arc, Mutex};

/// What an allocation knows of its growth.
#[derive(Debug)]
pub(crate) struct Reserve {
    label: Option<&'static str>,
    extent: Mutex<Extent>,
}

#[derive(Debug, Default)]
struct Extent {
    /// Bytes that regions have.
    used: usize,
    /// What was never used lies from here on.
    fresh: usize,
    /// What is in flight on bytes that were given back: who gets these again follows it.
    given_back: AccessHistory,
    /// A thread has the right to grow or shrink it.
    is_taken: bool,
}

/// The right to grow or shrink an allocation. One thread has it at a time.
pub(crate) struct Resizing(Arc<Allocation>);

impl Resizing {
    /// The right, unless another thread has it, or the regions do not end at `end`.
    pub(crate) fn at(allocation: &Arc<Allocation>, end: usize) -> Option<Self> {
        let mut extent = allocation.reserve()?.extent.lock();
        let is_free = extent.used == end && !std::mem::replace(&mut extent.is_taken, true);
        is_free.then(|| Resizing(allocation.clone()))
    }
}

impl Drop for Resizing {
    fn drop(&mut self) {
        if let Some(reserve) = self.0.reserve() {
            reserve.extent.lock().is_taken = false;
        }
    }
}

impl Reserve {
    pub(super) fn new(label: Option<&'static str>) -> Self {
        Reserve { label, extent: Mutex::default() }
    }

    /// The label of its maker.
    pub(super) fn label(&self) -> Option<&'static str> {
        self.label
    }

    /// Bytes that regions have.
    pub(crate) fn used(&self) -> usize {
        self.extent.lock().used
    }

    /// Whether nothing was ever written behind `from`, and what a region that begins there has to follow.
    pub(crate) fn behind(&self, from: usize) -> (bool, AccessHistory) {
        let extent = self.extent.lock();
        (from >= extent.fresh, extent.given_back.clone())
    }

    /// Regions have bytes up to `to` now.
    pub(crate) fn grown(&self, to: usize) {
        let mut extent = self.extent.lock();
        (extent.used, extent.fresh) = (to, extent.fresh.max(to));
    }

    /// Regions end where this one begins; it is about to be dropped.
    pub(crate) fn shrunk(&self, tail: &Region) -> AccessHistory {
        let history = tail.legacy();
        let mut extent = self.extent.lock();
        extent.used = tail.window.start;
        // What an earlier tail had in flight is in the history of whatever grew behind it, or was absorbed by this.
        let earlier = std::mem::take(&mut extent.given_back);
        extent.given_back = history.clone();
        extent.given_back.absorb(earlier);
        history
    }
}
