//! What a worker adds to an operation of its client: a report that the work begins, and the fault that a fault plan
//! injects.
//!
//! It is passed beside the op, so that each kind of operation is compiled once. The worker submits the same op, and
//! sends on the raw result of the device ([`Ongoing::to_remote`](crate::dispatch::Ongoing::to_remote)); `finish` runs
//! in the client.

use super::InjectedFault;
use super::reply::Reply;
use crate::core::clock;
use crate::core::error::{Error, Result};
#[cfg(feature = "host")]
use crate::core::op::Cost;
use std::time::Duration;

/// Operations plus bytes up to which work is small: it takes some microseconds, and would not use several threads.
#[cfg(feature = "host")]
const SMALL: u64 = 16 << 10;

/// The place of an order's answer, and the fault to inject before the work.
pub(crate) struct Relay {
    pub(crate) reply: Reply,
    pub(crate) fault: Option<InjectedFault>,
}

impl Relay {
    /// Whether the lane's thread does the host's work itself: small work takes less time than waking another thread for
    /// it. An operation that does not state its cost may take long and would hold up the lane.
    #[cfg(feature = "host")]
    pub(crate) fn runs_here(&self, cost: Cost) -> bool {
        let work = cost.flops.saturating_add(cost.bytes);
        self.fault.is_none() && (1..=SMALL).contains(&work)
    }

    /// The work begins on this thread: reports that, and injects the fault if there is one.
    #[cfg(feature = "host")]
    pub(crate) fn begin(&self) -> Result<()> {
        self.reply.start();
        self.inject_fault()
    }

    /// Injects the fault of the fault plan, if there is one.
    pub(crate) fn inject_fault(&self) -> Result<()> {
        match self.fault {
            None => Ok(()),
            Some(InjectedFault::Fail) => Err(Error::library("the fault plan injected this failure")),
            Some(InjectedFault::Poison) => self.reply.poison("poisoned by the fault plan"),
            Some(InjectedFault::Delay(nanos)) => {
                clock::pause(Duration::from_nanos(nanos));
                Ok(())
            }
        }
    }
}
