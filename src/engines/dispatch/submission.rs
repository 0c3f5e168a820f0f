//! A dispatch on its way into an engine.

use super::Call;
use crate::core::buffer::View;
use crate::core::dispatch::Options;
use crate::core::epoch::Epoch;
use crate::core::error::Result;
use crate::core::op::contained;
use crate::core::sync::Arc;
use crate::core::trace::{OpInfo, Sink, next_number};
use crate::engines::op::Facts;
use crate::engines::worker::shared::Relay;

/// One piece of work, admitted and checked, on its way into an engine. The op and its operands stay on the stack of the
/// submitting thread until the engine moves them to where they stay: they may be large, and every function on the way
/// would copy them. None of these functions knows their types either, so the path is compiled once for all ops.
pub(crate) struct Submission<'a, 'x, 'c> {
    pub(crate) call: &'a mut Call<'c>,
    pub(crate) facts: &'static Facts,
    pub(crate) epoch: &'a Arc<Epoch>,
    pub(crate) options: &'a Options,
    /// In a worker process: returns the result to the client.
    pub(crate) relay: Option<Relay>,
    /// The listeners of this dispatch, if there are any.
    pub(crate) trace: Option<&'a Sink>,
    /// For traces: see [`OpInfo::number`](crate::trace::OpInfo). 0 if there is no trace.
    pub(crate) number: u64,
    /// Whether to measure the time on the device.
    pub(crate) timed: bool,
    /// Already admitted when it was submitted: closing the device to new work does not stop it.
    pub(crate) was_admitted: bool,
    /// Reads first, then writes, then the captures that it writes (`buffer/capture.rs`).
    pub(crate) views: &'a [View<'x>],
    /// How many of the views are reads.
    pub(crate) read_count: usize,
    /// How many of the views are operands; the others are captures.
    pub(crate) operand_count: usize,
}

impl<'a, 'x, 'c> Submission<'a, 'x, 'c> {
    /// `views` are the reads, then the writes.
    pub(crate) fn new(
        call: &'a mut Call<'c>,
        facts: &'static Facts,
        epoch: &'a Arc<Epoch>,
        options: &'a Options,
        (views, read_count): (&'a [View<'x>], usize),
    ) -> Self {
        let trace = epoch.counters.trace();
        let (number, timed) = match trace {
            None => (0, options.timed),
            Some(trace) => (next_number(), options.timed || trace.is_timed()),
        };
        Submission {
            call,
            facts,
            epoch,
            options,
            relay: None,
            trace,
            number,
            timed,
            was_admitted: false,
            views,
            read_count,
            operand_count: views.len(),
        }
    }

    /// The same submission with these views: its own operands, and captures after them.
    pub(crate) fn with_views<'b>(&'b mut self, views: &'b [View<'b>]) -> Submission<'b, 'b, 'c> {
        Submission {
            call: &mut *self.call,
            facts: self.facts,
            epoch: self.epoch,
            options: self.options,
            relay: self.relay.take(),
            trace: self.trace,
            number: self.number,
            timed: self.timed,
            was_admitted: self.was_admitted,
            views,
            read_count: self.read_count,
            operand_count: self.operand_count,
        }
    }

    /// The views without the captures.
    pub(crate) fn operands(&self) -> &'a [View<'x>] {
        self.views.get(..self.operand_count).unwrap_or(self.views)
    }

    /// Whether an operand or a capture may have no single owner.
    pub(crate) fn is_gated(&self) -> bool {
        self.facts.gated || self.operand_count < self.views.len()
    }

    /// For traces.
    pub(crate) fn info(&self, stream: Option<usize>) -> Result<OpInfo> {
        let info = contained(|| self.call.info(self.options.label.copied(), stream))?; // calls code of the op's author
        Ok(info.numbered(self.number))
    }
}
