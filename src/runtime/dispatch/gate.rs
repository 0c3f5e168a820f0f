//! Operands without a unique owner.

use crate::buffer::View;
use parking_lot::{RwLockReadGuard, RwLockWriteGuard};
use smallvec::SmallVec;

/// A submission first looks up what it must follow, and later publishes its own completion. In between, another
/// submission may come. If a written operand has no unique owner, its writer keeps all other submissions out during
/// that time.
#[derive(Default)]
pub(crate) struct Gate<'x> {
    reads: SmallVec<[RwLockReadGuard<'x, ()>; 1]>,
    writes: SmallVec<[RwLockWriteGuard<'x, ()>; 1]>,
}

impl<'x> Gate<'x> {
    /// The views must be different operands. Readers do not wait for waiting writers, so that two submissions that each
    /// hold what the other wants can both go on.
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
