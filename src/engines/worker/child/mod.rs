//! The worker, as far as this floor knows it: `program.rs` begins and ends the process; `inherited.rs` closes the descriptors
//! that came from the parent; `handler.rs` finds the op that an order names; `relay.rs`: what the worker adds to an op; `reply.rs`:
//! answers.

pub(crate) mod handler;
pub(crate) mod inherited;
pub(crate) mod program;
mod relay;
pub(crate) mod reply;

pub(crate) use handler::{Handlers, OpCode, Registry, With, run, with_handler};
pub(crate) use inherited::Inherited;
pub(crate) use relay::Relay;
pub(crate) use reply::{DONE_WELL, GARBLED, Outlet, REFUSED, Reply};
