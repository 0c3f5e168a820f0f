//! A window of an allocation with its own ordering state.

use super::allocation::Allocation;
use super::content::{Content, Worth};
use super::handles::Handles;
use super::track::Track;
use crate::engine::Epoch;
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
        Arc::new(Region { allocation, epoch, handles, worth, track, window, gate: None })
    }
}

#[cfg(feature = "cuda")]
impl Region {
    /// Of no bytes, and of no one owner.
    pub(super) fn gated(allocation: Arc<Allocation>, epoch: Arc<Epoch>) -> Arc<Self> {
        allocation.add_region();
        let (handles, worth, track) = (Handles::one(), Worth::new(Content::Valid), Mutex::default());
        Arc::new(Region { allocation, epoch, handles, worth, track, window: 0..0, gate: Some(Box::default()) })
    }
}

impl Drop for Region {
    /// No driver call and no wait: what is in flight is handed over with the allocation.
    fn drop(&mut self) {
        let track = std::mem::take(self.track.get_mut());
        self.allocation.end_region(track);
    }
}
