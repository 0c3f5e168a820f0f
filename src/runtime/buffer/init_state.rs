//! Whether a region's contents are valid, as far as is known at submission.

use crate::Error;
use crate::sync::{Arc, AtomicU8, Mutex, Ordering};

/// The state of a region's contents. A failure that appears only when the work runs is recorded in its completion
/// instead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum InitState {
    /// Written, or its writer is in flight.
    #[default]
    Valid = 0,
    /// A writer was submitted but not enqueued at once: the completions of the writers tell whether they failed.
    Late = 1,
    /// Never written since it was allocated, or left undefined by its last operation: reading is refused.
    Uninit = 2,
    /// The operation that should write it failed during submission: readers fail with [`Error::Upstream`].
    Failed = 3,
}

impl InitState {
    /// The state of a buffer that is joined from two parts.
    pub(crate) fn worse(self, other: Self) -> Self {
        if self as u8 >= other as u8 { self } else { other }
    }
}

/// The state of a region. `Relaxed` is enough: a thread that reads it received the buffer from the thread that set it.
#[derive(Debug)]
pub(crate) struct InitCell {
    state: AtomicU8,
    /// If the state is [`InitState::Failed`]: the error of the writer.
    why: Mutex<Option<Arc<Error>>>,
}

impl InitCell {
    pub(crate) fn new(state: InitState) -> Self {
        InitCell { state: AtomicU8::new(state as u8), why: Mutex::new(None) }
    }

    #[inline]
    pub(crate) fn get(&self) -> InitState {
        match self.state.load(Ordering::Relaxed) {
            0 => InitState::Valid,
            1 => InitState::Late,
            2 => InitState::Uninit,
            _ => InitState::Failed,
        }
    }

    #[inline]
    pub(crate) fn set(&self, state: InitState) {
        self.state.store(state as u8, Ordering::Relaxed);
    }

    /// Records that its writer failed.
    pub(crate) fn fail(&self, why: &Error) {
        *self.why.lock() = Some(Arc::new(why.clone()));
        self.set(InitState::Failed);
    }

    /// The error of its writer, or of the writer of the buffer that it was split or joined from.
    pub(crate) fn why(&self) -> Option<Arc<Error>> {
        self.why.lock().clone()
    }

    /// Sets the error of the buffer that it was split or joined from.
    pub(crate) fn fails_by(&self, why: Option<Arc<Error>>) {
        *self.why.lock() = why;
    }
}
