//! The one way of a dispatch, for every op of every library, on every engine.
//!
//! ```text
//!   1 admit     epoch alive? every operand of this device and this generation?        here
//!   2 check     the op's own look at sizes and strides, before anything native        here
//!   3 lease     a stream slot                                                         the engine
//!   4 order     make it wait, on the device, for what this work must follow           the engine
//!   5 enqueue   the op's CUDA or host half, inside the trace hooks                    the engine
//!   6 record    the completion, publish it to the buffers, give the slot back         the engine
//!   -> PendingDispatch                                                                pending.rs
//! ```
//!
//! Reads are borrowed until this function returns, and completions are published before that: so whoever writes next,
//! which takes ownership, follows them.
//!
//! `bound.rs`: how much may be in flight; `trial.rs`: what a dispatch would refuse. `wait.rs`: how a thread waits for a
//! pending, `parker.rs`: one that sleeps, `collect.rs`: for several. `settle.rs`: from submitted to settled on the host
//! engine; `raw.rs`: what a device leaves for the host.

mod bound;
mod collect;
mod parker;
mod pending;
pub(crate) mod raw;
mod settle;
mod trial;
mod wait;

pub use bound::InFlight;
pub use collect::{Answer, await_all, await_any, await_any_timeout};
pub(crate) use parker::Parker;
pub use pending::{PendingDispatch, PendingHost, Timed};
pub(crate) use pending::{Subscribed, Task, Then};
pub(crate) use settle::{Settle, Waiter};
pub use wait::Wait;
pub(crate) use wait::{Backoff, is_stealing, steal_one};

use crate::buffer::{Content, Elems, View, Views, Visit};
use crate::device::Options;
use crate::engine::{Engine, Epoch};
use crate::error::Rejected;
use crate::op::{Bufs, Contained, HostOf, Ins, Op, Output, Outs, Raw, Spans, WritesOf, contained};
use crate::sync::Arc;
use crate::worker::Relay;
use crate::{Device, Error, Result};

/// One admitted and checked piece of work, on its way into an engine. The op and its operands lie where they were made, on
/// the stack of who submits, until the engine takes them to where they stay: they may be long, and every function on the
/// way would copy them.
pub(crate) struct Submission<'a, 'x, O: Op> {
    op: &'a mut Option<O>,
    spans: &'a mut Option<SpansOf<O>>,
    pub(crate) epoch: &'a Arc<Epoch>,
    pub(crate) options: &'a Options,
    /// In a worker, for its client.
    pub(crate) relay: Option<Relay>,
    /// It was let in when it was submitted: what closes the device to others does not stop it any more.
    pub(crate) was_admitted: bool,
    /// Reads first, then writes.
    pub(crate) views: &'a [View<'x>],
    /// How many of the views are reads.
    pub(crate) read_count: usize,
}

/// Where the operands lie: those that are read, those that are written.
pub(crate) type SpansOf<O> = (Spans<<O as Op>::Reads>, Spans<WritesOf<O>>);

impl<'a, 'x, O: Op> Submission<'a, 'x, O> {
    /// `views` are the reads, then the writes.
    pub(crate) fn new(
        op: &'a mut Option<O>,
        spans: &'a mut Option<SpansOf<O>>,
        epoch: &'a Arc<Epoch>,
        options: &'a Options,
        (views, read_count): (&'a [View<'x>], usize),
    ) -> Self {
        Submission { op, spans, epoch, options, relay: None, was_admitted: false, views, read_count }
    }

    pub(crate) fn op(&self) -> Result<&O> {
        self.op.as_ref().ok_or_else(taken)
    }

    #[cfg(feature = "cuda")]
    pub(crate) fn op_mut(&mut self) -> Result<&mut O> {
        self.op.as_mut().ok_or_else(taken)
    }

    /// Its operands.
    pub(crate) fn spans(&self) -> Result<&SpansOf<O>> {
        self.spans.as_ref().ok_or_else(taken)
    }

    pub(crate) fn take_op(&mut self) -> Result<O> {
        self.op.take().ok_or_else(taken)
    }

    #[cfg(any(feature = "host", feature = "cuda"))]
    pub(crate) fn take_spans(&mut self) -> Result<SpansOf<O>> {
        self.spans.take().ok_or_else(taken)
    }
}

