//! Operands that nobody owns.

use crate::buffer::View;
use parking_lot::{RwLockReadGuard, RwLockWriteGuard};
use smallvec::SmallVec;

/// Between the look at what a submission must follow and the publication of its own completion another may be submitted.
/// Where nobody owns what is written, writers keep all others out meanwhile.
#[derive(Default)]
pub(crate) struct Gate<'x> {
    _reads: SmallVec<[RwLockReadGuard<'x, ()>; 1]>,
    _writes: SmallVec<[RwLockWriteGuard<'x, ()>; 1]>,
}

impl<'x> Gate<'x> {
    /// The views are different operands. Readers do not wait for writers that wait, so that two submissions which hold what
    /// the other wants can both go on.
    pub(crate) fn enter(views: &[View<'x>], read_count: usize) -> Self {
        let (reads, writes) = views.split_at(read_count.min(views.len()));
        let gate = |view: &View<'x>| view.region.gate.as_deref();
        Gate {
            _reads: reads.iter().filter_map(gate).map(|gate| gate.read_recursive()).collect(),
            _writes: writes.iter().filter_map(gate).map(|gate| gate.write()).collect(),
        }
    }
}
