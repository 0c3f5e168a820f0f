//! Streams that are held instead of an ordinary slot: during a call that blocks, or because a library's handle is bound
//! to them.
//!
//! A member is a slot like any other (a stream, handles and a workspace of its own), but it belongs to a pool and is
//! taken from there. One pool is for blocking calls of libraries that have a handle per slot. Each library that asks
//! for a pool has its own, and so have programs. Members are made when first needed, and are numbered after the
//! ordinary slots.
//!
//! **Race "release against park"**: taking a member or parking the job is one critical section. Giving one back and
//! taking out the job that gets it is another. So no job is parked while a member is free (`turns.rs`).

use super::Streams;
use super::follow::Follows;
use super::lease::Lease;
use super::slot::Slot;
use super::turns::Turns;
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::op::OpKind;
use crate::core::order::Runnable;
use crate::core::sync::{Arc, Mutex};
use crate::engines::cuda::context::fault;
use crate::engines::ffi::{Entry, Placement};
use crate::engines::op::Facts;
use cudarc::driver::sys::CUstream;
use std::ops::Range;
use std::sync::OnceLock;

/// How many calls of libraries without a pool of their own may block at a time.
const BLOCKING: usize = 2;

/// Streams on which programs are replayed. A program always uses the same one: the library workspaces of that stream
/// are part of its graphs.
const SEATS: usize = 4;
/// The name of the pool of seats.
const PROGRAMS: &str = "program";

/// The members of one pool.
pub(crate) struct Pool {
    /// The library that owns the pool; `None`: the pool for blocking calls.
    library: Option<&'static str>,
    /// The slot numbers of its members.
    numbers: Range<usize>,
    slots: OnceLock<Box<[Slot]>>,
    /// Held while the members are made: one thread makes them.
    making: Mutex<()>,
    turns: Turns<Arc<dyn Runnable>>,
}

/// A member, held until this is dropped. Then a parked job gets it.
pub(crate) struct Member<'c> {
    streams: &'c Streams,
    pool: &'c Pool,
    index: usize,
    pub(crate) slot: &'c Slot,
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        self.streams.give_up_member(self.pool, self.index);
    }
}

impl Pool {
    /// All pools of a device with `slots` ordinary slots.
    pub(crate) fn all(slots: usize, libraries: &[Entry]) -> Box<[Pool]> {
        let of_library = |entry: &Entry| match entry.native.as_ref()?.placement {
            Placement::Pool(size) => Some((Some(entry.name), size.max(1))),
            _ => None,
        };
        let mut next = slots;
        let sizes = std::iter::once((None, BLOCKING)).chain(libraries.iter().filter_map(of_library));
        let sizes = sizes.chain(std::iter::once((Some(PROGRAMS), SEATS)));
        let make = |(library, size): (Option<&'static str>, usize)| {
            let numbers = next..next + size;
            next = numbers.end;
            Pool { library, numbers, slots: OnceLock::new(), making: Mutex::new(()), turns: Turns::new(size) }
        };
        sizes.map(make).collect()
    }

    /// The number of members, including those not made yet.
    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// How many helper threads its work may occupy at a time.
    pub(crate) fn helpers(&self) -> usize {
        if self.library == Some(PROGRAMS) { 0 } else { self.numbers.len() }
    }

    /// The members that have been made.
    fn slots(&self) -> &[Slot] {
        self.slots.get().map_or(&[], |slots| slots)
    }
}

impl Streams {
    /// The pool for an op's work; `None`: the work uses the ordinary slots.
    pub(crate) fn pool_of(&self, op: &Facts) -> Option<&Pool> {
        let name = op.pooled.then_some(op.library);
        let own = self.pools.iter().find(|pool| name.is_some() && pool.library == name);
        own.or_else(|| self.pools.first().filter(|_| op.kind != OpKind::Enqueue))
    }

