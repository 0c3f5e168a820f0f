//! Streams of others that a dispatch follows, or that follow it.

use super::queue::Queue;
use crate::core::error::Result;
use cudarc::driver::sys::CUstream;

/// An event that is not for measuring.
const DISABLE_TIMING: u32 = 2;

impl Queue<'_> {
    /// Makes the leased stream follow all that is on `foreign` now; or, with `away`, the other way round.
    ///
    /// # Safety
    /// `foreign` is a stream, and nobody destroys it meanwhile.
    pub(crate) unsafe fn synchronize_with(&mut self, foreign: *mut std::ffi::c_void, away: bool) -> Result<()> {
        let (api, own, foreign): (_, _, CUstream) = (self.core.context.api, self.stream(), foreign.cast());
        let (first, second) = if away { (own, foreign) } else { (foreign, own) };
        let mut event = std::ptr::null_mut();
        // SAFETY: the context is current, and the pointer is valid.
        self.check("cuEventCreate", unsafe { api.event_create(&mut event, DISABLE_TIMING) })?;
        // SAFETY: the event was just made; both streams are alive, ours under the lease, the other as the caller promises.
        let recorded = unsafe { api.event_record(event, first) };
        let met = self.check("cuEventRecord", recorded).and_then(|()| {
            // SAFETY: as above.
            self.check("cuStreamWaitEvent", unsafe { api.stream_wait_event(second, event, 0) })
        });
        // SAFETY: nobody else knows the event. The driver keeps it until it is recorded and no stream waits for it.
        let destroyed = unsafe { api.event_destroy(event) };
        met.and_then(|()| self.check("cuEventDestroy", destroyed))
    }
}
