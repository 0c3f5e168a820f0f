//! What a dispatch is made of, whatever engine executes it.
//!
//! `pending.rs`: work in flight; `task.rs`: it with what makes its result; `task_hold.rs`: how a pending holds it. `wait.rs`: how a thread waits for it; `pace.rs`: how
//! often it polls; `wait_history.rs`: how long such waits took; `collect.rs`: waits for several pendings. `gate.rs`: operands without a unique owner;
//! `operand.rs`: work in flight as an operand; `each.rs`: several outputs apart.

mod collect;
mod each;
mod gate;
mod operand;
mod options;
mod pace;
mod pending;
mod pending_host;
mod task;
pub(crate) mod task_hold;
mod wait;
mod wait_history;

pub use collect::{Answer, Awaited, await_all, await_any, await_any_timeout};
pub(crate) use each::Each;
pub(crate) use gate::Gate;
pub(crate) use options::Options;
pub(crate) use pace::Pace;
pub(crate) use pending::{Ongoing, Subscribed};
pub use pending::{PendingDispatch, Timed};
pub use pending_host::PendingHost;
pub(crate) use task::{Conclude, Task};
pub(crate) use task_hold::TaskHold;
pub use wait::Wait;
pub(crate) use wait::{Backoff, Spinner, is_stealing, steal_one};
