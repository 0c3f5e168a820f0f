//! The worker process: it opens the device and carries out the orders of its parent. A client of [`Device`](crate::Device), so it
//! stands above it; what both processes use is in `engines/worker`.
//!
//! `handshake.rs` opens the device; `server.rs` carries out orders, a thread for each lane; `post.rs`: where one lane waits for
//! another; `memory.rs`: allocations and their regions; `modules.rs`: code that is loaded here; `completion_poller.rs` polls for
//! the completion of work; `heart.rs`: the heartbeat, which ends the process with its parent.

#[cfg(target_os = "linux")]
mod completion_poller;
#[cfg(target_os = "linux")]
pub(crate) mod handshake;
#[cfg(target_os = "linux")]
mod heart;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod modules;
#[cfg(target_os = "linux")]
mod post;
#[cfg(target_os = "linux")]
pub(crate) mod server;

#[cfg(target_os = "linux")]
pub(crate) use modules::Modules;
