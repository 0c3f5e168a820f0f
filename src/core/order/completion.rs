//! The end of a dispatch.

#[cfg(target_os = "linux")]
use crate::core::order::LaneOrder;
use crate::core::order::Runnable;
#[cfg(feature = "cuda")]
use crate::core::order::{EventHandle, Late, Mark};
use crate::core::sync::Arc;

/// Marks the end of a dispatch: (epoch, queue, ticket) in the engine's own terms.
#[derive(Clone)]
pub(crate) enum Completion {
    /// The node itself; it remembers whether it failed.
    #[cfg_attr(not(any(feature = "host", test)), expect(dead_code, reason = "made by the host engine only"))]
    Host(Arc<dyn Runnable>),
    /// A ticket of a stream.
    #[cfg(feature = "cuda")]
    Cuda(Mark),
    /// The end of a dispatch that was not enqueued when it was submitted.
    #[cfg(feature = "cuda")]
    Late(Arc<Late>),
    /// An order in a worker's lane: the worker has carried the order out. The work itself may not be done.
    #[cfg(target_os = "linux")]
    Order(LaneOrder),
}

impl Completion {
    /// Whether it is known to have completed, without a driver call.
    #[inline]
    pub(crate) fn is_past(&self) -> bool {
        match self {
            Completion::Host(node) => node.core().is_settled(),
            #[cfg(feature = "cuda")]
            Completion::Cuda(mark) => mark.is_past(),
            #[cfg(feature = "cuda")]
            Completion::Late(late) => late.all(Mark::is_past),
            #[cfg(target_os = "linux")]
            Completion::Order(order) => order.is_past(),
        }
    }

    /// Known to have completed; no longer needs to be followed. (A failed one still does, to pass its failure on.)
    pub(crate) fn is_spent(&self) -> bool {
        match self {
            Completion::Host(node) => node.core().is_settled() && !node.core().has_failed(),
            #[cfg(feature = "cuda")]
            Completion::Cuda(mark) => mark.is_past(),
            #[cfg(feature = "cuda")]
            Completion::Late(late) => late.all(Mark::is_past) && !late.has_failed(),
            #[cfg(target_os = "linux")]
            Completion::Order(order) => order.is_past(),
        }
    }

    /// Whether it is not enqueued yet, so that no stream can be made to wait for it.
    #[cfg(feature = "cuda")]
    pub(crate) fn is_coming(&self) -> bool {
        matches!(self, Completion::Late(late) if !late.is_bound())
    }

    /// Whether it failed after its submission, when its buffers could no longer be marked as failed. (A host node
    /// reports its failure itself.)
    pub(crate) fn has_failed_late(&self) -> bool {
        #[cfg(feature = "cuda")]
        return matches!(self, Completion::Late(late) if late.has_failed());
        #[cfg(not(feature = "cuda"))]
        false
    }

    /// The error of such a failure.
    pub(crate) fn late_error(&self) -> Option<crate::core::error::Error> {
        match self {
            #[cfg(feature = "cuda")]
            Completion::Late(late) => late.error(),
            _ => None,
        }
    }

    /// Where it ends on the streams of GPUs, as far as that is known.
    #[cfg(feature = "cuda")]
    pub(crate) fn marks(&self) -> &[Mark] {
        match self {
            Completion::Cuda(mark) => std::slice::from_ref(mark),
            Completion::Late(late) => late.ends(),
            _ => &[],
        }
    }

    /// The end of a later dispatch on the same stream. Does not touch the count of the stream's `Arc`.
    #[cfg(feature = "cuda")]
    #[inline]
    pub(crate) fn advance(&mut self, ticket: u64, event: Option<EventHandle>) {
        if let Completion::Cuda(mark) = self {
            (mark.ticket, mark.event) = (ticket, event);
        }
    }

    /// Becomes `later` if both end on one in-order queue, where the later one implies the earlier; otherwise stays as
    /// it is and returns false. Does not clone the queue's `Arc`, which would be two locked instructions for every
    /// operand.
    #[inline]
    pub(crate) fn renew(&mut self, later: &Completion) -> bool {
        match (self, later) {
            #[cfg(feature = "cuda")]
            (Completion::Cuda(mark), Completion::Cuda(later)) => mark.renew(later),
            #[cfg(target_os = "linux")]
            (Completion::Order(order), Completion::Order(later)) => order.renew(later),
            _ => false,
        }
    }

    /// Becomes the later of the two if they are the same or end on one in-order queue; otherwise stays as it is and
    /// returns false.
    pub(crate) fn unite(&mut self, other: &Completion) -> bool {
        match (self, other) {
            (Completion::Host(node), Completion::Host(other)) => {
                std::ptr::addr_eq(Arc::as_ptr(node), Arc::as_ptr(other))
            }
            #[cfg(feature = "cuda")]
            (Completion::Cuda(mark), Completion::Cuda(other)) if mark.ticket >= other.ticket => mark.same_stream(other),
            #[cfg(feature = "cuda")]
            (Completion::Cuda(mark), Completion::Cuda(other)) => mark.renew(other),
            #[cfg(feature = "cuda")]
            (Completion::Late(late), Completion::Late(other)) => Arc::ptr_eq(late, other),
            #[cfg(target_os = "linux")]
            (Completion::Order(order), Completion::Order(other)) => order.renew(other),
            #[cfg(any(feature = "cuda", target_os = "linux"))]
            _ => false,
        }
    }
}

impl std::fmt::Debug for Completion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Completion(past: {})", self.is_past())
    }
}
