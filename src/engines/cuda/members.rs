//! Streams that are held while a call blocks: never those that others are leased.
//!
//! A member is a slot like any other (a stream, handles and a workspace of its own), but it is held across a whole
//! blocking call, by one helper at a time. Members are made when first needed and numbered behind the ordinary slots.
//!
//! **Race "release against park"**: to take a member or to park the job is one critical section, and so is to give one back
//! and to take the job that gets it; so no job is parked while a member is free.

use super::slot::Slot;
use super::{Core, fault};
use crate::engine::Epoch;
use crate::host::Runnable;
use crate::sync::{Arc, Mutex};
use crate::{Error, Result};
use cudarc::driver::sys::CUstream;
use std::collections::VecDeque;
use std::sync::OnceLock;

/// Calls that may block at a time.
pub(super) const MEMBERS: usize = 2;

/// The members of one epoch.
#[derive(Default)]
pub(crate) struct Members {
    slots: OnceLock<Box<[Slot]>>,
    /// One thread makes them.
    making: Mutex<()>,
    free: Mutex<Free>,
}

struct Free {
    /// Members that nobody holds.
    free: Vec<usize>,
    parked: VecDeque<Arc<dyn Runnable>>,
}

impl Default for Free {
    fn default() -> Self {
        Free { free: (0..MEMBERS).collect(), parked: VecDeque::new() }
    }
}

/// A member that its owner holds; whoever is parked gets it next.
pub(super) struct Member<'c> {
    core: &'c Arc<Core>,
    index: usize,
    pub(super) slot: &'c Slot,
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        self.core.give_up_member(self.index);
    }
}

impl Members {
    /// Those that there are.
    pub(super) fn slots(&self) -> &[Slot] {
        self.slots.get().map_or(&[], |slots| slots)
    }

    /// Takes a free one, or parks the job, which is queued again when one is free.
    fn take_or_park(&self, job: &Arc<dyn Runnable>) -> Option<usize> {
        let mut free = self.free.lock();
        let index = free.free.pop();
        if index.is_none() {
            free.parked.push_back(job.clone());
        }
        index
    }

    /// Gives one back; answers the job that was parked longest.
    fn give_back(&self, index: usize) -> Option<Arc<dyn Runnable>> {
        let mut free = self.free.lock();
        free.free.push(index);
        free.parked.pop_front()
    }
}

impl Core {
    /// A member for `job`. `None`: all are held, and the job was parked; it runs again when one is free.
    pub(super) fn member(self: &Arc<Self>, epoch: &Arc<Epoch>, job: &Arc<dyn Runnable>) -> Result<Option<Member<'_>>> {
        let Some(index) = self.members.take_or_park(job) else { return Ok(None) };
        let slot = self.members_made(epoch).and_then(|slots| {
            slots.get(index).ok_or_else(|| Error::library("the pool of streams is smaller than its count"))
        });
        match slot {
            Ok(slot) => Ok(Some(Member { core: self, index, slot })),
            Err(error) => {
                self.give_up_member(index);
                Err(error)
            }
        }
    }

    fn give_up_member(self: &Arc<Self>, index: usize) {
        if let Some(job) = self.members.give_back(index) {
            self.helpers.push(job);
        }
    }

    fn members_made(self: &Arc<Self>, epoch: &Arc<Epoch>) -> Result<&[Slot]> {
        if let Some(slots) = self.members.slots.get() {
            return Ok(slots);
        }
        let _making = self.members.making.lock();
        if let Some(slots) = self.members.slots.get() {
            return Ok(slots);
        }
        let _inside = self.blockers.enter();
        epoch.go_on()?;
        let _bound = self.bind(epoch)?;
        const NON_BLOCKING: u32 = 1;
        let Some(first) = self.slots.first().map(|slot| &slot.shared) else { return Ok(&[]) };
        let mut slots: Vec<Slot> = Vec::with_capacity(MEMBERS);
        for index in 0..MEMBERS {
            let mut stream: CUstream = std::ptr::null_mut();
            // SAFETY: `stream` is valid for the write; the context is current.
            let code = unsafe { self.context.api.stream_create(&mut stream, NON_BLOCKING) };
            if let Err(code) = code.ok() {
                for slot in &slots {
                    // SAFETY: made above, never used.
                    let _ = unsafe { self.context.api.stream_destroy(slot.lease.lock().stream.0) };
                }
                return Err(fault::classify(epoch, code, "cuStreamCreate"));
            }
            let (context, life) = (first.context.clone(), first.life.clone());
            let slot =
                Slot::new(self.slots.len() + index, stream, context, life, first.epoch.clone(), first.reclaim.clone());
            let _ = slot.shared.core.set(Arc::downgrade(self));
            slots.push(slot);
        }
        Ok(self.members.slots.get_or_init(|| slots.into_boxed_slice()))
    }

    /// Every slot that there is: the ordinary ones, then the members.
    pub(super) fn all_slots(&self) -> impl Iterator<Item = &Slot> + Clone {
        self.slots.iter().chain(self.members.slots())
    }

    /// The slot of that number.
    #[inline]
    pub(super) fn slot(&self, index: usize) -> Option<&Slot> {
        self.slots.get(index).or_else(|| self.members.slots().get(index.checked_sub(self.slots.len())?))
    }
}
