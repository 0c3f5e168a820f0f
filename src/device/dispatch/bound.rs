//! How much work may be in flight.

use crate::core::dispatch::Backoff;
use crate::core::dispatch::Options;
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result, Site};
use crate::core::sync::Arc;
use crate::core::trace::{Hook, is_inside, refusal};
use crate::device::engine::Engine;

/// A bound on the work in flight, counted in completions on the device. Work that is done but was not awaited does not
/// count, so a caller that submits everything first and collects afterwards cannot block itself.
///
/// A call is admitted as a whole or not at all. Once admitted it counts as one. But if its data moves in pieces, each
/// piece in flight counts: an upload to a GPU or to an isolated device (pieces of 8 MiB; 512 KiB for an upload of up to
/// 8 MiB to a GPU), a write of a module's variable, and a download from a GPU in this process (8 MiB). So after a large
/// transfer the next call may find the bound reached. On an isolated device, a question to its worker (free memory,
/// loading a module) also counts until it is answered.
///
/// Threads that submit at the same moment may each exceed the bound by one. Recovery after a fault, including the hooks
/// before admission, is not bound. Work of an earlier generation that still runs is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum InFlight {
    /// No bound. (An isolated device has places for 262 144 dispatches that its worker has not finished. When they are
    /// all taken, submitting waits while the worker finishes some, and fails with [`Error::Busy`] if it has finished
    /// none for ten seconds.)
    #[default]
    Unbounded,
    /// At the bound, submitting waits until the device has finished something. In a hook that is called while its operation
    /// is in flight, such as [`after_enqueue`](crate::trace::Trace::after_enqueue), the device may finish nothing before the hook
    /// returns: there submitting fails with [`Error::Unsupported`]. (In the completion hooks of a GPU and of an isolated
    /// device it waits.)
    Wait(u64),
    /// At the bound, submitting fails with [`Error::Busy`].
    Busy(u64),
}

impl InFlight {
    /// Waits or refuses at the bound.
    #[inline]
    pub(crate) fn admit(self, epoch: &Arc<Epoch>, options: &Options) -> Result<()> {
        match self {
            InFlight::Unbounded => Ok(()),
            InFlight::Wait(limit) => Self::under(limit, true, epoch, options),
            InFlight::Busy(limit) => Self::under(limit, false, epoch, options),
        }
    }

    fn under(limit: u64, wait: bool, epoch: &Arc<Epoch>, options: &Options) -> Result<()> {
        // The later pieces of an admitted call must go on. Work that prepares the next generation is not bound either:
        // if it were refused, the device would be lost.
        if options.goes_on || epoch.is_coming() {
            return Ok(());
        }
        let mut backoff = Backoff::new(&epoch.timing.waits);
        // The operation of the hook counts, and on the host engine it goes on only when the hook has returned.
        let hook = |hook| is_inside(epoch.counters.trace(), hook);
        let stays = || match Engine::for_epoch(epoch) {
            #[cfg(feature = "host")]
            Engine::Host(_) if hook(Hook::BeforeComplete) => Some("before_complete"),
            _ => hook(Hook::AfterEnqueue).then_some("after_enqueue"),
        };
        loop {
            let in_flight = epoch.engine.unfinished(epoch);
            if in_flight < limit {
                return Ok(());
            }
            if !wait {
                return Err(Error::Busy { in_flight, limit, site: Site::none() });
            }
            if let Some(hook) = stays() {
                return Err(refusal("submitting at the bound on the work in flight", hook));
            }
            backoff.pause(None);
            epoch.admit()?;
        }
    }
}
