//! The CPU engine: the default if there is no GPU, and the reference for the GPU's results.
//!
//! It has **its own rayon pool, which runs nothing but device ops**. On the caller's pool it would deadlock: a worker
//! thread inside an op's `join` may steal a job of the caller that waits for that very op (measured: 8 of 40 runs hung,
//! 0 of 40 with a pool of its own). A host half may use rayon (it then runs in this pool), but must not dispatch or
//! wait; that is checked, see [`inside_op`](crate::core::inside::inside_op).
//!
//! No thread of the pool ever blocks. An op starts when its last dependency is done, which `core/order/settle.rs` counts.
//! `node.rs` is an op in flight, `frame.rs` how it runs, settles and is waited for; `queue.rs` runs ready
//! ops, `runners.rs` limits how many run at a time, `core/inside.rs` knows which threads are inside an op, `hooked.rs` which are
//! inside a trace's hook. `fault_plan.rs`: fault injection; `executor.rs`: what any engine can be asked.

#[cfg(feature = "host")]
mod executor;
#[cfg(feature = "host")]
mod fault_plan;
#[cfg(feature = "host")]
mod frame;
#[cfg(feature = "host")]
mod hooked;
#[cfg(feature = "host")]
mod node;
#[cfg(feature = "host")]
mod queue;
#[cfg(feature = "host")]
mod runners;

#[cfg(feature = "host")]
pub(crate) use fault_plan::Fault;
#[cfg(feature = "host")]
pub use fault_plan::FaultPlan;
#[cfg(feature = "host")]
pub(crate) use queue::HostEngine;
#[cfg(feature = "host")]
pub use queue::HostPool;
