//! What a dispatch must follow: used in steps 3 and 4 of `device/dispatch/mod.rs`.
//!
//! All marks in the history of a region are of slots of the region's own device: a dispatch over several devices has an
//! end on each. So only the number of the slot is kept. To clone and drop the mark's `Arc` of its slot would cost two
//! locked instructions, on every operand of every dispatch.

use super::Streams;
use super::slot::{Slot, SlotMark, State};
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::order::late::Added;
use crate::core::order::{Completion, EventHandle, Late, Mark};
use crate::core::sync::{Arc, Ordering};
use crate::engines::cuda::Native;
use crate::engines::cuda::api::Code;
use crate::engines::cuda::context::fault;
use crate::engines::cuda::dispatch::DeviceOperands;
use smallvec::SmallVec;

/// The end of an earlier dispatch that was not known to have completed when it was checked.
#[derive(Clone, Copy)]
pub(crate) struct Follow {
    /// The number of its slot.
    slot: usize,
    ticket: u64,
    /// `None`: the ticket is open, see `ring.rs`.
    event: Option<EventHandle>,
}

/// All that one dispatch must follow, writers first.
pub(crate) type Follows = SmallVec<[Follow; 6]>;

impl Follow {
    #[inline]
    fn from_mark(mark: &Mark) -> Self {
        Follow { slot: mark.stream.number, ticket: mark.ticket, event: mark.event }
    }

    /// Its slot.
    pub(crate) fn slot<'c>(&self, streams: &'c Streams) -> Option<&'c Slot> {
        streams.slot(self.slot)
    }

    fn is_past(&self, streams: &Streams) -> bool {
        self.slot(streams).is_none_or(|slot| slot.stream.sequence.reached(self.ticket))
    }

    /// Nothing was enqueued after it on its slot.
    pub(crate) fn is_last(&self, streams: &Streams) -> bool {
        self.slot(streams).is_some_and(|slot| self.ticket >= slot.stream.sequence.issued())
    }

    /// Work that follows this end also follows `mark`.
    fn covers(&self, mark: &Mark) -> bool {
        self.slot == mark.stream.number && self.ticket >= mark.ticket
    }

    /// Its ticket has no event yet, and its slot is not the one numbered `leased`.
    pub(crate) fn must_be_closed(&self, leased: usize) -> bool {
        self.event.is_none() && self.slot != leased
    }
}

impl SlotMark {
    /// For a dispatch that follows it.
    pub(crate) fn followed(&self) -> Follow {
        Follow { slot: self.slot.index, ticket: self.ticket, event: self.event.and_then(Native::handle) }
    }
}

impl Streams {
    /// Collects what this work must follow and is not known to have completed. False: this work cannot be enqueued here
    /// and now, because some of that is not enqueued yet, or failed to write data that this work needs
    /// (`late_submit.rs`).
    #[inline(always)]
    pub(crate) fn gather(&self, s: DeviceOperands<'_, '_>, follows: &mut Follows) -> bool {
        let (reads, writes) = s.views.split_at(s.read_count.min(s.views.len()));
        let mut known = true;
        for view in writes {
            let heals = !view.needs_contents();
            let mut add = |end, heals: bool| {
                known &= match self.add(end, follows) {
                    Added::Followed => true,
                    Added::Failed => heals,
                    Added::Coming => false,
                }
            };
            // SAFETY: dropped before the next one is made; `publish` makes its own after the op's half.
            let track = unsafe { view.history() };
            track.writers.iter().for_each(|end| add(end, heals));
            track.readers.iter().for_each(|end| add(end, true));
        }
        for view in reads {
            if view.region.writers_done.load(Ordering::Acquire) {
                continue;
            }
            let track = view.region.history.lock();
            track.writers.iter().for_each(|end| known &= self.add(end, follows) == Added::Followed);
            if track.writers.iter().all(Completion::is_spent) {
                view.region.writers_done.store(true, Ordering::Release);
            }
        }
        known
    }

    /// Whether it has completed; asks the driver if necessary.
    pub(crate) fn poll(&self, end: &Completion) -> bool {
        let poll = |mark: &Mark| {
            let slot = self.slot(mark.stream.number).filter(|slot| Arc::ptr_eq(&slot.stream, &mark.stream));
            mark.is_past() || slot.is_some_and(|s| s.shared.poll(mark.ticket, mark.event.map(Native::of_handle)))
        };
        match end {
            Completion::Cuda(mark) => poll(mark),
            Completion::Late(late) => late.all(poll),
            _ => end.is_past(),
        }
    }

