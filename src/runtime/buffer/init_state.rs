//! Whether a region's bytes hold anything, as far as the submitting side knows.

use crate::Error;
use crate::sync::{Arc, AtomicU8, Mutex, Ordering};

/// A failure that shows only when the work runs is carried by its completion instead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum InitState {
    /// Written, or its writer is in flight.
    #[default]
    Valid = 0,
    /// One of its writers was not enqueued when it was submitted: their completions say whether they failed.
    Late = 1,
    /// Never written since it was allocated, or left undefined by its last operation: refused to readers.
    Uninit = 2,
    /// The operation that was to write it failed while it was submitted: readers are told `Upstream`.
    Failed = 3,
}

impl InitState {
    /// The state of a buffer joined of two parts.
    pub(crate) fn worse(self, other: Self) -> Self {
        if self as u8 >= other as u8 { self } else { other }
    }
}

/// The state of a region. Relaxed: who may look at it was handed the buffer by who set it.
#[derive(Debug)]
pub(crate) struct InitCell {
    state: AtomicU8,
    /// Where it is [`InitState::Failed`], with what its writer failed.
    why: Mutex<Option<Arc<Error>>>,
}

impl InitCell {
    pub(crate) fn new(state: InitState) -> Self {
        InitCell { state: AtomicU8::new(state as u8), why: Mutex::new(None) }
    }

    pub(crate) fn get(&self) -> InitState {
        match self.state.load(Ordering::Relaxed) {
            0 => InitState::Valid,
            1 => InitState::Late,
            2 => InitState::Uninit,
            _ => InitState::Failed,
        }
    }

    pub(crate) fn set(&self, state: InitState) {
        self.state.store(state as u8, Ordering::Relaxed);
    }

    /// Its writer failed.
    pub(crate) fn fail(&self, why: &Error) {
        *self.why.lock() = Some(Arc::new(why.clone()));
        self.set(InitState::Failed);
    }

    /// With what its writer failed, or that of what it was part of.
    pub(crate) fn why(&self) -> Option<Arc<Error>> {
        self.why.lock().clone()
    }

    /// It is a part, or a whole, of what failed so.
    pub(crate) fn fails_by(&self, why: Option<Arc<Error>>) {
        *self.why.lock() = why;
    }
}
