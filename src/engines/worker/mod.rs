//! Devices that live in a child process: the parent's side, and what both processes share. The child's side, which opens the
//! device and carries out orders, is in `device/worker/`. Linux only: elsewhere `absent.rs` stands in its place.

// `parent/`: this process; `child/`: how the worker finds an operation (what opens the device and carries out orders is in
// `device/worker/`); `shared/`: the segments, the orders and the answers in them, and what an engine does for a worker. It
// names no engine.
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
// "on its way" (frees.rs), "falling asleep" (bell.rs), "early end" (ending.rs), "used again" (untyped_dispatch.rs).

pub(crate) mod child;
pub(crate) mod parent;
pub(crate) mod shared;

#[cfg(feature = "every-operation")]
pub(crate) use child::Registry;
pub(crate) use child::{With, with_handler};
#[cfg(feature = "cuda")]
pub(crate) use parent::Question;
pub(crate) use parent::WorkerEngine;
pub(crate) use parent::open;
pub(crate) use shared::executable;
pub(crate) use shared::{code_at, code_distance, distance, place};
