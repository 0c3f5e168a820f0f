//! Devices that live in a child process: the parent's side, and what both processes share. The child's side, which opens the
//! device and carries out orders, is in `device/worker/`. Linux only: elsewhere `absent.rs` stands in its place.

// What lives here:
//
//   this process
//     engine.rs             the engine: alloc, submit; executor.rs: what any engine can be asked
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
//   the worker (what opens the device and carries out orders is in `device/worker/`)
//     program.rs            begins and ends the process; inherited.rs: closes the descriptors that came from the parent
//     handler.rs            finds the op that an order names; relay.rs: what the worker adds to an op
//     reply.rs              answers; first_use.rs: what is slow the first time
//   both
//     ring.rs               orders; answers.rs: flags; core/arena.rs: bulk data; stats_mirror.rs: counts of the worker
//     order.rs, message.rs  the formats; turn.rs: what an order follows;
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
// Races have names, which are explained in: "last order" (ring.rs), "last turn" (device/worker/post.rs), "late submit" (lane.rs),
// "on its way" (frees.rs), "falling asleep" (bell.rs), "early end" (ending.rs), "used again" (flying.rs).

mod active_clock;
pub(crate) mod answers;
mod arriving;
pub(crate) mod ask;
mod back_pressure;
mod bell;
pub(crate) mod distance;
mod ending;
mod engine;
pub(crate) mod executable;
mod executor;
mod failover;
pub(crate) mod first_use;
mod flights;
mod flying;
mod frees;
pub(crate) mod handler;
pub(crate) mod inherited;
mod lane;
mod lane_assignment;
pub(crate) mod launch;
mod link;
pub(crate) mod message;
mod monitor;
#[cfg(feature = "cuda")]
mod nvml_keep_alive;
mod oom_kill;
pub(crate) mod order;
mod process;
pub(crate) mod program;
mod relay;
pub(crate) mod reply;
pub(crate) mod ring;
mod settle_thread;
mod spin_limit;
mod stall;
mod standby;
pub(crate) mod stats_mirror;
mod task;
pub(crate) mod turn;
mod watchdog;

#[cfg(feature = "cuda")]
pub(crate) use ask::Question;
pub(crate) use distance::{code_at, code_distance, distance, place};
pub(crate) use engine::WorkerEngine;
pub(crate) use executable::executable;
pub(crate) use failover::open;
pub(crate) use flights::Flight;
pub(crate) use flying::Flying;
#[cfg(feature = "every-operation")]
pub(crate) use handler::Registry;
pub(crate) use handler::{OpCode, With, with_handler};
pub(crate) use relay::Relay;
pub(crate) use task::WorkerTask;

/// What this thread does next is slow, but only the first time: a worker's watchdog does not count it.
#[cfg(feature = "cuda")]
pub(crate) fn first_use() {
    first_use::begin();
}

/// The layout of the control segment: everything but bulk data.
pub(crate) mod layout {
    use super::turn::LANES;
    use super::{answers, ring};

    /// Incremented by the heart of the worker.
    pub(crate) const BEAT: usize = 0;
    /// Not zero once a GPU's driver has refused to register the memory for bulk data.
    pub(crate) const STAGED: usize = 128;
    /// Counts of the worker: see `stats_mirror.rs`.
    pub(crate) const TOLD: usize = 192;
    /// One bit for each lane that was ever used. The worker has a thread for each of these lanes.
    pub(crate) const OPENED: usize = 64;
    /// The rings of orders.
    pub(crate) const ORDERS: usize = 4096;
    /// Capacity of one lane's ring, in bytes.
    pub(crate) const ORDERS_CAPACITY: usize = 4 << 20;
    /// The answers.
    pub(crate) const ANSWERS: usize = orders(LANES).next_multiple_of(4096);
    /// Size of the segment.
    pub(crate) const CONTROL: usize = (ANSWERS + answers::FOOTPRINT).next_multiple_of(4096);

    /// The number of the last order of a lane that was carried out.
    pub(crate) const fn carried(lane: usize) -> usize {
        1024 + lane * 64
    }

    /// Since when this lane has been in a first use (`first_use.rs`), in nanoseconds of the system's clock; 0 if it is
    /// in none.
    pub(crate) const fn first_use(lane: usize) -> usize {
        carried(lane) + 8
    }

    /// A lane's ring.
    pub(crate) const fn orders(lane: usize) -> usize {
        ORDERS + lane * ring::footprint(ORDERS_CAPACITY)
    }

    const _: () = assert!(carried(LANES) <= ORDERS && LANES <= 32);
}
