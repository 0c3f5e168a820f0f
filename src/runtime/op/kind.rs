//! How an op's CUDA half gets its work to the GPU.

/// What the calls in an op's CUDA half do to the thread that makes them.
///
/// Program order per buffer holds from the submission on for every kind: an op that follows one whose work is not
/// enqueued yet is enqueued after it, by a helper thread of the device, and its submission returns at once too.
/// On the host device the kinds make no difference: nothing there runs on the submitter's thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// They enqueue and return: the half runs on the submitter's thread.
    #[default]
    Enqueue,
    /// One of them waits for the GPU (cuSOLVER's eigenvalues, cuSPARSE's analyses): the half runs on a helper thread, on
    /// a stream that no other work is enqueued on meanwhile, so that the submission returns at once and no other work is
    /// held up. At most a few of them run at a time; the rest waits its turn, which occupies no thread.
    Blocking,
    /// What one phase leaves decides how much memory the next one needs (the product of two sparse matrices). After each
    /// phase but the last, [`Op::next`](crate::Op::next) gets what it left and makes buffers for the next one. The half
    /// runs on a helper thread, as a blocking one, all phases on one stream.
    Phased,
}
