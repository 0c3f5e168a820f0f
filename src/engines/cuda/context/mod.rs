//! The primary context, and what its status codes mean. Every entry of the engine makes the context current, and restores the
//! previous one (`primary.rs`); `fault.rs`: what a status code means for the epoch.

pub(super) mod fault;
mod primary;

pub(crate) use fault::{CONTEXT_IS_DESTROYED, classify, error, report};
pub(crate) use primary::{BINDING, Bound, Context};
