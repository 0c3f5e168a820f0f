//! Work that is slow only the first time: making a library's handle, loading code. The watchdog does not count it.
//!
//! The worker publishes it in a word next to the lane's number: since when the current order of the lane has been in a
//! first use. The word is cleared when that order was carried out, not earlier: the first calls after a library's
//! handle was made may load its kernels.

use super::layout;
#[cfg(feature = "cuda")]
use crate::core::clock::Clock;
use crate::core::clock::Timing;
use crate::core::order::Progress;
use crate::core::segment::Segment;
use crate::core::sync::{Arc, Ordering};
use std::cell::RefCell;
use std::time::Duration;

thread_local! {
    /// The lane whose orders this thread carries out, and the control segment.
    static LANE: RefCell<Option<(Arc<Segment>, usize)>> = const { RefCell::new(None) };
}

/// This thread carries out the orders of `lane` from now on.
pub(crate) fn belongs_to(lane: usize, control: &Arc<Segment>) {
    LANE.with_borrow_mut(|mine| *mine = Some((control.clone(), lane)));
}

/// A first use begins. Does nothing if this thread carries out no orders.
#[cfg(feature = "cuda")]
pub(crate) fn begin() {
    LANE.with_borrow(|mine| {
        if let Some((control, lane)) = mine {
            // If an order makes several first uses, the time starts with the first.
            let since = control.word(layout::first_use(*lane));
            let _ = since.compare_exchange(0, Clock::SYSTEM.nanos(), Ordering::Relaxed, Ordering::Relaxed);
        }
    });
}

/// The order was carried out.
pub(crate) fn end(control: &Segment, lane: usize) {
    let since = control.word(layout::first_use(lane));
    if since.load(Ordering::Relaxed) != 0 {
        since.store(0, Ordering::Relaxed);
    }
}

/// For the client: the worker is in a first use in this lane, and has not been for too long.
pub(crate) fn is_under_way(progress: &Progress, timing: &Timing) -> bool {
    let Some(control) = progress.control() else { return false };
    let since = control.word(layout::first_use(progress.lane)).load(Ordering::Relaxed);
    since != 0 && Duration::from_nanos(timing.clock.nanos().saturating_sub(since)) < timing.watch.first_use
}
