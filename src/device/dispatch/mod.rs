//! The single path of a dispatch, for every op of every library, on every engine.
//!
//! ```text
//!   1 admit     epoch alive? every operand of this device and this generation?        here
//!   2 check     the op's own look at sizes and strides, before anything native        here
//!   3 lease     a stream slot                                                         the engine
//!   4 order     make it wait, on the device, for what this work must follow           the engine
//!   5 enqueue   the op's CUDA or host half, inside the trace hooks                    the engine
//!   6 record    the completion, publish it to the buffers, give the slot back         the engine
//!   -> PendingDispatch                                                                core/dispatch/pending.rs
//! ```
//!
//! Reads are borrowed until [`Device::dispatch`] returns, and their completions are published before that. A later
//! write needs ownership of the buffer, so it always finds these completions and follows them.
//!
//! `across.rs`: the same over several devices. `bound.rs`: how much may be in flight. `trial.rs`: checks a dispatch without submitting it. What a dispatch is made of is in
//! `core/dispatch/`; what an engine receives, in `engines/dispatch/`.

mod across;
mod bound;
mod trial;

use crate::core::buffer::{Captured, Elems, InitState, View, Views, Visit};
use crate::core::dispatch::{PendingDispatch, Task, TaskHold};
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Rejected, Result};
use crate::core::op::{Failure, Output, Raw, Sure, guarded};
use crate::core::sync::Arc;
use crate::device::Device;
use crate::device::engine::Engine;
use crate::engines::dispatch::{Call, Submission};
use crate::engines::op::{Facts, Ins, Op, OpMemory, Outs, StackOp, WritesOf, conclude};
pub use bound::InFlight;

/// The result of submitting: the work in flight, or the error, with the buffers if some were moved in. `V` as of
/// [`PendingDispatch`]: whether something is left to report.
pub type Submitted<O, V = Sure> = Result<PendingDispatch<O, V>, Failure<O>>;

/// An output of a wrong size is not overwritten as a whole, so its earlier contents seem to matter: then the size is the
/// mistake, not that the contents are undefined.
#[cold]
fn cause(error: Error, call: &Call<'_>) -> Error {
    match (&error, call.check()) {
        (Error::InvalidArgument { .. }, Err(wrong)) => wrong,
        _ => error,
    }
}

/// Operations of your own.
impl Device {
    /// Submits one unit of device work. Every operation of the library goes through here.
    ///
    /// `reads` are borrowed for the call. `writes` are moved in and come back from the pending. Returns as soon as the
    /// work is enqueued. The work follows every earlier operation on the same buffers, whatever thread submitted it,
    /// and overlaps with work on other buffers.
    ///
    /// # Errors
    /// A typed error before any native call, with the moved-in buffers: a stale or foreign operand; an argument that
    /// the op's own check refuses; a device that is poisoned, lost or busy.
    pub fn dispatch<O: Op>(
        &self,
        op: O,
        reads: Ins<'_, O>,
        writes: Outs<O>,
    ) -> Submitted<O::Output, <O::Raw as Raw>::Left> {
        self.dispatch_from(&mut StackOp::new(op), &reads, writes)
    }

    /// As [`dispatch`](Self::dispatch), but the op and its operands stay where they are until the engine takes them.
    pub(crate) fn dispatch_from<O: Op>(
        &self,
        op: &mut StackOp<O>,
        reads: &Ins<'_, O>,
        writes: Outs<O>,
    ) -> Submitted<O::Output, <O::Raw as Raw>::Left> {
        match self.submit(op, reads, &writes) {
            Ok(hold) => {
                let task = Task { hold, conclude: conclude::<O> };
                Ok(PendingDispatch::new(task, writes, (self.wait_policy(), is_eager::<O>())))
            }
            Err(error) => Err(Rejected::new(self.refused(error, Facts::of::<O>()), writes).into()),
        }
    }

    #[cold]
    fn refused(&self, error: Error, facts: &Facts) -> Error {
        let error = error.in_op(facts.name, facts.library);
        self.inner().counters.count_error(&error);
        error
    }

    fn submit<O: Op>(&self, op: &mut StackOp<O>, reads: &Ins<'_, O>, writes: &Outs<O>) -> Result<TaskHold> {
        let mut views = Views::new();
        let reads = O::Reads::read(reads, &mut Visit(&mut views));
        let read_count = views.len();
        op.set((reads, WritesOf::<O>::write(writes, &mut Visit(&mut views))));
        self.hand_on(op.memory(), (&mut views, read_count))
    }

