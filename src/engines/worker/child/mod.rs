//! What the worker needs of this floor besides what both processes know: `handler.rs` finds the op that an order names.

pub(crate) mod handler;

pub(crate) use handler::{Handlers, Registry, With, run, with_handler};
