//! What an operation's CUDA half is given. Its methods are in `cuda/dispatch/enqueue.rs`: an operation names no engine.

#[cfg(feature = "cuda")]
use super::{Op, SpansOf};
#[cfg(feature = "cuda")]
use std::marker::PhantomData;
#[cfg(feature = "cuda")]
use std::ptr::NonNull;

/// A leased stream with this dispatch's operands. [`Op::cuda`](crate::op::Op::cuda) enqueues its work on it.
///
/// The stream already waits for all work that the operands must follow. The CUDA half enqueues its work and returns; it
/// waits for nothing. Your own calls of the driver or of a library use [`stream`](Self::stream) and are `unsafe`. The
/// methods here that take an address are `unsafe` too: only the caller knows whose memory it is.
#[cfg(feature = "cuda")]
pub struct Enqueue<'q, O: Op> {
    /// Not the queue itself: a dozen words, which would be copied once more on every dispatch.
    pub(crate) queue: QueueRef<'q>,
    pub(crate) spans: &'q SpansOf<O>,
}

/// The CUDA engine's queue, borrowed exclusively for `'q`, without its type: `Queue::untyped` makes one, and the methods of
/// [`Enqueue`] find the queue again.
#[cfg(feature = "cuda")]
pub(crate) struct QueueRef<'q> {
    at: NonNull<u8>,
    /// Invariant in `'q`, as the queue is.
    _borrow: PhantomData<&'q mut &'q mut ()>,
}

#[cfg(feature = "cuda")]
impl QueueRef<'_> {
    /// # Safety
    /// At `at` lies a `Queue<'q>`, which is borrowed exclusively for `'q`.
    #[inline]
    pub(crate) unsafe fn new(at: NonNull<u8>) -> Self {
        QueueRef { at, _borrow: PhantomData }
    }

    #[inline]
    pub(crate) fn at(&self) -> NonNull<u8> {
        self.at
    }
}

/// A leased stream with a dispatch's operands, for an op's CUDA half. This build has no CUDA engine (feature `cuda`),
/// so no value of this type exists.
#[cfg(not(feature = "cuda"))]
pub struct Enqueue<'q, O> {
    never: std::convert::Infallible,
    _op: std::marker::PhantomData<&'q O>,
}

#[cfg(not(feature = "cuda"))]
impl<O> std::fmt::Debug for Enqueue<'_, O> {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.never {}
    }
}
