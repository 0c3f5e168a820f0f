//! What a region's bytes are worth, as far as the submitting side knows.

use crate::Error;
use crate::sync::{Arc, AtomicU8, Mutex, Ordering};

/// A failure that shows only when the work runs is carried by its completion instead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Content {
    /// Written, or its writer is in flight.
    #[default]
    Valid = 0,
    /// One of its writers was not enqueued when it was submitted: their completions say whether they failed.
    Late = 1,
    /// Never written since it was allocated: refused to readers.
    Uninit = 2,
    /// The operation that was to write it failed while it was submitted: readers are told `Upstream`.
    Failed = 3,
}

impl Content {
    /// What a buffer joined of two parts is worth.
    pub(crate) fn worse(self, other: Self) -> Self {
        if self as u8 >= other as u8 { self } else { other }
    }
}

/// The worth of a region. Relaxed: who may look at it was handed the buffer by who set it.
#[derive(Debug)]
pub(crate) struct Worth {
    content: AtomicU8,
    /// Where it is [`Content::Failed`], with what its writer failed.
    why: Mutex<Option<Arc<Error>>>,
}

impl Worth {
    pub(crate) fn new(content: Content) -> Self {
        Worth { content: AtomicU8::new(content as u8), why: Mutex::new(None) }
    }

    pub(crate) fn get(&self) -> Content {
        match self.content.load(Ordering::Relaxed) {
            0 => Content::Valid,
            1 => Content::Late,
            2 => Content::Uninit,
            _ => Content::Failed,
        }
    }

    pub(crate) fn set(&self, content: Content) {
        self.content.store(content as u8, Ordering::Relaxed);
    }

    /// Its writer failed.
    pub(crate) fn fail(&self, why: &Error) {
        *self.why.lock() = Some(Arc::new(why.clone()));
        self.set(Content::Failed);
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
