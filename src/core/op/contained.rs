//! Runs code of an op's author, which may panic. A panic is caught, on whatever thread it happens, and fails only that
//! op.

use crate::core::error::{Error, Result};
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `f`; its panic becomes [`Error::Panicked`].
pub(crate) fn contained<T>(f: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| Err(Error::panicked(&*panic)))
}

/// As [`contained`], without a return value; compiled once.
pub(crate) fn guarded(f: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    contained(f)
}

/// A value of a user's type. A panic of its `Drop` is caught here, because the thread that drops it may be a device's
/// own, or may be submitting other work.
pub(crate) struct Contained<T>(ManuallyDrop<T>);

impl<T> Contained<T> {
    pub(crate) fn new(value: T) -> Self {
        Contained(ManuallyDrop::new(value))
    }
}

impl<T> Deref for Contained<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Contained<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> Drop for Contained<T> {
    fn drop(&mut self) {
        // SAFETY: dropped here only, and never used again.
        let mut drop = || unsafe { ManuallyDrop::drop(&mut self.0) };
        if std::mem::needs_drop::<T>() {
            quietly(&mut drop);
        }
    }
}

/// Runs a drop and catches its panic.
pub(crate) fn quietly(drop: &mut dyn FnMut()) {
    // Dropping the panic's payload may panic too.
    if let Err(panic) = catch_unwind(AssertUnwindSafe(drop)) {
        let _ = catch_unwind(AssertUnwindSafe(|| std::mem::drop(panic)));
    }
}
