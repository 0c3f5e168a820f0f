//! What work in flight keeps alive.

/// What is kept alive. `retire` is called after its ticket has completed, with no lock held.
pub(crate) trait KeepAlive: Send + Sync {
    #[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "only streams of CUDA have tickets"))]
    fn retire(&self);
}
