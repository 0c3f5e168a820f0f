//! Native objects of libraries that outlive one dispatch: plans, generators, analyses.
//!
//! The epoch owns them: whatever was made is on one list, and is destroyed once. An [`Object`] is held by its cache and by
//! every dispatch that uses it ([`Enqueue::keep`](crate::Enqueue)), so its `Drop` comes when nothing in flight needs it any
//! more; **it makes no call**, it only queues, and the housekeeping thread destroys while nothing is in flight on any
//! stream, for a destructor may wait for the GPU. The end of the epoch destroys those that are left, whoever still holds
//! them. Those of a context that is dead are left alone and counted.
//!
//! On a device that is never idle [`MOST_LEAVING`] at most wait to be destroyed: past that, whoever makes another destroys
//! them first.

use super::Code;
use crate::cuda::{Core, Nudge};
use crate::sync::{Arc, AtomicBool, AtomicU64, Mutex, Ordering};
use crossbeam_queue::SegQueue;
use std::collections::HashMap;
use std::ops::Deref;

/// Objects that may wait for an idle moment of the device.
const MOST_LEAVING: usize = 16;

type Destroy = Box<dyn FnOnce() -> Code + Send>;

/// The objects of one epoch.
pub(crate) struct Objects {
    /// All that there are, by number, each with its destructor.
    alive: Mutex<HashMap<u64, Destroy>>,
    /// Those whose last user is gone.
    leaving: SegQueue<u64>,
    /// The epoch is over.
    closed: AtomicBool,
    next: AtomicU64,
    nudge: Arc<Nudge>,
}

/// A native object that the epoch owns. Gives its raw handle.
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
    /// No call of the library: see the head of this file.
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

    /// How many there are.
    pub(crate) fn held(&self) -> usize {
        self.alive.lock().len()
    }

    /// Some wait to be destroyed.
    pub(crate) fn has_leaving(&self) -> bool {
        !self.leaving.is_empty() && !self.closed.load(Ordering::Acquire)
    }

    /// Destroys those that wait for it. The context is current, and its end excluded.
    pub(crate) fn destroy_leaving(&self, gone: &mut dyn FnMut(Code)) {
        while let Some(number) = self.leaving.pop() {
            let destroy = self.alive.lock().remove(&number);
            if let Some(destroy) = destroy {
                gone(destroy());
            }
        }
    }

    /// Destroys all, at the end of the epoch. The context is current, and all is idle.
    pub(crate) fn destroy_all(&self, gone: &mut dyn FnMut(Code)) {
        self.closed.store(true, Ordering::Release);
        let all = std::mem::take(&mut *self.alive.lock());
        all.into_values().for_each(|destroy| gone(destroy()));
    }

    /// Leaves all of them alone from now on: how many they were.
    pub(crate) fn forget(&self) -> u64 {
        self.closed.store(true, Ordering::Release);
        std::mem::take(&mut *self.alive.lock()).len() as u64
    }
}

impl Core {
    /// The epoch owns `raw` from now on, which `destroy` destroys when its last user is gone. The context is current, and
    /// the epoch alive.
    pub(crate) fn object<T: Copy + Send + 'static>(
        &self,
        raw: T,
        destroy: impl FnOnce(T) -> Code + Send + 'static,
    ) -> Object<T> {
        if self.objects.leaving.len() >= MOST_LEAVING {
            self.destroy_leaving_objects();
        }
        self.objects.add(raw, destroy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects() -> (Arc<Objects>, Arc<Mutex<Vec<u32>>>) {
        (Arc::new(Objects::new(crate::cuda::Nudge::idle())), Arc::default())
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
