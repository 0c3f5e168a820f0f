//! Blocking waits, and the count of threads that are inside the driver without a lease.
//!
//! Blocking is a property of an event, fixed when the event is created. The events of completions do not have it,
//! because recording a blocking event costs more. So a blocking wait uses a stream of its own: the stream waits for the
//! completion, and a blocking event is recorded on it. No lock is held during the wait. Instead the thread is counted
//! as *inside*, and the end of an epoch destroys no native object while a thread is inside.

use crate::core::sync::{AtomicU64, Ordering};
use crate::engines::cuda::Native;
use crate::engines::cuda::api::Code;
use crate::engines::cuda::context::Context;
use crate::engines::cuda::streams::Shared;
use crossbeam_queue::SegQueue;
use cudarc::driver::sys::{CUevent, CUstream};

/// The streams and events of blocking waits.
#[derive(Default)]
pub(crate) struct BlockingWaits {
    free: SegQueue<(Native<CUstream>, Native<CUevent>)>,
    /// Pairs whose waiter returned before the blocking event completed: the stream may still wait for later, unrelated
    /// work.
    late: SegQueue<(Native<CUstream>, Native<CUevent>)>,
    made: AtomicU64,
    inside: AtomicU64,
}

/// While this lives, its owner counts as inside the driver.
pub(crate) struct Inside<'b>(&'b BlockingWaits);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.inside.fetch_sub(1, Ordering::SeqCst);
    }
}

impl BlockingWaits {
    /// Counts the caller as inside. The caller must check the epoch's flag *after* this call.
    pub(crate) fn enter(&self) -> Inside<'_> {
        self.inside.fetch_add(1, Ordering::SeqCst);
        Inside(self)
    }

    /// The number of threads inside.
    pub(crate) fn inside(&self) -> u64 {
        self.inside.load(Ordering::SeqCst)
    }

    /// The number of streams created.
    pub(crate) fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    /// Blocks until `ticket`, for which `event` was recorded, has completed. `Ok(false)` if it could not be tried,
    /// because the epoch is over.
    ///
    /// Until the stream waits for the event, the event may be reused for later work, which may never complete. But then
    /// the ticket has completed. So the ticket is checked again after `cuStreamWaitEvent`. If it has not completed by
    /// then, the stream waits for this ticket and nothing later.
    pub(crate) fn wait(&self, slot: &Shared, ticket: u64, event: CUevent) -> Result<bool, Code> {
        let _inside = self.enter();
        if slot.over() {
            return Ok(false);
        }
        let context = &*slot.context;
        let mut bound = context.bind()?;
        let pair = match self.free.pop().or_else(|| self.one_that_is_free_again(context)) {
            Some(pair) => pair,
            None => self.make(context)?,
        };
        let ((stream, blocking), api) = (pair, context.api);
        // SAFETY: the native objects live until the epoch's end, which waits for threads inside; the context is
        // current.
        let waits = unsafe {
            api.stream_wait_event(stream.0, event, 0).ok().and_then(|()| api.event_record(blocking.0, stream.0).ok())
        };
        if waits.is_ok() && slot.stream.sequence.reached(ticket) {
            self.late.push(pair);
            return Ok(true);
        }
        bound.only_waits();
        // SAFETY: as above.
        let code = waits.and_then(|()| unsafe { api.event_synchronize(blocking.0) }.ok());
        self.free.push(pair);
        code.map(|()| {
            slot.stream.sequence.observe(ticket);
            true
        })
    }

    /// A pair of `late` whose stream has nothing left to wait for.
    fn one_that_is_free_again(&self, context: &Context) -> Option<(Native<CUstream>, Native<CUevent>)> {
        for _ in 0..self.late.len() {
            let pair = self.late.pop()?;
            // SAFETY: the event lives until the epoch's end, which waits for threads inside; the context is current.
            if unsafe { context.api.event_query(pair.1.0) }.is_success() {
                return Some(pair);
            }
            self.late.push(pair);
        }
        None
    }

    fn make(&self, context: &Context) -> Result<(Native<CUstream>, Native<CUevent>), Code> {
        const NON_BLOCKING: u32 = 1;
        const BLOCKING_SYNC_NO_TIMING: u32 = 1 | 2;
        let mut stream: CUstream = std::ptr::null_mut();
        let mut event: CUevent = std::ptr::null_mut();
        // SAFETY: both are valid for the write; the context is current.
        unsafe {
            context.api.stream_create(&mut stream, NON_BLOCKING).ok()?;
            if let Err(code) = context.api.event_create(&mut event, BLOCKING_SYNC_NO_TIMING).ok() {
                let _ = context.api.stream_destroy(stream);
                return Err(code);
            }
        }
        self.made.fetch_add(1, Ordering::Relaxed);
        Ok((Native(stream), Native(event)))
    }

    /// Takes all pairs, for the end of the epoch.
    pub(crate) fn take_all(&self) -> impl Iterator<Item = (Native<CUstream>, Native<CUevent>)> {
        std::iter::from_fn(|| self.free.pop().or_else(|| self.late.pop()))
    }
}
