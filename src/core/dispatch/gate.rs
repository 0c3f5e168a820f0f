//! Operands without a unique owner.

use crate::core::buffer::{Region, View};
use crate::core::sync::RwLock;
use parking_lot::{RwLockReadGuard, RwLockWriteGuard};
use smallvec::SmallVec;

/// A submission first looks up what it must follow, and later publishes its own completion. In between, another
/// submission may come. If a written operand has no unique owner, its writer keeps all other submissions out during
/// that time.
#[derive(Default)]
pub(crate) struct Gate<'x> {
    _reads: SmallVec<[RwLockReadGuard<'x, ()>; 1]>,
    _writes: SmallVec<[RwLockWriteGuard<'x, ()>; 1]>,
}

impl<'x> Gate<'x> {
    /// Enters the gates of a submission that may have some ([`Submission::is_gated`](super::Submission)).
    #[inline]
    pub(crate) fn enter(views: &[View<'x>], read_count: usize, is_gated: bool) -> Option<Self> {
        // Most launches may use the variables of their module, and few do.
        let gated = is_gated && views.iter().any(|view| view.region.gate.is_some());
        if gated { Some(Self::enter_all(views, read_count)) } else { None }
    }

    /// Enters in the order of the gates' addresses, so that two submissions that both want the same gates cannot each
    /// hold one that the other waits for.
    #[inline(never)]
    fn enter_all(views: &[View<'x>], read_count: usize) -> Self {
        let mut gates: SmallVec<[(&'x RwLock<()>, bool); 4]> = SmallVec::new();
        for (index, view) in views.iter().enumerate() {
            let region: &'x Region = view.region;
            if let Some(gate) = region.gate.as_deref() {
                gates.push((gate, index < read_count));
            }
        }
        // Of two equal ones the writer comes first, and stays.
        gates.sort_unstable_by_key(|(gate, reads)| (std::ptr::from_ref(*gate), *reads));
        gates.dedup_by_key(|(gate, _)| std::ptr::from_ref(*gate));
        let mut all = Gate::default();
        for (gate, reads) in gates {
            if reads { all._reads.push(gate.read()) } else { all._writes.push(gate.write()) }
        }
        all
    }
}