#[cold]
fn taken() -> Error {
    Error::library("work that was already handed on")
}

/// What submitting gives: the work in flight, or the error with the buffers that were moved in.
pub type Submitted<O> = Result<PendingDispatch<O>, Rejected<Bufs<O>>>;

/// What a dispatch becomes inside an engine.
pub(crate) type TaskOf<O> = Arc<dyn Task<HostOf<O>>>;

impl Device {
    /// Submits one unit of device work. Every operation of the library goes through here.
    ///
    /// `reads` are borrowed for the call, `writes` are moved in and come back from the pending. Returns as soon as the
    /// work is enqueued; it follows every earlier operation on the same buffers, whatever thread submitted it, and
    /// overlaps with work on others.
    ///
    /// # Errors
    /// A typed error before anything native was called, with the moved-in buffers back: a stale or foreign operand, an
    /// argument that the op's own check refuses, a device that is poisoned, lost or busy.
    pub fn dispatch<O: Op>(&self, op: O, reads: Ins<'_, O>, writes: Outs<O>) -> Submitted<O::Output> {
        let mut op = Contained::new(Some(op));
        self.dispatch_from(&mut op, &reads, writes)
    }

    /// The same, of an op and operands that stay where they are until the engine takes them.
    pub(crate) fn dispatch_from<O: Op>(
        &self,
        op: &mut Option<O>,
        reads: &Ins<'_, O>,
        writes: Outs<O>,
    ) -> Submitted<O::Output> {
        match self.submit(op, reads, &writes) {
            Ok(task) => Ok(PendingDispatch::new(task, writes, (self.wait_policy(), is_eager::<O>()))),
            Err(error) => {
                let error = error.in_op(O::NAME, O::LIBRARY);
                self.inner().counters.count_error(&error);
                Err(Rejected::new(error, writes))
            }
        }
    }

    fn submit<O: Op>(&self, op: &mut Option<O>, reads: &Ins<'_, O>, writes: &Outs<O>) -> Result<TaskOf<O>> {
        crate::host::refuse_inside("a dispatch")?;
        let current;
        let mut views = Views::new();
        let read_count;
        let mut spans = Some((O::Reads::read(reads, &mut Visit(&mut views)), {
            read_count = views.len();
            WritesOf::<O>::write(writes, &mut Visit(&mut views))
        }));
        if let (Some(op), Some((_, writes))) = (&*op, &spans) {
            contained(|| {
                mark_overwritten(op, &mut views, read_count, writes);
                Ok(())
            })?;
        }
        // The device is that of what is written, if anything is.
        let epoch = match views.get(read_count).or(views.first()) {
            Some(view) => &view.region.epoch,
            None => {
                current = self.epoch();
                &current
            }
        };
        let submission = Submission::new(op, &mut spans, epoch, self.options(), (&views, read_count));
        self.check(&submission)?;
        match &epoch.engine {
            #[cfg(feature = "host")]
            Engine::Host(engine) => engine.submit(submission),
            #[cfg(feature = "cuda")]
            Engine::Cuda(engine) => engine.submit(submission),
            #[cfg(target_os = "linux")]
            Engine::Worker(engine) => engine.submit(submission),
        }
    }

    /// The same in a worker process, where the operands have no handles.
    #[cfg(target_os = "linux")]
    pub(crate) fn submit_here<O: Op>(&self, submission: Submission<'_, '_, O>) -> Result<TaskOf<O>> {
        self.check(&submission)?;
        match &submission.epoch.engine {
            #[cfg(feature = "host")]
            Engine::Host(engine) => engine.submit(submission),
            #[cfg(feature = "cuda")]
            Engine::Cuda(engine) => engine.submit(submission),
            // A worker has none of its own; and were there a way on from here, it would have no end for the compiler.
            Engine::Worker(_) => Err(Error::unsupported("a worker does not pass its work on")),
        }
    }

    /// Steps 1 and 2.
    fn check<O: Op>(&self, s: &Submission<'_, '_, O>) -> Result<()> {
        let (op, (reads, writes)) = (s.op()?, s.spans()?);
        self.admit(s.epoch, s.views, s.read_count, op)?;
        contained(|| op.check(reads, writes))?;
        self.inner().in_flight.admit(s.epoch, s.options)
    }

