//! An order in a lane of a worker, as the buffers remember it: see `engines/worker/shared/follows.rs`.

use crate::core::segment::Segment;
use crate::core::sync::{Arc, AtomicBool, Ordering};

/// How far the worker has come in one lane.
#[derive(Debug)]
pub(crate) struct Progress {
    control: Arc<Segment>,
    pub(crate) lane: usize,
    /// Where in the segment the worker writes the number of the last order that was carried out.
    carried: usize,
    /// The worker is gone: all orders count as carried out.
    over: AtomicBool,
}

impl Progress {
    pub(crate) fn new(control: Arc<Segment>, lane: usize, carried: usize) -> Arc<Self> {
        Arc::new(Progress { control, lane, carried, over: AtomicBool::new(false) })
    }

    /// The number of the last order that was carried out.
    pub(crate) fn carried(&self) -> u64 {
        if self.over.load(Ordering::Relaxed) {
            return u64::MAX;
        }
        self.control.word(self.carried).load(Ordering::Acquire)
    }

    /// Where the worker writes, if it is not gone.
    pub(crate) fn control(&self) -> Option<&Segment> {
        (!self.over.load(Ordering::Relaxed)).then_some(&*self.control)
    }

    /// The worker is gone, and all dispatches that were sent to it are settled.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// An order: the `number`-th of its lane, counted from 1.
#[derive(Clone, Debug)]
pub(crate) struct LaneOrder {
    pub(crate) progress: Arc<Progress>,
    pub(crate) number: u64,
}

impl LaneOrder {
    /// It was carried out: an order that is sent now comes after it without naming it.
    pub(crate) fn is_past(&self) -> bool {
        self.progress.carried() >= self.number
    }

    /// Becomes the later of the two if both are of one lane; else returns false. (All orders of a buffer are of one
    /// worker.)
    pub(crate) fn renew(&mut self, other: &LaneOrder) -> bool {
        let same = self.progress.lane == other.progress.lane;
        if same {
            self.number = self.number.max(other.number);
        }
        same
    }
}
