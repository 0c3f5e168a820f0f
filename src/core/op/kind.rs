//! How an op's CUDA half gets its work to the GPU.

/// How the calls in an op's CUDA half behave on the thread that makes them.
///
/// Program order per buffer holds from the submission on, for every kind. An op that follows one that is not enqueued
/// yet is enqueued after it by a helper thread of the device, and its submission returns at once too. On the host
/// device the kinds make no difference: all ops run in the device's thread pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpKind {
    /// The calls enqueue work and return. The half runs on the submitting thread.
    #[default]
    Enqueue,
    /// One of the calls waits for the GPU (cuSOLVER's eigenvalues, cuSPARSE's analyses). The half runs on a helper
    /// thread, on a stream that no other work uses meanwhile, so the submission returns at once and no other work is
    /// delayed. Only a few such halves run at a time; the others wait in a queue, which occupies no thread.
    Blocking,
    /// The result of one phase determines how much memory the next phase needs (the product of two sparse matrices).
    /// After each phase but the last, [`Op::next`](crate::op::Op::next) receives the phase's result and makes buffers for
    /// the next phase. The half runs on a helper thread, like a blocking one, with all phases on one stream.
    Phased,
}