    /// Step 1: the life of every operand, and what it holds.
    fn admit<O: Op>(&self, epoch: &Arc<Epoch>, views: &[View<'_>], read_count: usize, op: &O) -> Result<()> {
        let name = |index| op.operand_name(index, read_count);
        if epoch.device != self.inner().id {
            return Err(self.foreign(epoch, name(if views.len() > read_count { read_count } else { 0 })));
        }
        epoch.admit()?;
        for (i, view) in views.iter().enumerate() {
            let other = &view.region.epoch;
            if !Arc::ptr_eq(other, epoch) {
                // The memory of a worker is no other device's to read.
                let isolated = epoch.engine.is_isolated() || other.engine.is_isolated();
                let peer = O::FROM_PEER.said() && i < read_count && !isolated;
                if other.device != epoch.device && !peer {
                    return Err(self.foreign(other, name(i)));
                }
                other.admit()?; // the older of the two is stale
            }
            match view.region.content() {
                Content::Valid | Content::Late => {}
                // Overwriting a window of a buffer without contents leaves the rest without; see `View::written`.
                _ if view.overwritten => {}
                Content::Uninit => {
                    return Err(Error::invalid(
                        name(i),
                        "it was never written; only an operation that overwrites all of it may be given it",
                    ));
                }
                Content::Failed => {
                    return Err(Error::upstream(name(i), view.region.failure()));
                }
            }
        }
        Ok(())
    }

    #[cold]
    fn foreign(&self, epoch: &Epoch, operand: String) -> Error {
        // A GPU that was opened twice is two devices.
        let other = if *epoch.label == *self.name() { "another device of that name, " } else { "" };
        Error::invalid(operand, format!("a buffer of {other}{} was given to {}", epoch.label, self.name()))
    }
}

/// Whether its output can be put together from what has arrived. Of data that comes piece by piece alone: what else the device
/// leaves is there when the work is done, whatever an operation's author makes of it.
fn is_eager<O: Op>() -> bool {
    O::Output::EAGER.said() && <O::Raw as Raw>::BULK
}

/// Enters on the views which of the writes need nothing of what was there.
pub(crate) fn mark_overwritten<O: Op>(op: &O, views: &mut [View<'_>], reads: usize, writes: &Spans<WritesOf<O>>) {
    for (index, view) in views.iter_mut().skip(reads).enumerate() {
        view.overwritten = op.overwrites_each(writes, index);
        view.whole |= op.begins_anew();
    }
}

impl View<'_> {
    /// What a submitted write makes of the region's worth.
    pub(crate) fn written(&self) {
        if self.whole {
            self.region.worth.set(Content::Valid);
        }
    }
}

/// `read 0`, `write 1`: an operand's place in the op's declaration.
pub(crate) fn operand_name(index: usize, read_count: usize) -> String {
    match index.checked_sub(read_count) {
        None => format!("read {index}"),
        Some(write) => format!("write {write}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Element;
    use crate::op::{Slices, SlicesMut};
    use std::marker::PhantomData;

    /// Gives a vector, of what `R` is.
    struct Makes<R>(PhantomData<fn() -> R>);

    impl<R: Raw> Op for Makes<R> {
        const NAME: &'static str = "makes";
        type Reads = ();
        type Output = Vec<f32>;
        type Raw = R;
        fn check(&self, (): &Spans<()>, (): &Spans<()>) -> Result<()> {
            Ok(())
        }
        fn host(&self, (): Slices<'_, Self>, (): SlicesMut<'_, Self>) -> Result<R> {
            Err(Error::library("not run"))
        }
        fn finish(&self, _: R) -> Result<crate::Landed<f32>> {
            Ok(vec![0.0].into())
        }
    }

    #[test]
    fn only_what_arrives_piece_by_piece_is_taken_before_the_end() {
        fn number<T: Element>() -> bool {
            is_eager::<Makes<T>>()
        }
        assert!(!number::<f64>() && !number::<u8>() && !is_eager::<Makes<()>>());
        assert!(is_eager::<Makes<crate::Landed<f32>>>());
    }
}
