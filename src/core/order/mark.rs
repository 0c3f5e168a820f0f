//! The end of a dispatch on a stream of a GPU, as the buffers remember it.

use crate::core::order::sequence::Sequence;
use crate::core::sync::Arc;
use std::num::NonZeroUsize;

/// An in-order stream, as far as marks need it. The engine has more of each stream, which it finds by the number.
#[derive(Debug)]
pub(crate) struct Stream {
    /// Its number among the streams of its engine.
    pub(crate) number: usize,
    pub(crate) sequence: Sequence,
}

/// An event of the driver, as the engine that recorded it writes and reads it.
pub(crate) type EventHandle = NonZeroUsize;

/// The end of a dispatch: a ticket of a stream, and the event that was recorded for it.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub(crate) stream: Arc<Stream>,
    pub(crate) ticket: u64,
    /// `None` if none was recorded for this ticket: a later event of the stream answers for it.
    pub(crate) event: Option<EventHandle>,
}

impl Mark {
    /// Whether it is known to have completed, without a driver call.
    pub(crate) fn is_past(&self) -> bool {
        self.stream.sequence.reached(self.ticket)
    }

    pub(crate) fn same_stream(&self, other: &Mark) -> bool {
        Arc::ptr_eq(&self.stream, &other.stream)
    }

    /// Becomes the later of the two marks if both are of one stream; returns whether they are. (A dispatch over several
    /// devices may publish a mark late.)
    pub(crate) fn renew(&mut self, later: &Mark) -> bool {
        let same = self.same_stream(later);
        if same && later.ticket >= self.ticket {
            (self.ticket, self.event) = (later.ticket, later.event);
        }
        same
    }
}
