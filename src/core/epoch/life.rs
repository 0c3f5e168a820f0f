//! Whether an epoch may still be used: one flag, checked on every entry. It also decides which caller ended the epoch.
//!
//! ```text
//!   Alive <──> Draining ──> Gone      admits nothing new, what is in flight goes on: a rebuild was asked for, or every
//!     │           │           │       handle was dropped
//!     └───────────┼───────────┘
//!                 v
//!             Poisoned ──> Stale | Lost        dead: what is in flight settles with the cause
//! ```
//!
//! Except for a drain that is called off, states only move forward. The flag is set *before* the supervisor takes the
//! slots, and checked *after* a slot is leased (see `mod.rs`). So a thread that holds a lease and saw `Alive` is
//! inside the driver strictly before the supervisor's exclusive section.

use crate::core::sync::{AtomicU8, Ordering};

/// The state of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
#[repr(u8)]
pub(crate) enum Stand {
    /// In use.
    Alive = 0,
    /// Closed to new work; work in flight goes on.
    Draining = 1,
    /// Every handle of the device was dropped; work in flight goes on.
    Gone = 2,
    /// A fault was seen; the supervisor has not decided yet what to do.
    Poisoned = 3,
    /// Ended in an orderly way: replaced by another generation, or torn down.
    Stale = 4,
    /// Ended for good; no generation follows.
    Lost = 5,
}

/// The flag itself.
#[derive(Debug)]
pub(crate) struct Life(AtomicU8);

impl Life {
    pub(crate) fn new() -> Self {
        Life(AtomicU8::new(Stand::Alive as u8))
    }

    /// Whether new work may begin. One load; the only check on the hot path.
    pub(crate) fn alive(&self) -> bool {
        self.0.load(Ordering::Acquire) == Stand::Alive as u8
    }

    /// Whether work in flight will no longer end by itself.
    pub(crate) fn dead(&self) -> bool {
        self.0.load(Ordering::Acquire) >= Stand::Poisoned as u8
    }

    /// Closes admission for a drain. False when it was not open.
    pub(crate) fn drain(&self) -> bool {
        self.0.compare_exchange(Stand::Alive as u8, Stand::Draining as u8, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// Cancels a drain.
    pub(crate) fn reopen(&self) {
        let _ = self.0.compare_exchange(Stand::Draining as u8, Stand::Alive as u8, Ordering::SeqCst, Ordering::SeqCst);
    }

    pub(crate) fn stand(&self) -> Stand {
        match self.0.load(Ordering::Acquire) {
            0 => Stand::Alive,
            1 => Stand::Draining,
            2 => Stand::Gone,
            3 => Stand::Poisoned,
            4 => Stand::Stale,
            _ => Stand::Lost,
        }
    }

    /// Moves forward to `to`. True for the one caller that moved it: the one that ended the epoch, or changed how it
    /// ended.
    pub(crate) fn end(&self, to: Stand) -> bool {
        self.0.fetch_max(to as u8, Ordering::SeqCst) < to as u8
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_life_only_moves_forward_and_one_caller_ends_it() {
        let life = Life::new();
        assert!(life.alive());
        assert!(life.drain() && !life.alive() && !life.dead());
        life.reopen();
        assert!(life.alive());
        assert!(life.end(Stand::Poisoned) && life.dead() && !life.drain());
        assert!(!life.end(Stand::Poisoned));
        assert!(!life.alive());
        assert!(life.end(Stand::Stale));
        assert!(!life.end(Stand::Poisoned));
        assert_eq!(life.stand(), Stand::Stale);
    }
}
