//! A window of an allocation with its own ordering state.

use super::access_history::AccessHistory;
use super::allocation::Allocation;
use super::handles::Handles;
use super::init_state::{InitCell, InitState};
use crate::engine::{Completion, Epoch};
#[cfg(feature = "cuda")]
use crate::sync::AtomicBool;
use crate::sync::{Arc, Mutex, RwLock};
use std::ops::Range;

/// What handles and operands share. `window` counts elements of the handle's type from the allocation's beginning.
#[derive(Debug)]
pub(crate) struct Region {
    pub(crate) allocation: Arc<Allocation>,
    pub(crate) epoch: Arc<Epoch>,
    pub(crate) handles: Handles,
    pub(crate) init: InitCell,
    pub(crate) history: Mutex<AccessHistory>,
    /// The last writers of the history are known to be over. Set and cleared under its lock, read without: a reader that finds
    /// it set has nothing to follow. Whoever may read was told of the last write by who submitted it, so he sees that
    /// write's "no" or what came after it.
    #[cfg(feature = "cuda")]
    pub(crate) writers_done: AtomicBool,
    pub(crate) window: Range<usize>,
    /// Of what has no one owner: held from the look at the track until the completion is published, by writers alone.
    /// Taken before any lease.
    pub(crate) gate: Option<Box<RwLock<()>>>,
}

impl Region {
    pub(crate) fn new(
        allocation: Arc<Allocation>,
        epoch: Arc<Epoch>,
        state: InitState,
        history: AccessHistory,
        window: Range<usize>,
    ) -> Arc<Self> {
        allocation.add_region();
        let (handles, init, history) = (Handles::one(), InitCell::new(state), Mutex::new(history));
        Arc::new(Region {
            allocation,
            epoch,
            handles,
            init,
            history,
            #[cfg(feature = "cuda")]
            writers_done: AtomicBool::new(false),
            window,
            gate: None,
        })
    }
}

impl Region {
    /// What a part of it starts from, or a whole that it becomes part of.
    ///
    /// In a worker, whoever first uses the new region has it cut out of the old ones, and what was sent for those must
    /// have found them by then: readers as well.
    pub(super) fn legacy(&self) -> AccessHistory {
        #[cfg_attr(not(target_os = "linux"), expect(unused_mut, reason = "no workers"))]
        let mut history = self.history.lock().clone();
        #[cfg(target_os = "linux")]
        if self.allocation.is_remote() {
            history.harden();
        }
        history
    }
}

#[cfg(feature = "cuda")]
impl Region {
    /// Of no bytes, and of no one owner.
    pub(super) fn gated(allocation: Arc<Allocation>, epoch: Arc<Epoch>) -> Arc<Self> {
        allocation.add_region();
        let (handles, init, history) = (Handles::one(), InitCell::new(InitState::Valid), Mutex::default());
        let (writers_done, gate) = (AtomicBool::new(false), Some(Box::default()));
        Arc::new(Region { allocation, epoch, handles, init, history, writers_done, window: 0..0, gate })
    }
}

impl Region {
    /// What it holds, also after writers that were enqueued late.
    #[inline]
    pub(crate) fn init_state(&self) -> InitState {
        match self.init.get() {
            InitState::Late => self.late_state(),
            content => content,
        }
    }

    /// With what the writer failed, where it did.
    #[cold]
    pub(crate) fn failure(&self) -> Option<crate::Error> {
        match self.init.get() {
            InitState::Late => self.history.lock().writers.iter().find_map(Completion::late_error),
            _ => self.init.why().map(|why| (*why).clone()),
        }
    }

    #[cold]
    fn late_state(&self) -> InitState {
        let failed = self.history.lock().writers.iter().any(Completion::has_failed_late);
        if failed { InitState::Failed } else { InitState::Valid }
    }
}

impl Drop for Region {
    /// No driver call and no wait: what is in flight is handed over with the allocation.
    fn drop(&mut self) {
        let track = std::mem::take(self.history.get_mut());
        self.allocation.end_region(track);
    }
}
