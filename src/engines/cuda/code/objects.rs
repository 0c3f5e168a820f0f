//! Native objects of libraries that outlive one dispatch: plans, generators, analyses.
//!
//! The epoch owns them: every object is on one list and is destroyed once. An [`Object`] is held by its cache and by
//! every dispatch that uses it ([`Enqueue::keep`](crate::op::Enqueue)), so it is dropped only when nothing in flight needs
//! it any more. **Its `Drop` makes no call**; it only queues the object. The housekeeping thread destroys queued
//! objects while nothing is in flight on any stream, because a destructor may wait for the GPU. The end of the epoch
//! destroys those that are left, even if they are still held. Objects of a dead context are not destroyed, only
//! counted.
//!
//! On a device that is never idle, at most [`MOST_LEAVING`] objects wait to be destroyed: beyond that, the thread that
//! makes another one destroys them first.

use crate::core::sync::{Arc, AtomicBool, AtomicU64, Mutex, Ordering};
use crate::engines::cuda::Core;
use crate::engines::cuda::api::Code;
use crate::engines::cuda::housekeeping::Nudge;
use crossbeam_queue::SegQueue;
use std::collections::HashMap;
use std::ops::Deref;

/// The most objects that may wait for the device to be idle.
const MOST_LEAVING: usize = 16;

type Destroy = Box<dyn FnOnce() -> Code + Send>;

/// The objects of one epoch.
pub(crate) struct Objects {
    /// All existing objects, by number, each with its destructor.
    alive: Mutex<HashMap<u64, Destroy>>,
    /// Objects whose last user is gone.
    leaving: SegQueue<u64>,
    /// The epoch is over.
    closed: AtomicBool,
    next: AtomicU64,
    nudge: Arc<Nudge>,
}

/// A native object that the epoch owns. Dereferences to its raw handle.
pub(crate) struct Object<T> {
    raw: T,
    number: u64,
    objects: Arc<Objects>,
}

impl<T> Deref for Object<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.raw
    }
}

impl<T> Drop for Object<T> {
    /// Makes no library call: see the head of this file.
    fn drop(&mut self) {
        if !self.objects.closed.load(Ordering::Acquire) {
            self.objects.leaving.push(self.number);
            self.objects.nudge.nudge();
        }
    }
}

impl Objects {
    pub(crate) fn new(nudge: Arc<Nudge>) -> Self {
        Objects {
            alive: Mutex::default(),
            leaving: SegQueue::new(),
            closed: AtomicBool::new(false),
            next: AtomicU64::new(0),
            nudge,
        }
    }

    fn add<T: Copy + Send + 'static>(
        self: &Arc<Self>,
        raw: T,
        destroy: impl FnOnce(T) -> Code + Send + 'static,
    ) -> Object<T> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.alive.lock().insert(number, Box::new(move || destroy(raw)));
        Object { raw, number, objects: self.clone() }
    }

    /// The number of existing objects.
    pub(crate) fn held(&self) -> usize {
        self.alive.lock().len()
    }

    /// Whether objects wait to be destroyed.
    pub(crate) fn has_leaving(&self) -> bool {
        !self.leaving.is_empty() && !self.closed.load(Ordering::Acquire)
    }

    /// Destroys the objects that wait for it. The context is current, and its end is excluded meanwhile.
    pub(crate) fn destroy_leaving(&self, gone: &mut dyn FnMut(Code)) {
        while let Some(number) = self.leaving.pop() {
            let destroy = self.alive.lock().remove(&number);
            if let Some(destroy) = destroy {
                gone(destroy());
            }
        }
    }

    /// Destroys all objects, at the end of the epoch. The context is current, and the device is idle.
    pub(crate) fn destroy_all(&self, gone: &mut dyn FnMut(Code)) {
        self.closed.store(true, Ordering::Release);
        let all = std::mem::take(&mut *self.alive.lock());
        all.into_values().for_each(|destroy| gone(destroy()));
    }

    /// Abandons all objects without destroying them; returns their number.
    pub(crate) fn forget(&self) -> u64 {
        self.closed.store(true, Ordering::Release);
        std::mem::take(&mut *self.alive.lock()).len() as u64
    }
}

impl Core {
    /// Makes the epoch the owner of `raw`; `destroy` destroys it when its last user is gone. The context is current,
    /// and the epoch alive.
    pub(crate) fn object<T: Copy + Send + 'static>(
        &self,
        raw: T,
        destroy: impl FnOnce(T) -> Code + Send + 'static,
    ) -> Object<T> {
        if self.code.objects().leaving.len() >= MOST_LEAVING {
            self.code.destroy_leaving_objects();
        }
        self.code.objects().add(raw, destroy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects() -> (Arc<Objects>, Arc<Mutex<Vec<u32>>>) {
        (Arc::new(Objects::new(Nudge::idle())), Arc::default())
    }

    fn add(objects: &Arc<Objects>, log: &Arc<Mutex<Vec<u32>>>, raw: u32) -> Object<u32> {
        let log = log.clone();
        objects.add(raw, move |raw| {
            log.lock().push(raw);
            Code(if raw == 7 { 3 } else { 0 })
        })
    }

    #[test]
    fn an_object_is_destroyed_once_and_not_by_its_drop() {
        let (objects, log) = objects();
        let (first, second) = (add(&objects, &log, 1), add(&objects, &log, 2));
        assert_eq!((*first, *second, objects.held()), (1, 2, 2));
        drop(first);
        assert!(log.lock().is_empty() && objects.has_leaving());
        objects.destroy_leaving(&mut |code| assert!(code.is_success()));
        assert_eq!((log.lock().clone(), objects.held()), (vec![1], 1));
        objects.destroy_all(&mut |_| {});
        drop(second);
        assert!(!objects.has_leaving(), "the end of the epoch has destroyed it");
        assert_eq!(*log.lock(), [1, 2]);
    }

    #[test]
    fn those_of_a_dead_context_are_counted_and_left_alone() {
        let (objects, log) = objects();
        let held: Vec<_> = (0..3).map(|raw| add(&objects, &log, raw)).collect();
        assert_eq!(objects.forget(), 3);
        drop(held);
        objects.destroy_leaving(&mut |_| {});
        objects.destroy_all(&mut |_| {});
        assert!(log.lock().is_empty());
    }

    #[test]
    fn what_the_library_refuses_to_destroy_is_told() {
        let (objects, log) = objects();
        drop(add(&objects, &log, 7));
        let mut codes = Vec::new();
        objects.destroy_leaving(&mut |code| codes.push(code));
        assert_eq!(codes, [Code(3)]);
    }
}
