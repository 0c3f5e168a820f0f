//! Code of an operation's author, which may panic: on whatever thread it runs, the panic stays the operation's.

use super::{Cost, Op};
use crate::{Error, Result};
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `f`; its panic becomes [`Error::Panicked`].
pub(crate) fn contained<T>(f: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| Err(Error::panicked(&*panic)))
}

/// The same without an answer, compiled once.
pub(crate) fn guarded(f: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    contained(f)
}

/// How much work an op says it is; nothing where it panics.
pub(crate) fn cost_of<O: Op>(op: &O) -> Cost {
    let mut cost = Cost::default();
    let _ = guarded(&mut || {
        cost = op.cost();
        Ok(())
    });
    cost
}

/// A value of a user's type. A panic of its drop ends there: the thread is a device's own, or one that submits something else.
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

/// Runs a drop, whose panic ends here.
fn quietly(drop: &mut dyn FnMut()) {
    // What the panic carries may be anything as well.
    if let Err(panic) = catch_unwind(AssertUnwindSafe(drop)) {
        let _ = catch_unwind(AssertUnwindSafe(|| std::mem::drop(panic)));
    }
}
