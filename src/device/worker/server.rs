//! The state of a worker process, and an operation that it is about to carry out.

use super::Modules;
use super::completion_poller::CompletionPoller;
use super::memory::{Memory, Operand};
use super::post::Post;
use crate::core::arena::Lent;
use crate::core::clock::Stopwatch;
use crate::core::segment::Segment;
use crate::core::sync::Arc;
use crate::device::Device;
use crate::engines::worker::child::Handlers;
use crate::engines::worker::shared::{InjectedFault, LANES, Outlet, Reply};
use std::sync::OnceLock;

/// The serving process.
pub(crate) struct Server {
    pub(crate) device: Device,
    pub(super) outlet: Arc<Outlet>,
    pub(super) control: Arc<Segment>,
    pub(crate) bulk: Arc<Segment>,
    pub(crate) modules: Modules,
    pub(crate) handlers: Handlers,
    pub(super) completion_poller: CompletionPoller,
    pub(super) memory: Memory,
    pub(super) posts: [Post; LANES],
    /// When memory was first asked for.
    pub(super) began: OnceLock<Stopwatch>,
}

/// An operation that is about to be submitted to the device.
pub(crate) struct Task<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) lent: Option<Lent>,
    pub(crate) operands: &'a [Operand],
    pub(crate) shape: &'a [u32],
    pub(crate) timed: bool,
    pub(crate) seat: Option<u8>,
    pub(crate) fault: Option<InjectedFault>,
    pub(crate) reply: Reply,
}

impl Server {
    pub(crate) fn is_gpu(&self) -> bool {
        self.device.kind() == crate::core::device_info::DeviceKind::Cuda
    }

    /// Calls `then` when the work settles.
    pub(crate) fn when_settled(
        &self,
        (name, work): (&'static str, Arc<dyn crate::core::dispatch::Ongoing>),
        reply: Reply,
        then: crate::core::order::Then,
    ) {
        if let Some(then) = work.tell(then) {
            self.completion_poller.add((name, work), reply, then);
        }
    }
}
