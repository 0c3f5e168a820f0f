//! What the two processes of an isolated device say to each other through shared memory: the very files of the library,
//! over a segment of loom's atomics.
#![allow(dead_code, reason = "models use parts of the modules under test")]

#[path = "../../src/engines/worker/shared/answers.rs"]
mod answers;
#[path = "../../src/engines/worker/parent/frees.rs"]
mod frees;
#[path = "../../src/engines/worker/shared/ring.rs"]
mod ring;
#[path = "worker/segment.rs"]
pub(crate) mod segment;

#[path = "worker/drops.rs"]
mod drops;
#[path = "worker/orders.rs"]
mod orders;
#[path = "worker/replies.rs"]
mod replies;
