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
//! of your own need no registration, as long as they are plain data ([`Op::wire`](crate::Op::wire)). A library that
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

// What lives here:
//
//   this process
//     engine.rs             the engine: alloc, submit
//     task.rs               a dispatch in flight; flying.rs: the part without types; flights.rs: all of them, by answer
//                           place; arriving.rs: a large download
//     link.rs               sends orders, receives answers; ask.rs: questions to the worker
//     lane.rs               a ring of orders; lane_assignment.rs: which thread writes to which; frees.rs: freed memory
//     back_pressure.rs      waits for space; spin_limit.rs: how long a waiter polls before it sleeps
//     launch.rs             starts the worker; process.rs: the child, its end, its status; oom_kill.rs: who killed it
//     monitor.rs            the thread that watches the worker; bell.rs: wakes it; watchdog.rs, stall.rs and active_clock.rs:
//                           how long the worker has been at one operation; ending.rs: notifies of the worker's end
//     settle_thread.rs      settles dispatches that no thread waits for
//     failover.rs           the next worker after a loss; standby.rs: one that is ready;
//                           nvml_keep_alive.rs: keeps the GPU's driver loaded between two workers
//   the worker
//     program.rs            begins and ends the process; handshake.rs: opens the device; inherited.rs: closes the
//                           descriptors that came from the parent
//     server.rs             carries out orders, a thread for each lane; post.rs: where one lane waits for another
//     handler.rs            finds the op that an order names; relay.rs: what the worker adds to an op
//     memory.rs             allocations and their regions; modules.rs: code that is loaded there
//     reply.rs              answers; completion_poller.rs: polls for the completion of work
//     heart.rs              the heartbeat; ends the process with its parent; first_use.rs: what is slow the first time
//   both
//     segment.rs            shared memory; ring.rs: orders; answers.rs: flags; arena.rs: bulk data;
//                           stats_mirror.rs: counts of the worker
//     order.rs, message.rs  the formats; wire.rs: how an operation crosses; turn.rs: what an order follows;
//                           distance.rs: addresses inside the executable, executable.rs: which executable that is
//
// **Lanes.** Each thread writes to a ring of its own (past the 16th they share), and the worker has a thread for each
// ring. So an order that takes long to carry out (it loads a library, a queue of the driver is full, memory is not
// freed yet) delays only its own lane. An order is **carried out** when it was submitted to the worker's device, not
// when its work is done. These invariants hold:
//
// 1. Work is in order on the device if the worker's *submissions* are in order for each buffer. So a buffer remembers
//    the last orders that used it as (lane, number), and an order names those that it follows: a read names the last
//    writers, a write also names the readers since. Orders of its own lane need not be named.
//    `carried[lane] >= number`, one load, says that an order was submitted, successfully or not; orders that are
//    already past are not named.
// 2. No cycle: an order is published to the buffers only after it was pushed, so only later orders follow it. Of all
//    orders that are not carried out, the one that was pushed first waits for nothing, and it is the next of its lane.
//    A lane that waits holds nothing that another lane needs.
// 3. Two threads may submit orders on aliases at the same time, without seeing each other's. In a buffer's history a
//    writer replaces only what it follows, and is recorded beside what it does not follow.
// 4. Parts. The first use of a part makes the worker cut it out of the whole. An order that has looked up the whole by
//    then, but has not published itself there yet, would publish to a region that no longer exists. So what a split or
//    a join inherits counts as writers (`buffer/region.rs`): an order that cuts a region follows all orders that named
//    the old regions.
// 5. Memory. The order that frees memory goes out on the lane of the order that made it, once all orders that used it
//    are answered; so all of these are carried out by then. An order that makes memory waits for the frees of other
//    lanes only if there is no memory.
// 6. Loss. All lanes are closed, one after the other, each under the lock under which dispatches are entered. After the
//    last one is closed, the entered dispatches are swept. Answer places are one pool, from which lanes borrow some at
//    a time.
// 7. Handles of an ended generation may stay for long, and keep alive what its handles share. The large parts of that
//    are gone by then: the last step of a loss releases both segments and the table of dispatches.
//
// Races have names, which are explained in: "last order" (ring.rs), "last turn" (post.rs), "late submit" (lane.rs),
// "on its way" (frees.rs), "falling asleep" (bell.rs), "early end" (ending.rs), "used again" (flying.rs).

