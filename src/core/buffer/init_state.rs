//! Whether a region's contents are valid, as far as is known at submission.

use crate::core::error::Error;
use crate::core::sync::{Arc, AtomicBool, AtomicU8, Mutex, Ordering};
use std::ops::Range;

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
    /// The windows that an operation has left undefined, in elements from the allocation's beginning; and whether there
    /// are any.
    undefined: Mutex<Vec<Range<usize>>>,
    has_undefined: AtomicBool,
}

impl InitCell {
    pub(crate) fn new(state: InitState) -> Self {
        InitCell {
            state: AtomicU8::new(state as u8),
            why: Mutex::new(None),
            undefined: Mutex::new(Vec::new()),
            has_undefined: AtomicBool::new(false),
        }
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

    /// Whether all of the region is valid, as far as is known without its history.
    #[inline]
    pub(crate) fn is_all_valid(&self) -> bool {
        self.get() == InitState::Valid && !self.has_undefined.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn set(&self, state: InitState) {
        self.state.store(state as u8, Ordering::Relaxed);
    }

    /// Records what a submitted write leaves in a window: nothing that is defined, or all of it (`overwritten`).
    pub(crate) fn wrote(&self, window: Range<usize>, whole: bool, undefined: bool, overwritten: bool) {
        if !undefined && !self.has_undefined.load(Ordering::Relaxed) {
            return;
        }
        let mut all = self.undefined.lock();
        if whole {
            // The state of the region says it.
            all.clear();
        } else if undefined {
            all.push(window);
        } else if overwritten {
            let rest = |old: &Range<usize>| {
                let before = old.start..old.end.min(window.start);
                let behind = old.start.max(window.end)..old.end;
                [before, behind].into_iter().filter(|part| part.start < part.end)
            };
            *all = all.iter().flat_map(rest).collect();
        }
        self.has_undefined.store(!all.is_empty(), Ordering::Relaxed);
    }

    /// Whether a part of the window was left undefined.
    pub(crate) fn is_undefined(&self, window: &Range<usize>) -> bool {
        self.has_undefined.load(Ordering::Relaxed)
            && self.undefined.lock().iter().any(|other| other.start < window.end && window.start < other.end)
    }

    /// Takes over the undefined windows of a buffer that it was split or joined from.
    pub(crate) fn inherit(&self, from: &InitCell) {
        if from.has_undefined.load(Ordering::Relaxed) {
            self.undefined.lock().extend(from.undefined.lock().iter().cloned());
            self.has_undefined.store(true, Ordering::Relaxed);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_undefined_window_ends_where_it_was_overwritten() {
        let cell = InitCell::new(InitState::Valid);
        cell.wrote(10..20, false, true, false);
        assert!(cell.is_undefined(&(0..11)) && cell.is_undefined(&(19..30)));
        assert!(!cell.is_undefined(&(0..10)) && !cell.is_undefined(&(20..30)));
        cell.wrote(12..15, false, false, true);
        assert!(cell.is_undefined(&(10..12)) && cell.is_undefined(&(15..16)) && !cell.is_undefined(&(12..15)));
        let other = InitCell::new(InitState::Valid);
        other.inherit(&cell);
        assert!(other.is_undefined(&(0..30)));
        cell.wrote(0..30, true, false, false);
        assert!(!cell.is_undefined(&(0..30)) && other.is_undefined(&(0..30)));
        // A write that reads what it changes does not define it.
        other.wrote(10..12, false, false, false);
        assert!(other.is_undefined(&(10..12)));
    }
}
