//! A dispatch as engines receive it: `submission.rs`, compiled once for all operations, and `call.rs`, the few functions that are
//! compiled for each of them; `part.rs`: one device of several; `enqueued.rs`: what a GPU's engine makes of it.

mod call;
#[cfg(feature = "cuda")]
mod enqueued;
mod part;
mod submission;

pub(crate) use call::{Call, Typed};
pub(crate) use part::Part;
pub(crate) use submission::Submission;

use crate::core::dispatch::TaskHold;
use crate::engines::op::HostOf;

/// The task of a dispatch.
pub(crate) type TaskOf<O> = TaskHold<HostOf<O>>;
