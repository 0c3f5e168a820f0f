//! One generation of a device, and the engine that executes its work.
//!
//! An [`Epoch`] is one generation of a device's context: its number, a flag that ends it, and an engine. Every
//! native object belongs to an epoch; a device swaps one pointer to install the next epoch. The rules (`life.rs` has
//! the flag):
//!
//! - a thread that is about to call the driver holds a lease of a slot (or its polling right), and has looked at the
//!   flag *after* taking it;
//! - a thread that ends an epoch sets the flag first and then takes every slot, so no call of ours is inside the driver
//!   while native objects are destroyed;
//! - waiters see the flag and settle their dispatches; sleeping waiters are woken. No registry of pendings is needed.
//!
//! `epoch.rs`: the epoch; `engine.rs`: what executes in it; `life.rs`: its flag; `owner.rs`: its device.

mod engine;
#[expect(clippy::module_inception, reason = "the epoch of the folder about epochs")]
mod epoch;
pub(crate) mod life;
mod owner;

pub(crate) use engine::{AnyEngine, Earlier, EngineKind, Executor, OfKind};
pub(crate) use epoch::{Cause, Epoch, Parts, op_text};
pub(crate) use owner::Owner;