    /// The part of a dispatch that does not depend on the type of the op.
    fn hand_on<'x>(&self, memory: OpMemory<'_>, (views, read_count): (&mut [View<'x>], usize)) -> Result<TaskHold> {
        crate::core::inside::refuse_inside("a dispatch")?;
        let (facts, mut call) = (memory.facts(), Call::new(memory));
        let current;
        // The epoch is that of the first written operand; if nothing is written, that of the first operand. Calls
        // through a recorder are recorded.
        let epoch = match (self.recording(), views.get(read_count).or(views.first())) {
            (Some(recording), _) => recording,
            // (The region outlives the borrow of the views: they are marked below.)
            (None, Some(&View { region, .. })) => &region.epoch,
            (None, None) => {
                current = self.epoch();
                &current
            }
        };
        // One guard for all calls of the op's code before the enqueue: a guard costs as much as a short check.
        guarded(&mut || {
            mark_overwritten(&call, views, read_count);
            for index in facts.leaves_undefined {
                if let Some(view) = views.get_mut(read_count + index) {
                    view.undefined = true;
                }
            }
            self.check(&call, epoch, (views, read_count))
        })?;
        self.inner().in_flight.admit(epoch, self.options())?;
        let mut submission = Submission::new(&mut call, facts, epoch, self.options(), (views, read_count));
        if submission.views.iter().any(View::meets_captures) && !epoch.engine.is_tape() {
            enter_with_captures(&mut submission)?;
        } else {
            enter(&mut submission)?;
        }
        call.task()
    }

    /// Submits in a worker process, where the operands have no handles.
    #[cfg(target_os = "linux")]
    pub(crate) fn submit_here(&self, submission: &mut Submission<'_, '_, '_>) -> Result<()> {
        let (epoch, views) = (submission.epoch, (submission.views, submission.read_count));
        guarded(&mut || self.check(&*submission.call, epoch, views))?;
        self.inner().in_flight.admit(epoch, submission.options)?;
        match Engine::for_epoch(epoch) {
            #[cfg(feature = "host")]
            Engine::Host(engine) => engine.submit(submission),
            #[cfg(feature = "cuda")]
            Engine::Cuda(engine) => engine.submit(submission),
            Engine::Worker(_) | Engine::Tape(_) => {
                Err(Error::unsupported("a worker process cannot dispatch to another worker"))
            }
        }
    }

    /// Steps 1 and 2. Calls code of the op's author; the caller must catch its panic.
    fn check(&self, call: &Call<'_>, epoch: &Arc<Epoch>, (views, read_count): (&[View<'_>], usize)) -> Result<()> {
        match self.admit(epoch, (views, read_count), &|i| call.operand_name(i, read_count)) {
            Ok(()) => call.check(),
            Err(error) => Err(cause(error, call)),
        }
    }

    /// Step 1: checks the device and generation of every operand, and the state of its contents.
    #[inline]
    fn admit(
        &self,
        epoch: &Arc<Epoch>,
        (views, read_count): (&[View<'_>], usize),
        name: &dyn Fn(usize) -> String,
    ) -> Result<()> {
        if epoch.device != self.inner().id {
            return Err(self.foreign(epoch, name(if views.len() > read_count { read_count } else { 0 })));
        }
        epoch.admit()?;
        // Almost always: each operand is of this generation and has contents.
        if views.iter().all(|view| Arc::ptr_eq(&view.region.epoch, epoch) && view.region.init.is_all_valid()) {
            return Ok(());
        }
        self.admit_each(epoch, (views, read_count), name)
    }

    #[inline(never)]
    fn admit_each(
        &self,
        epoch: &Arc<Epoch>,
        (views, read_count): (&[View<'_>], usize),
        name: &dyn Fn(usize) -> String,
    ) -> Result<()> {
        for (i, view) in views.iter().enumerate() {
            let other = &view.region.epoch;
            if !Arc::ptr_eq(other, epoch) {
                if other.device != epoch.device {
                    return Err(self.foreign(other, name(i)));
                }
                other.admit()?; // the older of the two is stale
                if other.engine.is_tape() {
                    return Err(Error::invalid(
                        name(i),
                        "the buffer belongs to a recording; only operations of that recording can use it",
                    ));
                }
                if i >= read_count && epoch.engine.is_tape() {
                    return Err(Error::invalid(
                        name(i),
                        "a recording cannot write a buffer of the device; declare what it writes with \
                         `Recorder::operand` or `Recorder::output`, and pass the buffer to each replay",
                    ));
                }
            }
            admit_contents(view, &|| name(i))?;
        }
        Ok(())
    }

    #[cold]
    fn foreign(&self, epoch: &Epoch, operand: String) -> Error {
        // A GPU that was opened twice counts as two devices.
        let same = *epoch.label == *self.name();
        let other = if same { "another device with the same name, " } else { "" };
        // Two handles of one name: most often a device that was opened again where a clone was meant.
        let remedy = if same { "open it once and clone the handle" } else { "`copy_peer` copies between devices" };
        let (theirs, ours) = (&epoch.label, self.name());
        Error::invalid(
            operand,
            format!("the buffer belongs to {other}{theirs}, but the operation runs on {ours}; {remedy}"),
        )
    }
}

/// How the refusal of an operand without contents begins.
pub(crate) const UNDEFINED: &str = "its contents are undefined";

/// Checks the state of an operand's contents.
fn admit_contents(view: &View<'_>, name: &dyn Fn() -> String) -> Result<()> {
    match view.region.init_state() {
        InitState::Valid | InitState::Late if view.overwritten || !view.is_undefined() => Ok(()),
        // An op may overwrite a window of a buffer without contents. The rest stays without; see `View::written`.
        _ if view.overwritten => Ok(()),
        InitState::Uninit | InitState::Valid | InitState::Late => Err(Error::invalid(
            name(),
            format!(
                "{UNDEFINED}: it was never written, its last operation used it as workspace, or an operation over several \
                 devices failed to write it; only an operation that overwrites all of it can take it"
            ),
        )),
        InitState::Failed => Err(Error::upstream(name(), view.region.failure())),
    }
}

/// Steps 3 to 6.
#[inline]
fn enter(submission: &mut Submission<'_, '_, '_>) -> Result<()> {
    match Engine::for_epoch(submission.epoch) {
        #[cfg(feature = "host")]
        Engine::Host(engine) => engine.submit(submission),
        #[cfg(feature = "cuda")]
        Engine::Cuda(engine) => engine.submit(submission),
        #[cfg(target_os = "linux")]
        Engine::Worker(engine) => engine.submit(submission),
        Engine::Tape(tape) => tape.submit(submission),
    }
}

/// As [`enter`], for an operation that may write memory which recorded programs read.
#[cold]
fn enter_with_captures(submission: &mut Submission<'_, '_, '_>) -> Result<()> {
    let mut captured = Captured::default();
    for (index, view) in submission.views.iter().enumerate() {
        view.captures(index < submission.read_count, &mut captured);
    }
    let mut views: Views<'_> = submission.views.iter().copied().collect();
    views.extend(captured.views());
    enter(&mut submission.with_views(&views))
}

/// Whether the output can be taken before the device is done. True only for bulk data, which arrives piece by piece.
/// Any other raw result is valid only when the work is done, whatever output the op's author makes from it.
fn is_eager<O: Op>() -> bool {
    O::Output::EAGER.is_yes() && <O::Raw as Raw>::BULK
}

/// Marks the written views whose earlier contents the op does not need.
pub(crate) fn mark_overwritten(call: &Call<'_>, views: &mut [View<'_>], reads: usize) {
    let Some(written) = views.get_mut(reads..).filter(|written| !written.is_empty()) else { return };
    let Ok(operation) = call.operation() else { return };
    for (index, view) in written.iter_mut().enumerate() {
        let overwrites = operation.overwrites(index);
        view.overwritten = overwrites.all;
        view.whole |= overwrites.begins_anew;
    }
}

impl View<'_> {
    /// An earlier operation has left a part of the window undefined.
    fn is_undefined(&self) -> bool {
        self.region.init.is_undefined(&(self.offset..self.offset + self.len))
    }

    /// Updates what is known of the parts of the region for a submitted write.
    pub(crate) fn written_in_part(&self) {
        let window = self.offset..self.offset + self.len;
        self.region.init.wrote(window, self.whole, self.undefined, self.overwritten);
    }

    /// Updates the region's state for a submitted write.
    pub(crate) fn written(&self) {
        self.written_in_part();
        if self.whole {
            self.region.init.set(if self.undefined { InitState::Uninit } else { InitState::Valid });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::element::Element;
    use crate::core::op::Spans;
    use crate::engines::op::{Slices, SlicesMut};
    use std::marker::PhantomData;

    /// An op that returns a vector; its raw result is `R`.
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
        fn finish(&self, _: R) -> Result<crate::core::op::raw::Landed<f32>> {
            Ok(vec![0.0].into())
        }
    }

    #[test]
    fn only_what_arrives_piece_by_piece_is_taken_before_the_end() {
        fn number<T: Element>() -> bool {
            is_eager::<Makes<T>>()
        }
        assert!(!number::<f64>() && !number::<u8>() && !is_eager::<Makes<()>>());
        assert!(is_eager::<Makes<crate::core::op::raw::Landed<f32>>>());
    }
}
