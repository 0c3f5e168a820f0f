//! Work that is enqueued after its submission: because its calls block, because it needs a plan that is still being built, or
//! because it follows other such work. Its end in the buffers is in `core/order/late.rs`.
//!
//! `submit.rs`: its submission; `job.rs`: its enqueue; `helpers.rs`: the threads that do it, and build plans.

mod helpers;
mod job;
mod submit;

pub(crate) use helpers::Helpers;
pub(crate) use job::{carried, dep_done, run};
pub(crate) use submit::{Frame, LateJob, submit_late_on};
