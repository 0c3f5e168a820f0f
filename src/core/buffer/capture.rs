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
//! A program may drop its captures while replays are in flight, and writers must follow these still. So the allocation
//! keeps what a dropped capture had in flight, and the next writer makes a capture of it again.
//!
//! A writer of only a part of the window follows the work in flight on the whole of it, and leaves other writers beside
//! itself in the history, because one of them may fail. After such a failure, replays fail with `Upstream` until the
//! whole window is overwritten by one operation.

use super::{Region, View};
use crate::core::order::{AccessHistory, Completion};
use crate::core::sync::{Arc, AtomicBool, Mutex, Ordering, Weak};
use smallvec::SmallVec;
use std::ops::Range;

/// The captures of an allocation.
#[derive(Debug, Default)]
pub(super) struct Captures {
    /// There has been a capture. `Relaxed` is enough: a capture needs a borrow of the buffer, so the thread that writes
    /// the same memory later received the buffer from the thread that made the capture.
    any: AtomicBool,
    lists: Mutex<Lists>,
}

#[derive(Debug, Default)]
struct Lists {
    live: Vec<Weak<Region>>,
    /// The windows of dropped captures, and what they had in flight.
    ended: Vec<(Range<usize>, AccessHistory)>,
}

impl Captures {
    /// Forgets them: the memory is reused.
    #[cfg(feature = "cuda")]
    pub(super) fn clear(&self) {
        if self.any.swap(false, Ordering::Relaxed) {
            *self.lists.lock() = Lists::default();
        }
    }
}

/// The captures that an operation writes besides its operands.
#[derive(Default)]
pub(crate) struct Captured(SmallVec<[(Arc<Region>, Written); 2]>);

impl Captured {
    /// As views.
    pub(crate) fn views(&self) -> impl Iterator<Item = View<'_>> {
        self.0.iter().map(|(region, written)| written.view(region))
    }
}

impl Drop for Captured {
    fn drop(&mut self) {
        self.0.iter().filter(|(_, written)| written.again).for_each(|(region, _)| region.release_capture());
    }
}

/// How an operation writes a capture.
#[derive(Clone, Copy)]
struct Written {
    /// The capture was dropped before, and made again for this operation.
    again: bool,
    offset: usize,
    len: usize,
    whole: bool,
    overwritten: bool,
    undefined: bool,
}

impl Captures {
    /// Whether a program may still read some of the memory.
    pub(super) fn has_live(&self) -> bool {
        self.any.load(Ordering::Relaxed) && self.lists.lock().live.iter().any(|one| one.strong_count() > 0)
    }
}

impl Region {
    /// The region by which a program reads `window` of this region. Programs that capture the same window share it.
    pub(super) fn capture(self: &Arc<Self>, window: Range<usize>) -> Arc<Region> {
        // A worker keeps the regions that orders name. If replays named the captured window, it would have to cut the
        // owner's region each time.
        let window = if self.allocation.is_remote() { self.window.clone() } else { window };
        let captures = &self.allocation.captures;
        let mut lists = captures.lists.lock();
        let mut known = lists.live.iter().filter_map(Weak::upgrade);
        if let Some(region) = known.find(|region| region.window == window && Arc::ptr_eq(&region.epoch, &self.epoch)) {
            return region;
        }
        let mut history = self.legacy();
        history.readers.clear();
        let region = Region::captured(self, window, history);
        captures.any.store(true, Ordering::Relaxed);
        lists.live.push(Arc::downgrade(&region));
        region
    }

    /// Call before a handle of a capture is dropped: what is in flight must still be followed.
    #[cold]
    pub(super) fn release_capture(&self) {
        // Always under the lock and before the handle is gone, so that no writer finds neither.
        let mut lists = self.allocation.captures.lists.lock();
        let mut history = self.history.lock().clone();
        history.readers.retain(|one| !one.is_past());
        history.writers.retain(|one| !one.is_past());
        if history.all().next().is_none() {
            return;
        }
        match lists.ended.iter_mut().find(|(window, _)| *window == self.window) {
            Some((_, known)) => known.absorb(history),
            None => lists.ended.push((self.window.clone(), history)),
        }
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
        let mut lists = allocation.captures.lists.lock();
        let Lists { live, ended } = &mut *lists;
        ended.retain(|(_, history)| !history.all().all(Completion::is_past));
        live.retain(|region| region.strong_count() > 0);
        if live.is_empty() && ended.is_empty() {
            allocation.captures.any.store(false, Ordering::Relaxed);
            return;
        }
        let meets = |window: &Range<usize>| own.start < window.end && window.start < own.end;
        let mut add = |region: Arc<Region>, again: bool| {
            let window = &region.window;
            let covers = |outer: &Range<usize>| outer.start <= window.start && window.end <= outer.end;
            let whole = !reads && (covers(&own) || self.whole && covers(&self.region.window));
            let (start, end) = (own.start.max(window.start), own.end.min(window.end));
            let (overwritten, undefined) = (self.overwritten, self.undefined);
            all.0.push((region, Written { again, offset: start, len: end - start, whole, overwritten, undefined }));
        };
        for region in live.iter().filter_map(Weak::upgrade) {
            if meets(&region.window) && !Arc::ptr_eq(&region, self.region) {
                add(region, false);
            }
        }
        for (window, history) in ended.extract_if(.., |(window, _)| meets(window)) {
            let region = Region::captured(self.region, window, history);
            live.push(Arc::downgrade(&region));
            add(region, true);
        }
    }
}

impl Written {
    /// As a view of the capture.
    fn view(self, region: &Arc<Region>) -> View<'_> {
        let Written { offset, len, whole, overwritten, undefined, .. } = self;
        let mut view = View::new(region, (offset, len), whole);
        (view.overwritten, view.undefined, view.capture) = (overwritten, undefined, true);
        view
    }
}

impl AccessHistory {
    /// Records a writer of a part, which follows everything recorded here. Writers that may still fail stay beside it.
    pub(crate) fn publish_part(&mut self, completion: &Completion) {
        self.readers.clear();
        self.writers.retain(|one| !one.is_spent());
        self.add_writer(completion.clone());
    }
}
