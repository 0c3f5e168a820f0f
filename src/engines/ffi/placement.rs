//! What the handles of a library belong to.

/// What a library's handles belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// One for each stream slot: created by the first operation that needs it there, and bound to the slot's stream
    /// permanently.
    PerSlot,
    /// This many for the epoch, each with its own stream. For handles that hold much device memory: the work in flight
    /// uses that memory, so they cannot be bound to another stream. An operation uses one of them if it declares itself
    /// `POOLED`; while it waits for its turn it blocks no thread.
    Pool(usize),
    /// There are none: the library needs only plans or descriptors.
    None,
}
