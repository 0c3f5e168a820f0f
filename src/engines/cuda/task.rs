//! A dispatch in flight on a GPU.
//!
//! It completes when its mark does; nothing has to notify it. The first thread that looks after the mark has completed
//! (a waiter, or a thread that reaps the slot's ring) claims it, notifies the trace, and settles it.
//!
//! What depends on its op is here, the rest is in `task_core.rs`.

use super::task_core::{Landed, TaskCore};
use crate::core::clock::{Deadline, Timing};
use crate::core::dispatch::raw::{Landing, Raw};
#[cfg(target_os = "linux")]
use crate::core::dispatch::raw::{RemoteResult, RemoteTarget};
use crate::core::dispatch::{Ongoing, Subscribed, Task, Wait};
use crate::core::error::Result;
use crate::core::op::{Contained, HostOf, Made, Op, Output};
use crate::core::order::KeepAlive;
use crate::core::order::Parker;
use crate::core::sync::Arc;
use crate::core::trace::{OpInfo, OpMetadata};
use std::ops::Deref;
use std::time::Duration;

/// The single allocation of a dispatch.
///
/// It is freed with its pending. The slot's ring holds a share only if the device, or a trace, still needs part of it
/// ([`TaskCore::is_held`], [`Retention`](crate::op::Retention)). So a chain of dispatches whose pendings are dropped at
/// once reuses the same few bytes.
pub(crate) struct CudaTask<O: Op> {
    pub(crate) op: Contained<O>,
    pub(crate) core: TaskCore,
}

/// One phase of an op, but not the last. The op itself stays with its submitter.
pub(crate) struct Leg {
    pub(super) core: TaskCore,
}

impl Leg {
    /// The result of the phase. Call only when the phase is complete.
    pub(crate) fn raw<R: Raw>(&self) -> Result<R> {
        let landing = match &*self.core.landed.lock() {
            // SAFETY: the caller has seen that the phase is complete, so the device has written the slot.
            Landed::Slot(slot) => Landing::Slot(unsafe { slot.read() }),
            _ => Landing::Slot([0; 64]),
        };
        R::land(landing)
    }
}

impl KeepAlive for Leg {
    fn retire(&self) {}
}

/// Converts a result of this type for another process.
#[cfg(target_os = "linux")]
fn left<R: Raw>(landing: Landing, to: RemoteTarget) -> Result<RemoteResult> {
    R::land(landing)?.to_remote(to)
}

impl<O: Op> Deref for CudaTask<O> {
    type Target = TaskCore;
    fn deref(&self) -> &TaskCore {
        &self.core
    }
}

impl<O: Op> OpMetadata for CudaTask<O> {
    fn names(&self) -> (&'static str, &'static str) {
        (O::NAME, O::LIBRARY)
    }
    fn info(&self) -> OpInfo {
        OpInfo::of(&*self.op, self.extra.as_ref().and_then(|extra| extra.label), Some(self.mark.slot.index))
    }
}

impl<O: Op> KeepAlive for CudaTask<O> {
    fn retire(&self) {
        self.core.conclude(self, true);
    }
}

impl<O: Op> Task<HostOf<O>> for CudaTask<O> {
    fn take(&self, made: &mut Made) -> Result<HostOf<O>> {
        let answer = match self.core.landing(self, O::Output::EAGER.is_yes()) {
            Ok(landing) => O::Raw::land(landing),
            Err(error) => Err(error),
        };
        let error = match answer {
            Ok(raw) => match self.op.conclude(raw, made) {
                Ok(host) => return Ok(host),
                Err(error) => error,
            },
            Err(error) => error,
        };
        Err(self.core.locate(self, error))
    }
}

impl<O: Op> Ongoing for CudaTask<O> {
    fn is_settled(&self) -> bool {
        self.core.is_settled(self)
    }

    fn wait(&self, how: Wait, until: Option<Deadline>) -> bool {
        self.core.wait(self, how, until)
    }

    fn timing(&self) -> &'static Timing {
        self.mark.slot.timing
    }

    #[cfg(target_os = "linux")]
    fn to_remote(&self, to: RemoteTarget) -> Result<RemoteResult> {
        self.core.to_remote(self, O::Output::EAGER.is_yes(), left::<O::Raw>, to)
    }

    fn abandon(&self) {
        // The ring drops what it holds after the ticket has completed, at the latest when the slot is leased again. If
        // that frees something of value, the housekeeping thread should look sooner.
        self.core.let_go(std::mem::needs_drop::<O>() || O::Raw::BYTES > 0 || O::Output::EAGER.is_yes());
    }

    fn device_time(&self) -> Option<Duration> {
        self.core.device_time()
    }

    fn subscribe(&self, _: &Arc<Parker>) -> Subscribed {
        if self.core.is_settled(self) { Subscribed::Settled } else { Subscribed::Poll }
    }

    fn unsubscribe(&self, _: &Arc<Parker>) {}

    #[cfg(target_os = "linux")]
    fn place(&self) -> Option<(usize, u64)> {
        Some((self.mark.slot.index, self.mark.ticket))
    }

    #[cfg(target_os = "linux")]
    fn arrived(&self) -> u64 {
        if O::Raw::BULK { self.core.arrived() } else { 0 }
    }

    #[cfg(target_os = "linux")]
    fn may_run(&self) -> bool {
        self.core.may_run()
    }
}
