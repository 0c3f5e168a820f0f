//! One life of a device, and what executes in it.
//!
//! An [`Epoch`] is one life of a context: a generation, a flag that ends it, and an [`Engine`]. Everything native hangs
//! on an epoch; a device swaps one pointer to install the next. The rules (`life.rs` has the flag):
//!
//! - whoever is about to call the driver holds a lease of a slot (or its polling right) and has looked at the flag
//!   *after* taking it;
//! - whoever ends an epoch sets the flag first and then takes every slot, so no call of ours is inside the driver
//!   while natives are torn down;
//! - waiters see the flag and settle; those asleep are woken. No registry of pendings is needed.
//!
//! `epoch.rs`: the life; `engine.rs`: what executes in it; `completion.rs`: where a dispatch ends. `process.rs`: what this
//! process may do; `leaving.rs`: compilations beside its exit.

mod completion;
#[expect(clippy::module_inception, reason = "the engine of the engines' folder")]
mod engine;
mod epoch;
pub(crate) mod flow;
#[cfg(feature = "cuda")]
pub(crate) mod leaving;
pub(crate) mod life;
pub(crate) mod process;

pub(crate) use completion::Completion;
pub(crate) use engine::Engine;
pub(crate) use epoch::{Cause, Epoch, Parts};
