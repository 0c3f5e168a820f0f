//! Operands that nobody owns.

use crate::buffer::View;
use parking_lot::{RwLockReadGuard, RwLockWriteGuard};
use smallvec::SmallVec;

/// Between the look at what a submission must follow and the publication of its own completion another may be submitted.
/// Where nobody owns what is written, writers keep all others out meanwhile.
#[derive(Default)]
pub(crate) struct Gate<'x> {
    reads: SmallVec<[RwLockReadGuard<'x, ()>; 1]>,
    writes: SmallVec<[RwLockWriteGuard<'x, ()>; 1]>,
}

impl<'x> Gate<'x> {
    /// The views are different operands. Readers do not wait for writers that wait, so that two submissions which hold what
    /// the other wants can both go on.
    pub(crate) fn enter(views: &[View<'x>], read_count: usize) -> Self {
        let (reads, writes) = views.split_at(read_count.min(views.len()));
        let mut all = Gate::default();
        // Not `collect`, which costs more than all of this where no operand has a gate.
        for gate in reads.iter().filter_map(|view| view.region.gate.as_deref()) {
            all.reads.push(gate.read_recursive());
        }
        for gate in writes.iter().filter_map(|view| view.region.gate.as_deref()) {
            all.writes.push(gate.write());
        }
        all
    }
}
