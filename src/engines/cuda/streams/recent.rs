//! The last operations on a slot, for the report of a fault.

use crate::core::error::Text;
use crate::core::sync::{AtomicUsize, Ordering};
use std::sync::atomic::AtomicPtr;

/// Their names and labels. Written by the holder of the lease, read by a thread that reports a fault. Plain loads and
/// stores, so that the hot path has no locked instruction for it.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    ops: [Recalled; 8],
    next: AtomicUsize,
}

/// One operation. A reader may see the name of one and the label of the next: a report is not worth a lock.
#[derive(Debug, Default)]
struct Recalled {
    name: AtomicPtr<&'static str>,
    /// Null without a label.
    label: AtomicPtr<&'static str>,
}

impl Recent {
    pub(crate) fn push(&self, name: &'static &'static str, label: Option<&'static &'static str>) {
        let next = self.next.load(Ordering::Relaxed);
        if let Some(place) = self.ops.get(next % 8) {
            place.name.store(std::ptr::from_ref(name).cast_mut(), Ordering::Relaxed);
            let label = label.map_or(std::ptr::null(), std::ptr::from_ref);
            place.label.store(label.cast_mut(), Ordering::Relaxed);
        }
        self.next.store(next.wrapping_add(1), Ordering::Relaxed);
    }

    pub(crate) fn names(&self) -> Vec<Text> {
        let (new, old) = self.ops.split_at(self.next.load(Ordering::Relaxed) % 8);
        old.iter().chain(new).filter_map(Recalled::text).collect()
    }
}

impl Recalled {
    fn text(&self) -> Option<Text> {
        let (name, label) = (self.name.load(Ordering::Relaxed), self.label.load(Ordering::Relaxed));
        // SAFETY: a pointer that is not null was stored by `push`, from a reference to a static.
        let (name, label) = unsafe { (name.as_ref(), label.as_ref()) };
        Some(crate::core::epoch::op_text(name?, label.copied()))
    }
}

#[cfg(test)]
mod tests {
    use super::Recent;

    #[test]
    fn the_newest_eight_are_told_with_their_labels_oldest_first() {
        let recent = Recent::default();
        assert!(recent.names().is_empty());
        let label = crate::core::intern::name("layer 3");
        recent.push(&"gemm", Some(label));
        recent.push(&"fill", None);
        assert_eq!(recent.names(), ["gemm [layer 3]", "fill"]);
        (0..7).for_each(|_| recent.push(&"scal", Some(label)));
        // The place of a labelled operation was taken by one without.
        recent.push(&"dot", None);
        assert_eq!(recent.names().len(), 8);
        assert_eq!(recent.names()[6..], ["scal [layer 3]", "dot"]);
    }
}
