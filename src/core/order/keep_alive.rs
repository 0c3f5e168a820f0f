//! What work in flight keeps alive.

/// What is kept alive. `retire` is called after its ticket has completed, with no lock held.
pub(crate) trait KeepAlive: Send + Sync {
    fn retire(&self);
}