    /// Returns a member for `job`. `None`: all are held and the job was parked; it runs again when a member is free.
    pub(crate) fn member<'c>(
        &'c self,
        pool: &'c Pool,
        epoch: &Arc<Epoch>,
        job: &Arc<dyn Runnable>,
    ) -> Result<Option<Member<'c>>> {
        let Some(index) = pool.turns.take_or_park(job) else { return Ok(None) };
        let slot = self.members_made(pool, epoch).and_then(|slots| {
            slots
                .get(index)
                .ok_or_else(|| Error::library("internal error: the index of a stream is outside of its pool"))
        });
        match slot {
            Ok(slot) => Ok(Some(Member { streams: self, pool, index, slot })),
            Err(error) => {
                self.give_up_member(pool, index);
                Err(error)
            }
        }
    }

    fn seats(&self) -> Option<&Pool> {
        self.pools.iter().find(|pool| pool.library == Some(PROGRAMS))
    }

    /// Whether programs are replayed on this slot.
    pub(crate) fn is_seat(&self, index: usize) -> bool {
        self.seats().is_some_and(|pool| pool.numbers.contains(&index))
    }

    /// Leases a program's seat. On return, each predecessor on another slot has an event.
    pub(crate) fn hold_seat(&self, seat: u8, epoch: &Arc<Epoch>, follows: &mut Follows) -> Result<Lease<'_>> {
        let none = || Error::library("the device has no streams for programs");
        let slots = self.members_made(self.seats().ok_or_else(none)?, epoch)?;
        let slot = slots.get(usize::from(seat) % slots.len().max(1)).ok_or_else(none)?;
        self.hold_slot(slot, epoch, follows)
    }

    fn give_up_member(&self, pool: &Pool, index: usize) {
        if let Some(job) = pool.turns.give_back(index) {
            self.helpers.push(job);
        }
    }

    /// The slot numbers of a library's members. Makes the members if needed.
    pub(crate) fn pool_numbers(&self, library: &str, epoch: &Arc<Epoch>) -> Result<Range<usize>> {
        match self.pools.iter().find(|pool| pool.library == Some(library)) {
            Some(pool) => self.members_made(pool, epoch).map(|_| pool.numbers.clone()),
            None => Ok(0..0),
        }
    }

    fn members_made<'c>(&'c self, pool: &'c Pool, epoch: &Arc<Epoch>) -> Result<&'c [Slot]> {
        if let Some(slots) = pool.slots.get() {
            return Ok(slots);
        }
        let _making = pool.making.lock();
        if let Some(slots) = pool.slots.get() {
            return Ok(slots);
        }
        let _inside = self.waits.enter();
        epoch.go_on()?;
        let _bound = self.bind(epoch)?;
        const NON_BLOCKING: u32 = 1;
        let Some(first) = self.slots.first().map(|slot| &slot.shared) else { return Ok(&[]) };
        let mut slots: Vec<Slot> = Vec::with_capacity(pool.len());
        for number in pool.numbers.clone() {
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
            let (epoch, reclaim) = (first.epoch.clone(), first.reclaim.clone());
            let slot = Slot::new(number, stream, context, life, epoch, reclaim, first.timing);
            if let Some(core) = first.core.get() {
                let _ = slot.shared.core.set(core.clone());
            }
            slots.push(slot);
        }
        Ok(pool.slots.get_or_init(|| slots.into_boxed_slice()))
    }

    /// Every slot: the ordinary ones, then the members of the pools.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Slot> + Clone {
        self.slots.iter().chain(self.pools.iter().flat_map(Pool::slots))
    }

    /// The slot with that number.
    #[inline]
    pub(crate) fn slot(&self, index: usize) -> Option<&Slot> {
        self.slots.get(index).or_else(|| self.member_slot(index))
    }

    #[cold]
    fn member_slot(&self, index: usize) -> Option<&Slot> {
        let pool = self.pools.iter().find(|pool| pool.numbers.contains(&index))?;
        pool.slots().get(index.checked_sub(pool.numbers.start)?)
    }
}
