//! A dispatch in flight, and the waits for it: `task.rs`: it with its op; `task_core.rs`: the rest; `blocking_wait.rs`: waits
//! in the driver; `timer.rs`: its time on the device.

mod blocking_wait;
mod task;
mod task_core;
mod timer;

pub(crate) use blocking_wait::BlockingWaits;
pub(crate) use task::PhaseTask;
pub(crate) use task_core::{Elsewhere, Extra, Kept, Landed, TaskCore};
pub(crate) use timer::{Timer, Timers};
