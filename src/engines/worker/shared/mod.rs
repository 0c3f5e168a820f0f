//! What both processes know.
//!
//! ```text
//! layout.rs             the control segment
//! ring.rs               orders; answers.rs: flags; core/arena.rs: bulk data; stats_mirror.rs: counts of the worker
//! order.rs, message.rs  the formats; follows.rs: what an order follows
//! distance.rs           addresses inside the executable; executable.rs: which executable that is
//! first_use.rs          what is slow the first time
//! relay.rs              what the worker adds to an operation; reply.rs: its answers
//! program.rs            the worker's process; inherited.rs: descriptors that it closes
//! ```

pub(crate) mod answers;
pub(crate) mod distance;
pub(crate) mod executable;
pub(crate) mod first_use;
pub(crate) mod follows;
pub(crate) mod inherited;
pub(crate) mod layout;
pub(crate) mod message;
pub(crate) mod order;
pub(crate) mod program;
mod relay;
pub(crate) mod reply;
pub(crate) mod ring;
pub(crate) mod stats_mirror;

pub(crate) use answers::{Answers, DONE, LOST, PENDING, PLACES, SPILLED, WAITED};
pub(crate) use distance::{code_at, code_distance, distance, place};
pub(crate) use executable::executable;
pub(crate) use follows::{After, Follows, LANES};
pub(crate) use inherited::Inherited;
pub(crate) use message::{DeviceOrder, Hello, Identity, MAGIC, Message, PROTOCOL};
pub(crate) use order::{Alloc, Free, InjectedFault, Opened, Place, Run, head};
pub(crate) use relay::Relay;
pub(crate) use reply::{DONE_WELL, GARBLED, Outlet, REFUSED, Reply};
pub(crate) use ring::{Pushed, Ring};
