//! What a dispatch is made of, whatever engine executes it.
//!
//! `pending.rs`: work in flight; `task_hold.rs`: how a pending holds its task. `wait.rs`: how a thread waits for it; `pace.rs`: how
//! often it polls; `wait_history.rs`: how long such waits took; `collect.rs`: waits for several pendings. `raw.rs`: what a device
//! returns to the host; `bulk.rs`: such data while it is on its way. `facts.rs`: an op's constants. `gate.rs`: operands without a unique owner.

#[cfg(any(feature = "cuda", target_os = "linux"))]
mod bulk;
mod collect;
mod facts;
mod gate;
mod options;
mod pace;
mod pending;
pub(crate) mod raw;
pub(crate) mod task_hold;
mod wait;
mod wait_history;

#[cfg(any(feature = "cuda", target_os = "linux"))]
pub(crate) use bulk::Bulk;
pub use collect::{Answer, await_all, await_any, await_any_timeout};
pub(crate) use facts::Facts;
pub(crate) use gate::Gate;
pub(crate) use options::Options;
pub(crate) use pace::Pace;
pub(crate) use pending::{Ongoing, Subscribed, Task, Then};
pub use pending::{PendingDispatch, PendingHost, Timed};
pub(crate) use task_hold::TaskHold;
pub use wait::Wait;
pub(crate) use wait::{Backoff, Spinner, is_stealing, steal_one};
