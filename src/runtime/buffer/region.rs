//! A window of an allocation with its own ordering state.

use super::allocation::Allocation;
use super::content::{Content, Worth};
use super::handles::Handles;
use super::track::Track;
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
    pub(crate) worth: Worth,
    pub(crate) track: Mutex<Track>,
    /// The writers of the track are known to be over. Set and cleared under its lock, read without: a reader that finds
    /// it set has nothing to follow. Whoever may read was told of the last write by who submitted it, so he sees that
    /// write's "no" or what came after it.
    #[cfg(feature = "cuda")]
    pub(crate) calm: AtomicBool,
    pub(crate) window: Range<usize>,
    /// Of what has no one owner: held from the look at the track until the completion is published, by writers alone.
    /// Taken before any lease.
    pub(crate) gate: Option<Box<RwLock<()>>>,
}

impl Region {
    pub(crate) fn new(
        allocation: Arc<Allocation>,
        epoch: Arc<Epoch>,
        content: Content,
        track: Track,
        window: Range<usize>,
    ) -> Arc<Self> {
        allocation.add_region();
        let (handles, worth, track) = (Handles::one(), Worth::new(content), Mutex::new(track));
        Arc::new(Region {
            allocation,
            epoch,
            handles,
            worth,
            track,
            #[cfg(feature = "cuda")]
            calm: AtomicBool::new(false),
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
    pub(super) fn legacy(&self) -> Track {
        #[cfg_attr(not(target_os = "linux"), expect(unused_mut, reason = "no workers"))]
        let mut track = self.track.lock().clone();
        #[cfg(target_os = "linux")]
        if self.allocation.is_remote() {
            track.harden();
        }
        track
    }
}

#[cfg(feature = "cuda")]
impl Region {
    /// Of no bytes, and of no one owner.
    pub(super) fn gated(allocation: Arc<Allocation>, epoch: Arc<Epoch>) -> Arc<Self> {
        allocation.add_region();
        let (handles, worth, track) = (Handles::one(), Worth::new(Content::Valid), Mutex::default());
        let (calm, gate) = (AtomicBool::new(false), Some(Box::default()));
        Arc::new(Region { allocation, epoch, handles, worth, track, calm, window: 0..0, gate })
    }
}

impl Region {
    /// What it holds, also after writers that were enqueued late.
    #[inline]
    pub(crate) fn content(&self) -> Content {
        match self.worth.get() {
            Content::Late => self.late_content(),
            content => content,
        }
    }

    /// With what the writer failed, where it did.
    #[cold]
    pub(crate) fn failure(&self) -> Option<crate::Error> {
        match self.worth.get() {
            Content::Late => self.track.lock().writers.iter().find_map(Completion::late_error),
            _ => self.worth.why().map(|why| (*why).clone()),
        }
    }

    #[cold]
    fn late_content(&self) -> Content {
        let failed = self.track.lock().writers.iter().any(Completion::has_failed_late);
        if failed { Content::Failed } else { Content::Valid }
    }
}

impl Drop for Region {
    /// No driver call and no wait: what is in flight is handed over with the allocation.
    fn drop(&mut self) {
        let track = std::mem::take(self.track.get_mut());
        self.allocation.end_region(track);
    }
}
