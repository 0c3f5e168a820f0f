//! A task, and what its result is for the caller.

use super::TaskHold;
use crate::core::error::{Error, Result};
use crate::core::op::raw::Landing;
use crate::core::op::{AnyOp, Made};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Makes the host part of an operation's result from what it left: `finish` of that operation. The buffers are those that
/// the operation made.
pub(crate) type Conclude<H> = fn(AnyOp<'_>, Landing, &mut Made) -> Result<H>;

/// A task, as the engine made it, and the function that makes the host part of its result, of the type `H`.
pub(crate) struct Task<H> {
    pub(crate) hold: TaskHold,
    pub(crate) conclude: Conclude<H>,
}

impl<H> Task<H> {
    /// Takes the host part; works once. Waits until the work is settled, unless its output is
    /// [`EAGER`](crate::core::op::Output::EAGER).
    pub(crate) fn take(&self) -> Result<H> {
        // Calls code of the op's author.
        let host = catch_unwind(AssertUnwindSafe(|| {
            let (mut landing, mut made) = (Landing::Nothing, Made::default());
            let op = self.hold.answer(&mut landing, &mut made)?;
            (self.conclude)(op, landing, &mut made).map_err(|error| self.hold.failed(error))
        }));
        host.unwrap_or_else(|panic| Err(self.hold.failed(Error::panicked(&*panic))))
    }
}
