//! The layout of the control segment: everything but bulk data.

use super::follows::LANES;
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
