//! The names of `src/core/sync.rs` over loom's types.

pub(crate) use loom::sync::Arc;
pub(crate) use loom::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::time::Instant;

/// A mutex whose `lock` gives the guard.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

/// Empty only inside [`Condvar::wait`].
pub(crate) struct Guard<'a, T>(Option<loom::sync::MutexGuard<'a, T>>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Mutex(loom::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> Guard<'_, T> {
        Guard(Some(self.0.lock().unwrap()))
    }

    pub(crate) fn try_lock(&self) -> Option<Guard<'_, T>> {
        self.0.try_lock().ok().map(|guard| Guard(Some(guard)))
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.0.as_ref().unwrap()
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().unwrap()
    }
}

/// A cell that is set once.
pub(crate) struct OnceLock<T> {
    is_set: AtomicBool,
    /// Not read before `is_set` is.
    value: std::sync::OnceLock<T>,
}

impl<T> OnceLock<T> {
    pub(crate) fn new() -> Self {
        OnceLock { is_set: AtomicBool::new(false), value: std::sync::OnceLock::new() }
    }

    pub(crate) fn get(&self) -> Option<&T> {
        self.is_set.load(Ordering::Acquire).then(|| self.value.get().unwrap())
    }

    pub(crate) fn set(&self, value: T) -> Result<(), T> {
        self.value.set(value)?;
        self.is_set.store(true, Ordering::Release);
        Ok(())
    }
}

/// A queue without an end.
#[derive(Default)]
pub(crate) struct SegQueue<T>(Mutex<VecDeque<T>>);

impl<T> SegQueue<T> {
    pub(crate) fn push(&self, value: T) {
        self.0.lock().push_back(value);
    }

    pub(crate) fn pop(&self) -> Option<T> {
        self.0.lock().pop_front()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }
}

#[derive(Default)]
pub(crate) struct Condvar(loom::sync::Condvar);

/// Time does not pass in a model.
pub(crate) struct NeverTimesOut;

impl NeverTimesOut {
    pub(crate) fn timed_out(&self) -> bool {
        false
    }
}

impl Condvar {
    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }

    pub(crate) fn wait<T>(&self, guard: &mut Guard<'_, T>) {
        guard.0 = guard.0.take().map(|g| self.0.wait(g).unwrap());
    }

    pub(crate) fn wait_until<T>(&self, guard: &mut Guard<'_, T>, _: Instant) -> NeverTimesOut {
        self.wait(guard);
        NeverTimesOut
    }
}
