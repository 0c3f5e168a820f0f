//! Which objects of the library an analysis and its factors have.

use super::system::Made;
use crate::core::device_info::DeviceKind;
use crate::core::element::DType;
use crate::core::sync::{Arc, AtomicBool, AtomicUsize, Mutex, Ordering};
use crate::device::Device;
use std::fmt::{Debug, Formatter, Result};
use std::ops::Deref;

/// The system of an analysis that no factor has: at most one, as it keeps the memory of the factor that it had.
#[derive(Default)]
pub(in super::super) struct Systems(Mutex<Option<Made>>);

/// The system of a factor. The analysis gets it back when the factor is gone and its last solution is enqueued: all work of the library
/// is in order, so the next factorization follows that solution.
pub(in super::super) struct Held {
    systems: Arc<Systems>,
    pub(super) made: Mutex<Option<Made>>,
    /// Solutions that were submitted and are not enqueued yet.
    waiting: AtomicUsize,
    /// The factor is gone.
    left: AtomicBool,
}

/// What the factor has of its system.
pub(in super::super) struct Owner(Arc<Held>);

/// What a solution has of the system, until it is enqueued or dropped.
pub(in super::super) struct Use {
    held: Arc<Held>,
    counted: AtomicBool,
}

impl Systems {
    /// Where the systems of an analysis on this device are kept; a host device has none.
    pub(in super::super) fn of(device: &Device) -> Option<Arc<Self>> {
        (device.kind() == DeviceKind::Cuda).then(Arc::default)
    }

    /// A place for the system of one factor.
    pub(in super::super) fn place(self: &Arc<Self>) -> Owner {
        let (made, waiting, left) = (Mutex::default(), AtomicUsize::new(0), AtomicBool::new(false));
        Owner(Arc::new(Held { systems: self.clone(), made, waiting, left }))
    }

    pub(super) fn keep(&self, made: Made) {
        let before = self.0.lock().replace(made);
        // Not under the lock.
        drop(before);
    }
}

impl Held {
    /// The system that waits for a factor, if it is one of these values: an analysis serves all types.
    pub(super) fn take(&self, dtype: DType) -> Option<Made> {
        self.systems.0.lock().take_if(|made| made.dtype() == dtype)
    }

    /// Gives a system back that has no factor.
    pub(super) fn give_back(&self, made: Made) {
        self.systems.keep(made);
    }

    /// The system with its factor.
    pub(super) fn set(&self, made: Made) {
        *self.made.lock() = Some(made);
        self.settle();
    }

    /// Gives the system back if nobody needs the factor any more. (`SeqCst`: of the last solution and the factor's end one sees the
    /// other.)
    fn settle(&self) {
        if self.left.load(Ordering::SeqCst) && self.waiting.load(Ordering::SeqCst) == 0 {
            let made = self.made.lock().take();
            if let Some(made) = made {
                self.systems.keep(made);
            }
        }
    }
}

impl Owner {
    pub(in super::super) fn held(&self) -> Arc<Held> {
        self.0.clone()
    }

    /// For a solution.
    pub(in super::super) fn share(&self) -> Use {
        self.0.waiting.fetch_add(1, Ordering::SeqCst);
        Use { held: self.0.clone(), counted: AtomicBool::new(true) }
    }
}

impl Drop for Owner {
    /// Makes no library call.
    fn drop(&mut self) {
        self.0.left.store(true, Ordering::SeqCst);
        self.0.settle();
    }
}

impl Use {
    /// The solution is enqueued.
    pub(super) fn end(&self) {
        if self.counted.swap(false, Ordering::SeqCst) {
            self.held.waiting.fetch_sub(1, Ordering::SeqCst);
            self.held.settle();
        }
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        self.end();
    }
}

impl Deref for Use {
    type Target = Held;
    fn deref(&self) -> &Held {
        &self.held
    }
}

impl Debug for Systems {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "Systems({})", usize::from(self.0.lock().is_some()))
    }
}

impl Debug for Owner {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "Owner({} waiting)", self.0.waiting.load(Ordering::Relaxed))
    }
}
