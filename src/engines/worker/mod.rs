//! Devices that live in a child process, so that a fault costs the child and not the program.
//!
//! After a device fault no call heals CUDA inside a process, on any of its GPUs. So the context is kept where it can be
//! lost: [`DeviceBuilder::isolated`](crate::DeviceBuilder::isolated) opens the device in a **worker process**; a fault, a
//! crash, a kill or a hang there settles everything in flight with a typed error, and the supervisor starts another worker,
//! tests it and admits the next generation. Buffers, operations and pendings are used as ever.
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
//! It is this very executable, started again: [`init`] then serves the device instead of returning. Operations of your own
//! cross with no registration, as long as they are plain data ([`Op::wire`](crate::Op::wire)). A library that cannot stand
//! first in `main` names the crate's program `windlass-worker` by
//! [`DeviceBuilder::worker_program`](crate::DeviceBuilder::worker_program) or `WINDLASS_WORKER`; it knows the library's own
//! operations only, and is built with the cargo feature `worker-program`.
//!
//! The worker takes its orders through one inherited descriptor and memory without a name, so nobody else can reach it. It
//! ends when its parent ends, however that happens, and nothing of it is left then: no file, no segment, no process.
//!
//! # What crosses
//! Orders go into rings in shared memory, one for each thread that submits (past the sixteenth they share): nobody waits for
//! the worker to read them, nor for what another thread's order is held up by. The worker derives all order on the device
//! from the buffers, as in any process. A finished operation sets a flag in shared memory, so
//! [`is_ready`](crate::PendingDispatch::is_ready) is one load. Bulk data is copied into and out of shared memory once on
//! this side; a GPU reads and writes it there itself. Memory is given out at once: should the worker find none after all,
//! the first operation on the buffer says so.
//!
//! Code is compiled on this side, which needs no GPU for that; only the image crosses, and the module is loaded there. To
//! load it, to find a kernel or a variable in it and to ask about occupancy is to wait for the worker's answer; to launch a
//! kernel is not. A kernel's twin on a host device crosses when it is a function or a closure that captures nothing, and
//! the worker program is this very executable.

// What lives here:
//
//   this process
//     engine.rs             the engine: alloc, submit
//     task.rs               a dispatch in flight; flights.rs: all of them, by place; arriving.rs: a large download
//     link.rs               orders out, answers in; ask.rs: questions to the worker
//     lane.rs               a ring of orders; lane_assignment.rs: which thread writes to which; frees.rs: freed memory
//     back_pressure.rs      waits for space; spin_limit.rs: how long a waiter polls before it sleeps
//     launch.rs             starts the worker; process.rs: the child, its end, its status; oom_kill.rs: why it was killed
//     monitor.rs            the thread that watches the worker; bell.rs: what wakes it; watchdog.rs and active_clock.rs:
//                           how long the worker has been at one operation; ending.rs: who is told of the end
//     settle_thread.rs      settles what nobody waits for
//     failover.rs           the next worker after a loss; standby.rs: one that is ready;
//                           nvml_keep_alive.rs: keeps the GPU's driver loaded between two workers
//   the worker
//     program.rs            begins and ends the process; handshake.rs: opens the device; inherited.rs: what the parent left
//     server.rs             carries out orders, a thread for each lane; post.rs: where one lane waits for another
//     handler.rs            finds the op behind an order; relay.rs: what the worker adds to an op
//     memory.rs             allocations and their regions; modules.rs: code that is loaded there
//     reply.rs              answers; completion_poller.rs: sees that work is done
//     heart.rs              the heartbeat; ends the process with its parent; first_use.rs: what takes long once
//   both
//     segment.rs            shared memory; ring.rs: orders; answers.rs: flags; arena.rs: bulk data;
//                           stats_mirror.rs: what the worker holds
//     order.rs, message.rs  what is said; wire.rs: how an operation crosses; turn.rs: what an order follows;
//                           distance.rs: addresses inside the executable, executable.rs: which one that is
//
// **Lanes.** Each thread writes to a ring of its own (past the 16th they share), and the worker has a thread for each, so
// that an order which takes long to be carried out (a library that loads, a queue of the driver's that is full, memory
// that is not back yet) holds up nobody else's. What has to hold:
//
// 1. On the device everything is in order if the worker's *submissions* are, buffer by buffer. So a buffer remembers the
//    orders that used it last as (lane, number), and an order names those that it follows: a read the last writers, a
//    write the readers since as well. One lane needs no word. `carried[lane] >= number`, one load, says that it was
//    submitted there, well or not; what is already past is not named.
// 2. No cycle: an order is told to the buffers only after it was pushed, so it is followed by later ones only. Of all that
//    are not carried out, the one pushed first waits for nothing, and it is the next of its lane. A lane that waits holds
//    nothing.
// 3. Aliases may be submitted by two threads at a time, each unseen by the other: a writer replaces in a buffer's memory
//    what it follows, and stands beside what it does not.
// 4. Parts. The first use of a part makes the worker cut it out of the whole, and an order that has looked the whole up by
//    then, and not told it of itself yet, would tell a region that is no more. So what a split or a join inherits counts
//    as writers (`buffer/region.rs`): whoever has something cut follows everybody who named the old regions.
// 5. Memory. The order to free goes out on the lane of the one that made it, once all that used it are answered, so both
//    are carried out by then. That to make new memory does not wait for what others give back, unless there is none.
// 6. Loss. All lanes are closed, one after the other, each under the lock under which dispatches are entered; what was
//    entered is swept after the last. Places of answers are one pool, from which lanes borrow some at a time.
//
// 7. Handles of a life that is over may stay for long, and hold what is shared by all of it. What was large in it is gone by
//    then: the last thing that a loss does is to let go of both segments and of the table of dispatches.
//
// Races are named where they are met: "last order" (ring.rs), "last turn" (post.rs), "late submit" (lane.rs), "on its way"
// (frees.rs), "falling asleep" (bell.rs), "early end" (ending.rs), "used again" (task.rs).

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
#[cfg(all(feature = "worker-program", target_os = "linux"))]
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

