//! A window of an allocation with its own ordering state.

use super::allocation::Allocation;
use super::handles::Handles;
use super::init_state::{InitCell, InitState};
use crate::core::epoch::Epoch;
use crate::core::order::{AccessHistory, Completion};
#[cfg(feature = "cuda")]
use crate::core::sync::AtomicBool;
use crate::core::sync::{Arc, Mutex, RwLock};
use std::ops::Range;

/// The state that handles and operands share. `window` is in bytes, from the beginning of the allocation: handles of one
/// region may have elements of different sizes, as those of complex numbers and of their parts.
#[derive(Debug)]
pub(crate) struct Region {
    pub(crate) allocation: Arc<Allocation>,
    pub(crate) epoch: Arc<Epoch>,
    pub(crate) handles: Handles,
    pub(crate) init: InitCell,
    pub(crate) history: Mutex<AccessHistory>,
    /// The last writers in `history` are known to have completed. Stored under the lock of `history`, loaded without
    /// it: a reader that finds it set has nothing to follow. A thread that may read the buffer has synchronized with
    /// the thread that submitted the last write. So it sees the `false` that this write stored, or a later value.
    #[cfg(feature = "cuda")]
    pub(crate) writers_done: AtomicBool,
    pub(crate) window: Range<usize>,
    /// Only for a region without a single owner. A submission holds it from reading `history` until its completion is
    /// published: readers shared, writers exclusively. Taken before any lease.
    pub(crate) gate: Option<Box<RwLock<()>>>,
    /// See `capture.rs`.
    pub(super) is_capture: bool,
}

impl Region {
    pub(crate) fn new(
        allocation: Arc<Allocation>,
        epoch: Arc<Epoch>,
        state: InitState,
        history: AccessHistory,
        window: Range<usize>,
    ) -> Arc<Self> {
        Arc::new(Self::unshared(allocation, epoch, state, history, window))
    }

    fn unshared(
        allocation: Arc<Allocation>,
        epoch: Arc<Epoch>,
        state: InitState,
        history: AccessHistory,
        window: Range<usize>,
    ) -> Self {
        allocation.add_region();
        let (handles, init, history) = (Handles::one(), InitCell::new(state), Mutex::new(history));
        Region {
            allocation,
            epoch,
            handles,
            init,
            history,
            #[cfg(feature = "cuda")]
            writers_done: AtomicBool::new(false),
            window,
            gate: None,
            is_capture: false,
        }
    }
}

impl Region {
    /// The history that a part of this region starts with, or a whole that it is joined into.
    ///
    /// In a worker, the first order that uses the new region cuts it out of the old ones. Orders that were sent earlier
    /// for the old regions must have found them by then. So the new region follows the readers as well.
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

impl Region {
    /// A capture: `window` of `of`'s allocation, with the contents of `of`.
    pub(super) fn captured(of: &Region, window: Range<usize>, history: AccessHistory) -> Arc<Self> {
        let (allocation, epoch) = (of.allocation.clone(), of.epoch.clone());
        let mut region = Self::unshared(allocation, epoch, of.init.get(), history, window);
        (region.gate, region.is_capture) = (Some(Box::default()), true);
        region.init.fails_by(of.init.why());
        region.init.inherit(&of.init);
        Arc::new(region)
    }

    /// A region of no bytes, without a single owner.
    #[cfg(feature = "cuda")]
    pub(super) fn token(allocation: Arc<Allocation>, epoch: Arc<Epoch>) -> Arc<Self> {
        let mut region = Self::unshared(allocation, epoch, InitState::Valid, AccessHistory::default(), 0..0);
        region.gate = Some(Box::default());
        Arc::new(region)
    }
}

impl Region {
    /// The state of its contents. For [`InitState::Late`], the completions of the writers decide.
    #[inline]
    pub(crate) fn init_state(&self) -> InitState {
        match self.init.get() {
            InitState::Late => self.late_state(),
            content => content,
        }
    }

    /// The error of the writer, if it failed.
    #[cold]
    pub(crate) fn failure(&self) -> Option<crate::core::error::Error> {
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
    /// Makes no driver call and does not wait: what is in flight is handed over to the allocation.
    fn drop(&mut self) {
        let track = std::mem::take(self.history.get_mut());
        self.allocation.end_region(track);
    }
}