    /// Adds the marks where `end` ends on the device, as far as they are known.
    #[inline]
    pub(crate) fn add(&self, end: &Completion, follows: &mut Follows) -> Added {
        match end {
            Completion::Cuda(mark) => {
                if !mark.is_past() {
                    follows.push(Follow::from_mark(mark));
                }
                Added::Followed
            }
            Completion::Late(late) => self.add_late(late, follows),
            _ => Added::Followed,
        }
    }

    #[cold]
    fn add_late(&self, late: &Late, follows: &mut Follows) -> Added {
        late.follow(|mark| {
            if !mark.is_past() {
                follows.push(Follow::from_mark(mark));
            }
        })
    }

    /// Whether the work that ends with `end` is ordered after `earlier`: both are on one stream, or the work was made
    /// to follow `earlier`, or `earlier` has completed. Call under the lease of `end`'s slot, before anything is
    /// enqueued after `end`.
    #[inline]
    pub(crate) fn is_followed(&self, earlier: &Completion, follows: &Follows, end: &Completion) -> bool {
        match (earlier, end) {
            (Completion::Cuda(mark), Completion::Cuda(end)) => self.is_mark_followed(mark, follows, end),
            (Completion::Late(late), Completion::Cuda(end)) => {
                late.all(|mark| self.is_mark_followed(mark, follows, end))
            }
            _ => earlier.is_past(),
        }
    }

    #[inline]
    fn is_mark_followed(&self, mark: &Mark, follows: &Follows, end: &Mark) -> bool {
        mark.same_stream(end) || mark.is_past() || follows.iter().any(|follow| follow.covers(mark))
    }

    /// The marks in `follows` that are on other slots than the one numbered `own` and are not known to have completed.
    #[cfg(target_os = "linux")]
    pub(crate) fn ahead(&self, follows: &Follows, own: usize) -> Vec<SlotMark> {
        let mark = |follow: &Follow| {
            let slot = follow.slot(self).filter(|_| follow.slot != own)?.shared.clone();
            Some(SlotMark { slot, ticket: follow.ticket, event: follow.event.map(Native::of_handle) })
        };
        follows.iter().filter(|follow| !follow.is_past(self)).filter_map(mark).collect()
    }

    /// Finds for each open ticket an event whose completion implies that of the ticket. Records one if there is none
    /// yet.
    #[cold]
    pub(crate) fn close_open(&self, epoch: &Arc<Epoch>, follows: &mut Follows) -> Result<()> {
        for follow in follows.iter_mut().filter(|f| f.event.is_none()) {
            let Some(slot) = follow.slot(self) else { continue };
            let mut state = slot.lease.lock();
            epoch.go_on()?;
            if follow.is_past(self) {
                continue;
            }
            let known = state.ring.answering(follow.ticket);
            let (ticket, event) = match known {
                Some((ticket, event)) => (ticket, event),
                None => {
                    let _bound = self.bind(epoch)?;
                    let (ticket, event, code) = state.record(&slot.shared);
                    state.ring.push(ticket, event, None);
                    match event {
                        Some(event) => (ticket, event),
                        None => return Err(fault::classify(epoch, code, "cuEventRecord")),
                    }
                }
            };
            (follow.ticket, follow.event) = (ticket, event.handle());
        }
        Ok(())
    }

    /// Makes the stream wait for what is on other streams and not known to have completed. Waits once for each other
    /// stream, for its latest ticket.
    #[inline(always)]
    pub(crate) fn follow(&self, epoch: &Arc<Epoch>, follows: &Follows, own: usize, state: &mut State) -> Result<()> {
        for (i, follow) in follows.iter().enumerate() {
            let later = |other: &Follow| other.slot == follow.slot && other.ticket > follow.ticket;
            if follow.slot == own || follow.is_past(self) || follows.iter().any(later) {
                continue;
            }
            if follows.iter().take(i).any(|f| f.slot == follow.slot && f.ticket == follow.ticket) {
                continue;
            }
            if state.follows(follow.slot, follow.ticket) {
                continue;
            }
            let Some(event) = follow.event.map(Native::of_handle) else {
                return Err(Error::library("an earlier operation's completion could not be recorded"));
            };
            // SAFETY: the event lives until the end of its epoch. That end takes the lease that we hold. The context is
            // current.
            unsafe { self.context.api.stream_wait_event(state.stream.0, event.0, 0) }
                .ok()
                .map_err(|code: Code| fault::classify(epoch, code, "cuStreamWaitEvent"))?;
            self.counters.forced_waits.fetch_add(1, Ordering::Relaxed);
            state.now_follows(follow.slot, follow.ticket);
        }
        Ok(())
    }
}
