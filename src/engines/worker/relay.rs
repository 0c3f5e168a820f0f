//! What a worker adds to the work of its client: a word when it begins, and what a fault plan has for it.
//!
//! It travels beside the op, so that each kind of operation is compiled once: the worker submits the very op, and takes
//! what the device leaves as it is ([`Ongoing::to_remote`](crate::dispatch::Ongoing::to_remote)); `finish` runs where it is awaited.

use super::order::InjectedFault;
use super::server::Reply;
use crate::clock;
#[cfg(feature = "host")]
use crate::op::Cost;
use crate::{Error, Result};
use std::time::Duration;

/// Operations and bytes of what is small: some microseconds' worth, and nothing that would use several threads.
#[cfg(feature = "host")]
const SMALL: u64 = 16 << 10;

/// Where the answer to an order goes, and what is to happen to it first.
pub(crate) struct Relay {
    pub(super) reply: Reply,
    pub(super) fault: Option<InjectedFault>,
}

impl Relay {
    /// The host's work takes less time than it would take to wake another thread for it, so the lane's own does it. Of an
    /// operation that says nothing of its cost that is not known, and a lane must not be held up.
    #[cfg(feature = "host")]
    pub(crate) fn runs_here(&self, cost: Cost) -> bool {
        let work = cost.flops.saturating_add(cost.bytes);
        self.fault.is_none() && (1..=SMALL).contains(&work)
    }

    /// The work begins, on this thread.
    #[cfg(feature = "host")]
    pub(crate) fn begin(&self) -> Result<()> {
        self.reply.start();
        self.inject_fault()
    }

    /// What the fault plan has for it.
    pub(crate) fn inject_fault(&self) -> Result<()> {
        match self.fault {
            None => Ok(()),
            Some(InjectedFault::Fail) => Err(Error::library("failed by the fault plan")),
            Some(InjectedFault::Poison) => self.reply.poison("poisoned by the fault plan"),
            Some(InjectedFault::Delay(nanos)) => {
                clock::pause(Duration::from_nanos(nanos));
                Ok(())
            }
        }
    }
}
