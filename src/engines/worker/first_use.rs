//! What takes long once: to make a library's handle, to load code. The watchdog leaves it out.
//!
//! The worker says so in a word beside the lane's number: since when the order that it is at has been in a first use, until
//! that order is carried out. (What is asked of a library just after its first handle was made may load its kernels.)

use super::layout;
use super::segment::Segment;
#[cfg(feature = "cuda")]
use crate::clock::Clock;
use crate::clock::Timing;
use crate::sync::{Arc, Ordering};
use std::cell::RefCell;
use std::time::Duration;

thread_local! {
    /// The lane whose orders this thread carries out.
    static LANE: RefCell<Option<(Arc<Segment>, usize)>> = const { RefCell::new(None) };
}

/// This thread carries out the orders of `lane` from now on.
pub(super) fn belongs_to(lane: usize, control: &Arc<Segment>) {
    LANE.with_borrow_mut(|mine| *mine = Some((control.clone(), lane)));
}

/// A first use begins, if this thread carries out orders.
#[cfg(feature = "cuda")]
pub(super) fn begin() {
    LANE.with_borrow(|mine| {
        if let Some((control, lane)) = mine {
            // The time of the first, where an order makes several.
            let since = control.word(layout::first_use(*lane));
            let _ = since.compare_exchange(0, Clock::SYSTEM.nanos(), Ordering::Relaxed, Ordering::Relaxed);
        }
    });
}

/// The order is carried out.
pub(super) fn end(control: &Segment, lane: usize) {
    let since = control.word(layout::first_use(lane));
    if since.load(Ordering::Relaxed) != 0 {
        since.store(0, Ordering::Relaxed);
    }
}

/// For the client: the worker is at one in this lane, and not for too long.
pub(super) fn is_under_way(control: &Segment, lane: usize, timing: &Timing) -> bool {
    let since = control.word(layout::first_use(lane)).load(Ordering::Relaxed);
    since != 0 && Duration::from_nanos(timing.clock.nanos().saturating_sub(since)) < timing.watch.first_use
}
