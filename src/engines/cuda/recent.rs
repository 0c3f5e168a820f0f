//! The last operations on a slot, for the report of a fault.

use crate::sync::{AtomicUsize, Ordering};
use std::sync::atomic::AtomicPtr;

/// Their names. Written by the holder of the lease, read by a thread that reports a fault. Plain loads and stores, so
/// that the hot path has no locked instruction for it.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    names: [AtomicPtr<&'static str>; 8],
    next: AtomicUsize,
}

impl Recent {
    pub(crate) fn push(&self, name: &'static &'static str) {
        let next = self.next.load(Ordering::Relaxed);
        if let Some(place) = self.names.get(next % 8) {
            place.store(std::ptr::from_ref(name).cast_mut(), Ordering::Relaxed);
        }
        self.next.store(next.wrapping_add(1), Ordering::Relaxed);
    }

    pub(crate) fn names(&self) -> Vec<&'static str> {
        let (new, old) = self.names.split_at(self.next.load(Ordering::Relaxed) % 8);
        let names = old.iter().chain(new).map(|name| name.load(Ordering::Relaxed));
        // SAFETY: a pointer that is not null was stored by `push`, from a reference to a static.
        names.filter_map(|name| unsafe { name.as_ref() }.copied()).collect()
    }
}
