//! Counts the user handles of a region, for `try_unique`.
//!
//! Counts *handles*, not `Arc`s: work in flight may hold the region too, and must not count, because the next writer
//! follows the readers' completions. The release in [`Handles::drop_one`] pairs with the acquire in
//! [`Handles::is_unique`]: a dispatch publishes its completion before the borrow of its handle ends. So a thread that
//! sees a count of one also sees every completion that was published through the other handles.

use crate::core::sync::{AtomicUsize, Ordering};

/// The count. Starts at one.
#[derive(Debug)]
pub(crate) struct Handles(AtomicUsize);

impl Handles {
    pub(crate) fn one() -> Self {
        Handles(AtomicUsize::new(1))
    }

    /// A handle was cloned.
    pub(crate) fn add_one(&self) {
        // Relaxed is enough: the new handle is reached through an existing one.
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// A handle was dropped.
    pub(crate) fn drop_one(&self) {
        self.0.fetch_sub(1, Ordering::Release);
    }

    /// Whether the caller holds the only handle.
    #[inline]
    pub(crate) fn is_unique(&self) -> bool {
        self.0.load(Ordering::Acquire) == 1
    }
}
