//! What a worker adds to the work of its client: a word when it begins, and what a fault plan has for it.
//!
//! It travels beside the op, so that each kind of operation is compiled once: the worker submits the very op, and takes
//! what the device leaves as it is ([`Task::leave`](crate::dispatch::Task::leave)); `finish` runs where it is awaited.

use super::order::Suffer;
use super::server::Reply;
use crate::{Error, Result};
use std::time::Duration;

/// Where the answer to an order goes, and what is to happen to it first.
pub(crate) struct Relay {
    pub(super) reply: Reply,
    pub(super) suffer: Option<Suffer>,
}

impl Relay {
    /// The work begins, on this thread.
    #[cfg(feature = "host")]
    pub(crate) fn begin(&self) -> Result<()> {
        self.reply.start();
        self.suffer()
    }

    /// What the fault plan has for it.
    pub(crate) fn suffer(&self) -> Result<()> {
        match self.suffer {
            None => Ok(()),
            Some(Suffer::Fail) => Err(Error::library("failed by the fault plan")),
            Some(Suffer::Poison) => self.reply.poison("poisoned by the fault plan"),
            Some(Suffer::Delay(nanos)) => {
                std::thread::sleep(Duration::from_nanos(nanos));
                Ok(())
            }
        }
    }
}
