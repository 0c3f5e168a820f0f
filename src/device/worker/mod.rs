//! Devices that live in a child process, so that a fault ends the child and not the program.
//!
//! After a device fault CUDA does not work again in that process, on any of its GPUs. So the context lives in another
//! process: [`DeviceBuilder::isolated`](crate::DeviceBuilder::isolated) opens the device in a **worker process**. If
//! the worker faults, crashes, hangs or is killed, everything in flight settles with a typed error, and the supervisor
//! starts another worker, tests it and admits the next generation. Buffers, operations and pendings are used as with
//! any other device.
//!
//! ```no_run
//! fn main() -> Result<(), windlass::Error> {
//!     windlass::worker::init(); // first: in a worker process this call does not return
//!     let device = windlass::Device::builder().cuda(0).isolated().open()?;
//!     // ...
//!     Ok(())
//! }
//! ```
//!
//! # The worker program
//! The worker is this same executable, started again: [`init`] then serves the device instead of returning. Operations
//! of your own need no registration, as long as they are plain data ([`Op::wire`](crate::op::Op::wire)). A library that
//! cannot call [`init`] first in `main` names the crate's program `windlass-worker` by
//! [`DeviceBuilder::worker_program`](crate::DeviceBuilder::worker_program) or `WINDLASS_WORKER`. That program knows the
//! library's own operations only, and is built with the cargo feature `worker-program`.
//!
//! The worker is reached through one inherited descriptor and anonymous shared memory, so no other process can send it
//! orders. It ends when its parent ends, however that happens, and leaves nothing behind: no file, no segment, no
//! process.
//!
//! # What crosses
//! An **order** is a message to the worker: run an operation, allocate, free, answer a question. Orders go into rings
//! in shared memory, one for each thread that submits (threads past the sixteenth share). A thread does not wait until
//! the worker reads its order, nor until another thread's order can proceed. The worker derives all order on the device
//! from the buffers, as in any process. A finished operation sets a flag in shared memory, so
//! [`is_ready`](crate::PendingDispatch::is_ready) is one load. Bulk data is copied into and out of shared memory once
//! in this process; a GPU reads and writes it there directly. An allocation returns at once: if the worker then finds
//! no memory, the first operation on the buffer reports it.
//!
//! Code is compiled in this process, which needs no GPU for that. Only the image crosses, and the worker loads the
//! module. Loading it, looking up a kernel or a variable in it, and asking about occupancy wait for the worker's
//! answer; launching a kernel does not. A kernel's twin on a host device crosses if it is a function or a closure that
//! captures nothing, and the worker program is this same executable.

// The worker process: it opens the device and carries out the orders of its parent. A client of `Device`, so it
// stands above it; what both processes use is in `engines/worker`.
//
// `process.rs`: the start of the process. `attributes.rs`: what a worker changes of it. `handshake.rs` opens the device; `lanes.rs` receives orders, a thread for
// each lane; `server.rs`: the state of the process; `carry_out.rs`: an order to run an operation; `answer.rs`: a question; `registry.rs`: the library's own operations, for another executable; `post.rs`: where one lane waits for
// another; `memory.rs`: allocations and their regions; `modules.rs`: code that is loaded here; `completion_poller.rs` polls for
// the completion of work; `heart.rs`: the heartbeat, which ends the process with its parent.

#[cfg(target_os = "linux")]
mod answer;
#[cfg(target_os = "linux")]
mod attributes;
#[cfg(target_os = "linux")]
mod carry_out;
#[cfg(target_os = "linux")]
mod completion_poller;
#[cfg(target_os = "linux")]
pub(crate) mod handshake;
#[cfg(target_os = "linux")]
mod heart;
#[cfg(target_os = "linux")]
mod lanes;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod modules;
#[cfg(target_os = "linux")]
mod post;
#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
mod registry;
#[cfg(target_os = "linux")]
mod server;

pub use crate::core::op::Wire;
#[cfg(target_os = "linux")]
pub(crate) use modules::Modules;
#[cfg(target_os = "linux")]
pub(crate) use registry::with_named;

/// Makes this executable its own worker program. Call it first in `main`.
///
/// In an ordinary process it returns at once. In a process that an isolated device of this same program has started, it
/// serves that device and then ends the process, so the code after it does not run twice. (A program that is started as
/// a worker and opens a device without having called this is ended there, with an error on both sides.)
///
/// ```
/// windlass::worker::init();
/// ```
pub fn init() {
    #[cfg(target_os = "linux")]
    process::init();
}

/// Ends a worker process that opens a device before it has called [`init`].
pub(crate) fn guard() {
    #[cfg(target_os = "linux")]
    process::guard();
}