#[cfg(target_os = "linux")]
mod active_clock;
#[cfg(target_os = "linux")]
mod answers;
#[cfg(target_os = "linux")]
mod arena;
#[cfg(target_os = "linux")]
mod arriving;
#[cfg(target_os = "linux")]
mod ask;
#[cfg(target_os = "linux")]
mod back_pressure;
#[cfg(target_os = "linux")]
mod bell;
#[cfg(target_os = "linux")]
mod completion_poller;
#[cfg(target_os = "linux")]
mod distance;
#[cfg(target_os = "linux")]
mod ending;
#[cfg(target_os = "linux")]
mod engine;
#[cfg(target_os = "linux")]
mod executable;
#[cfg(target_os = "linux")]
mod failover;
#[cfg(target_os = "linux")]
mod first_use;
#[cfg(target_os = "linux")]
mod flights;
#[cfg(target_os = "linux")]
mod flying;
#[cfg(target_os = "linux")]
mod frees;
#[cfg(target_os = "linux")]
mod handler;
#[cfg(target_os = "linux")]
mod handshake;
#[cfg(target_os = "linux")]
mod heart;
#[cfg(target_os = "linux")]
mod inherited;
#[cfg(target_os = "linux")]
mod lane;
#[cfg(target_os = "linux")]
mod lane_assignment;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod link;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod message;
#[cfg(target_os = "linux")]
mod modules;
#[cfg(target_os = "linux")]
mod monitor;
#[cfg(all(feature = "cuda", target_os = "linux"))]
mod nvml_keep_alive;
#[cfg(target_os = "linux")]
mod oom_kill;
#[cfg(target_os = "linux")]
mod order;
#[cfg(target_os = "linux")]
mod post;
#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
mod program;
#[cfg(target_os = "linux")]
mod relay;
#[cfg(target_os = "linux")]
mod reply;
#[cfg(target_os = "linux")]
mod ring;
#[cfg(target_os = "linux")]
mod segment;
#[cfg(target_os = "linux")]
mod server;
#[cfg(target_os = "linux")]
mod settle_thread;
#[cfg(target_os = "linux")]
mod spin_limit;
#[cfg(target_os = "linux")]
mod stall;
#[cfg(target_os = "linux")]
mod standby;
#[cfg(target_os = "linux")]
mod stats_mirror;
#[cfg(target_os = "linux")]
mod task;
#[cfg(target_os = "linux")]
mod turn;
#[cfg(target_os = "linux")]
mod watchdog;
mod wire;

#[cfg(target_os = "linux")]
pub(crate) use arena::{Block, Lent};
#[cfg(target_os = "linux")]
pub(crate) use arriving::Arriving;
#[cfg(all(feature = "cuda", target_os = "linux"))]
pub(crate) use ask::Question;
#[cfg(target_os = "linux")]
pub(crate) use distance::{code_at, code_distance, distance, place};
#[cfg(target_os = "linux")]
pub(crate) use engine::{WorkerBytes, WorkerEngine};
#[cfg(target_os = "linux")]
pub(crate) use executable::executable;
#[cfg(target_os = "linux")]
pub(crate) use failover::open;
#[cfg(target_os = "linux")]
pub(crate) use flights::Flight;
#[cfg(target_os = "linux")]
pub(crate) use flying::Flying;
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) use handler::Registry;
#[cfg(target_os = "linux")]
pub(crate) use handler::{OpCode, With, with_handler, with_named};
#[cfg(target_os = "linux")]
pub(crate) use modules::Modules;
#[cfg(target_os = "linux")]
pub(crate) use relay::Relay;
#[cfg(target_os = "linux")]
pub(crate) use task::WorkerTask;
#[cfg(target_os = "linux")]
pub(crate) use turn::Turn;
pub use wire::Wire;
pub(crate) use wire::{Incoming, Outgoing, garbled};

/// Worker processes exist on Linux only.
#[cfg(not(target_os = "linux"))]
pub(crate) enum Relay {}

#[cfg(not(target_os = "linux"))]
impl Relay {
    #[cfg(feature = "host")]
    pub(crate) fn begin(&self) -> crate::Result<()> {
        match *self {}
    }

    #[cfg(feature = "cuda")]
    pub(crate) fn inject_fault(&self) -> crate::Result<()> {
        match *self {}
    }
}

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
    program::init();
}

/// Ends a worker process that opens a device before it has called [`init`].
pub(crate) fn guard() {
    #[cfg(target_os = "linux")]
    program::guard();
}

/// What this thread does next is slow, but only the first time: a worker's watchdog does not count it.
#[cfg(feature = "cuda")]
pub(crate) fn first_use() {
    #[cfg(target_os = "linux")]
    first_use::begin();
}

/// The layout of the control segment: everything but bulk data.
#[cfg(target_os = "linux")]
mod layout {
    use super::turn::LANES;
    use super::{answers, ring};

    /// Incremented by the heart of the worker.
    pub(super) const BEAT: usize = 0;
    /// Not zero once a GPU's driver has refused to register the memory for bulk data.
    pub(super) const STAGED: usize = 128;
    /// Counts of the worker: see `stats_mirror.rs`.
    pub(super) const TOLD: usize = 192;
    /// One bit for each lane that was ever used. The worker has a thread for each of these lanes.
    pub(super) const OPENED: usize = 64;
    /// The rings of orders.
    pub(super) const ORDERS: usize = 4096;
    /// Capacity of one lane's ring, in bytes.
    pub(super) const ORDERS_CAPACITY: usize = 4 << 20;
    /// The answers.
    pub(super) const ANSWERS: usize = orders(LANES).next_multiple_of(4096);
    /// Size of the segment.
    pub(super) const CONTROL: usize = (ANSWERS + answers::FOOTPRINT).next_multiple_of(4096);

    /// The number of the last order of a lane that was carried out.
    pub(super) const fn carried(lane: usize) -> usize {
        1024 + lane * 64
    }

    /// Since when this lane has been in a first use (`first_use.rs`), in nanoseconds of the system's clock; 0 if it is
    /// in none.
    pub(super) const fn first_use(lane: usize) -> usize {
        carried(lane) + 8
    }

    /// A lane's ring.
    pub(super) const fn orders(lane: usize) -> usize {
        ORDERS + lane * ring::footprint(ORDERS_CAPACITY)
    }

    const _: () = assert!(carried(LANES) <= ORDERS && LANES <= 32);
}