/// There are no workers here.
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

/// Makes this executable its own worker program: to be called first in `main`.
///
/// In an ordinary process it returns at once. In a process that an isolated device of this same program has started, it
/// serves that device and then ends the process, so nothing behind it runs twice. (A program that is started as a worker
/// and opens a device without having called this is ended there, with an error on both sides.)
///
/// ```
/// windlass::worker::init();
/// ```
pub fn init() {
    #[cfg(target_os = "linux")]
    program::init();
}

/// Ends a worker process that has gone past the place where it should have begun to serve.
pub(crate) fn guard() {
    #[cfg(target_os = "linux")]
    program::guard();
}

/// What this thread does next takes long, but only the first time: a worker's watchdog leaves it out.
#[cfg(feature = "cuda")]
pub(crate) fn first_use() {
    #[cfg(target_os = "linux")]
    first_use::begin();
}

/// The layout of the segment that is not bulk data.
#[cfg(target_os = "linux")]
mod layout {
    use super::turn::LANES;
    use super::{answers, ring};

    /// Counts up while the worker's heart beats.
    pub(super) const BEAT: usize = 0;
    /// Not zero once a GPU's driver has refused to register the bulk data's memory.
    pub(super) const STAGED: usize = 128;
    /// What the worker holds: see `stats_mirror.rs`.
    pub(super) const TOLD: usize = 192;
    /// A bit for each lane that was ever used: the worker has a thread for it.
    pub(super) const OPENED: usize = 64;
    /// The orders.
    pub(super) const ORDERS: usize = 4096;
    /// Bytes of orders on their way in one lane.
    pub(super) const ORDERS_CAPACITY: usize = 4 << 20;
    /// The answers.
    pub(super) const ANSWERS: usize = orders(LANES).next_multiple_of(4096);
    /// All of it.
    pub(super) const CONTROL: usize = (ANSWERS + answers::FOOTPRINT).next_multiple_of(4096);

    /// The number of the last order of a lane that was carried out.
    pub(super) const fn carried(lane: usize) -> usize {
        1024 + lane * 64
    }

    /// Since when that lane has been in a first use; 0 where it is in none.
    pub(super) const fn first_use(lane: usize) -> usize {
        carried(lane) + 8
    }

    /// A lane's ring.
    pub(super) const fn orders(lane: usize) -> usize {
        ORDERS + lane * ring::footprint(ORDERS_CAPACITY)
    }

    const _: () = assert!(carried(LANES) <= ORDERS && LANES <= 32);
}
