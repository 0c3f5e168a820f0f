//! What an order follows on other lanes, as the client keeps it.
//!
//! The orders of one lane are carried out in the order in which they were written; those of different lanes are not
//! ordered by themselves. So each buffer remembers the last orders that used it (in its region's history, as on every
//! engine), and an order names those that must be carried out before it. **Carried out** means submitted to the
//! worker's device, which orders the work itself from there on. It does not mean that the work is done.

use crate::core::buffer::View;
use crate::core::order::{Completion, LaneOrder};
use smallvec::SmallVec;

/// Lanes of a worker.
pub(crate) const LANES: usize = 16;

/// The orders that must be carried out before an order: the last one of each lane.
#[derive(Default)]
pub(crate) struct Follows([u64; LANES]);

/// The same in a frame: the lane in the upper byte, the number below.
pub(crate) type After = SmallVec<[u64; LANES]>;

impl Follows {
    /// What an operation follows: a read follows the writers of its buffer, a write follows the readers as well.
    pub(crate) fn gather(views: &[View<'_>], read_count: usize) -> Self {
        let mut follows = Follows::default();
        for (i, view) in views.iter().enumerate() {
            let track = view.region.history.lock();
            let readers: &[Completion] = if i < read_count { &[] } else { &track.readers };
            track.writers.iter().chain(readers).for_each(|c| follows.add(c));
        }
        follows
    }

    fn add(&mut self, completion: &Completion) {
        if let Completion::Order(order) = completion
            && let Some(last) = self.0.get_mut(order.progress.lane)
        {
            *last = order.number.max(*last);
        }
    }

    fn covers(&self, completion: &Completion) -> bool {
        match completion {
            Completion::Order(order) => self.0.get(order.progress.lane).is_some_and(|last| *last >= order.number),
            _ => true,
        }
    }

    /// Publishes the order to the buffers that it uses. Called only after the order was sent, so that any order found
    /// in a buffer is one that the worker will reach.
    pub(crate) fn publish(mut self, views: &[View<'_>], read_count: usize, order: LaneOrder) {
        let completion = Completion::Order(order);
        // It also follows all earlier orders of its own lane.
        self.add(&completion);
        for (i, view) in views.iter().enumerate() {
            let mut track = view.region.history.lock();
            if i < read_count {
                track.publish_read(&completion);
            } else if view.is_part() {
                track.publish_part(&completion);
            } else {
                track.publish_write_beside(&completion, |c| self.covers(c));
            }
        }
    }

    /// The orders of lanes other than `own` that are not known to have been carried out.
    pub(crate) fn ahead(&self, own: usize, carried: impl Fn(usize) -> u64) -> After {
        let lanes = self.0.iter().enumerate();
        lanes
            .filter(|(lane, last)| *lane != own && **last > carried(*lane))
            .map(|(lane, last)| pack(lane, *last))
            .collect()
    }
}

pub(crate) fn pack(lane: usize, number: u64) -> u64 {
    (lane as u64) << 56 | number
}

/// Lane and number.
pub(crate) fn unpack(word: u64) -> (usize, u64) {
    ((word >> 56) as usize, word & ((1 << 56) - 1))
}
