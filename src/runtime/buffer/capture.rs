//! Memory that a recorded program reads while its owner still holds it.
//!
//! A program keeps the buffers that it reads besides those of each replay (it *captures* them). Their owner may go on to
//! write them, split them and join them. Parts and wholes have ordering states of their own, so a program cannot find
//! the owner's later work in the region that it captured. Therefore each captured window gets a region of its own:
//!
//! ```text
//!   replay ──reads──> capture of the window <──writes, beside its own operand── every operation that writes a part of it
//! ```
//!
//! A replay reads the capture. Every operation that writes memory which overlaps a capture, by whatever handle, writes
//! the capture too, though only for the order: the capture is no operand. So replays and writers follow each other by
//! the memory that they use. The program and the owner may submit at the same moment; the capture's gate makes the one
//! follow the other.
//!
//! A writer of only a part of the window follows the work in flight on the whole of it, and leaves other writers beside
//! itself in the history, because one of them may fail. After such a failure, replays fail with `Upstream` until the
//! whole window is overwritten by one operation.

use super::{AccessHistory, Region, View};
use crate::sync::{Arc, AtomicBool, Mutex, Ordering, Weak};
use smallvec::SmallVec;
use std::ops::Range;

/// The captures of an allocation.
#[derive(Debug, Default)]
pub(super) struct Captures {
    /// There has been a capture. `Relaxed` is enough: a capture needs a borrow of the buffer, so the thread that writes
    /// the same memory later received the buffer from the thread that made the capture.
    any: AtomicBool,
    regions: Mutex<Vec<Weak<Region>>>,
}

impl Captures {
    /// Forgets them: the memory is reused.
    #[cfg(feature = "cuda")]
    pub(super) fn clear(&self) {
        if self.any.swap(false, Ordering::Relaxed) {
            self.regions.lock().clear();
        }
    }
}

/// The captures that an operation writes besides its operands.
pub(crate) type Captured = SmallVec<[(Arc<Region>, Written); 2]>;

/// How an operation writes a capture.
#[derive(Clone, Copy)]
pub(crate) struct Written {
    offset: usize,
    len: usize,
    whole: bool,
    overwritten: bool,
    undefined: bool,
}

impl Region {
    /// The region by which a program reads `window` of this region. Programs that capture the same window share it.
    pub(super) fn capture(self: &Arc<Self>, window: Range<usize>) -> Arc<Region> {
        // A worker keeps the regions that orders name. If replays named the captured window, it would have to cut the
        // owner's region each time.
        let window = if self.allocation.is_remote() { self.window.clone() } else { window };
        let captures = &self.allocation.captures;
        let mut regions = captures.regions.lock();
        regions.retain(|region| region.strong_count() > 0);
        let mut known = regions.iter().filter_map(Weak::upgrade);
        if let Some(region) = known.find(|region| region.window == window && Arc::ptr_eq(&region.epoch, &self.epoch)) {
            return region;
        }
        let mut history = self.legacy();
        history.readers.clear();
        let region = Region::gated(self, window, history);
        captures.any.store(true, Ordering::Relaxed);
        regions.push(Arc::downgrade(&region));
        region
    }
}

impl View<'_> {
    /// Whether an operation with this operand must be ordered by captures as well. Almost always false.
    #[inline]
    pub(crate) fn meets_captures(&self) -> bool {
        self.region.allocation.captures.any.load(Ordering::Relaxed)
    }

    /// Adds the captures that an operation with this operand must write. A reader writes none, except in a worker: there
    /// the orders of two threads may name different regions of the same memory, and must not be carried out at once.
    #[cold]
    pub(crate) fn captures(&self, reads: bool, all: &mut Captured) {
        let allocation = &self.region.allocation;
        if reads && !allocation.is_remote() {
            return;
        }
        let own = self.offset..self.offset + self.len;
        let regions = allocation.captures.regions.lock();
        for region in regions.iter().filter_map(Weak::upgrade) {
            let (start, end) = (own.start.max(region.window.start), own.end.min(region.window.end));
            if start >= end || Arc::ptr_eq(&region, self.region) {
                continue;
            }
            let covers = |outer: &Range<usize>| outer.start <= region.window.start && region.window.end <= outer.end;
            let whole = !reads && (covers(&own) || self.whole && covers(&self.region.window));
            let (overwritten, undefined) = (self.overwritten, self.undefined);
            all.push((region, Written { offset: start, len: end - start, whole, overwritten, undefined }));
        }
    }
}

impl Written {
    /// As a view of the capture.
    pub(crate) fn view(self, region: &Arc<Region>) -> View<'_> {
        let Written { offset, len, whole, overwritten, undefined } = self;
        let mut view = View::new(region, (offset, len), whole);
        (view.overwritten, view.undefined, view.capture) = (overwritten, undefined, true);
        view
    }
}

impl AccessHistory {
    /// Records a writer of a part, which follows everything recorded here. Writers that may still fail stay beside it.
    pub(crate) fn publish_part(&mut self, completion: &crate::engine::Completion) {
        self.readers.clear();
        self.writers.retain(|one| !one.is_spent());
        self.add_writer(completion.clone());
    }
}
