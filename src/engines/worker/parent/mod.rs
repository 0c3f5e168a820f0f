//! This process: the engine of an isolated device.
//!
//! ```text
//! engine.rs             the engine: alloc, submit; executor.rs: what any engine can be asked
//! task.rs               a dispatch in flight; untyped_dispatch.rs: the part without types; flights.rs: all of them,
//!                       by answer place; arriving.rs: a large download
//! link.rs               sends orders, receives answers; ask.rs: questions to the worker
//! lane.rs               a ring of orders; lane_assignment.rs: which thread writes to which; frees.rs: freed memory
//! back_pressure.rs      waits for space; spin_limit.rs: how long a waiter polls before it sleeps
//! launch.rs             starts the worker; process.rs: the child, its end, its status; oom_kill.rs: who killed it
//! monitor.rs            the thread that watches the worker; bell.rs: wakes it; watchdog.rs, stall.rs and active_clock.rs:
//!                       how long the worker has been at one operation; ending.rs: notifies of the worker's end
//! settle_thread.rs      settles dispatches that no thread waits for
//! failover.rs           the next worker after a loss; standby.rs: one that is ready;
//!                       nvml_keep_alive.rs: keeps the GPU's driver loaded between two workers
//! ```

mod active_clock;
mod arriving;
pub(crate) mod ask;
mod back_pressure;
mod bell;
mod ending;
mod engine;
mod executor;
mod failover;
mod flights;
mod frees;
mod lane;
mod lane_assignment;
pub(crate) mod launch;
mod link;
mod monitor;
#[cfg(feature = "cuda")]
mod nvml_keep_alive;
mod oom_kill;
mod process;
mod settle_thread;
mod spin_limit;
mod stall;
mod standby;
mod task;
mod untyped_dispatch;
mod watchdog;

pub(crate) use ask::{Ask, Question};
pub(crate) use engine::WorkerEngine;
pub(crate) use failover::open;
pub(crate) use launch::other_version;
