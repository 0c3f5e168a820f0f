//! Work in flight.

use super::pending_host::PendingHost;

use super::{Each, Task, Wait};
use crate::core::clock::{Deadline, Timing};
use crate::core::element::Element;
use crate::core::error::{Error, Rejected, Result};
use crate::core::op::raw::Landing;
#[cfg(target_os = "linux")]
use crate::core::op::raw::{RemoteResult, RemoteTarget};
use crate::core::op::{AnyOp, Bufs, Failure, Immediate, Made, NothingLeft, Output, Sure, Verdict, contained};
use crate::core::order::{Parker, Then};
use crate::core::sync::Arc;
use crate::core::trace::refusal;
use std::marker::PhantomData;
use std::time::Duration;

/// A dispatch as an engine implements it, without its types.
pub(crate) trait Ongoing: Send + Sync {
    /// Whether the result is available, also if it is an error. Polls; never waits.
    fn is_settled(&self) -> bool;
    /// Waits. Returns false if the deadline passed first.
    fn wait(&self, how: Wait, until: Option<Deadline>) -> bool;
    /// Whether a wait for it on the calling thread cannot end: the thread is inside the
    /// [`after_enqueue`](crate::trace::Trace::after_enqueue) of work that this work follows, and that begins only after the hook.
    fn waits_for_hook(&self) -> bool {
        false
    }
    /// The clock and the limits of the work's device.
    fn timing(&self) -> &'static Timing;
    /// Adds the operation and the device to an error that occurred while the result was taken.
    fn failed(&self, error: Error) -> Error {
        error
    }
    /// Takes the raw result, and the buffers that the op made while it ran; works once. Returns the op, which makes the host
    /// part of the result from them. May be called before the work is settled only for an output that is
    /// [`Output::EAGER`].
    fn answer(&self, landing: &mut Landing, made: &mut Made) -> Result<AnyOp<'_>>;
    /// The op; `None` while a dispatch that is enqueued later is not enqueued.
    fn op(&self) -> Option<AnyOp<'_>>;
    /// Takes the raw result for another process, instead of [`answer`](Self::answer).
    #[cfg(target_os = "linux")]
    fn to_remote(&self, to: RemoteTarget) -> Result<RemoteResult>;
    /// The result will not be taken.
    fn abandon(&self);
    /// For a recorded op: the number of its recording, and the index of its result in each replay.
    fn recorded(&self) -> Option<(u64, usize)> {
        None
    }
    /// Time on the device, if it was requested at submission. Call after the work has settled.
    fn device_time(&self) -> Option<Duration>;
    /// Registers `parker` to be woken when the work settles.
    fn subscribe(&self, parker: &Arc<Parker>) -> Subscribed;
    /// Removes that registration.
    fn unsubscribe(&self, parker: &Arc<Parker>);
    /// Calls `then` when the work settles, on the thread that settles it, or at once if it has settled. Returns `then`
    /// if the engine does not notify; the caller must poll.
    fn tell(&self, then: Then) -> Option<Then> {
        Some(then)
    }
    /// The position in an engine that works queue by queue: the queue, and the place in it. `None` while it is not
    /// known.
    #[cfg(target_os = "linux")]
    fn place(&self) -> Option<(usize, u64)> {
        Some((0, 0))
    }
    /// How many leading bytes of a bulk transfer have arrived in the other process.
    #[cfg(target_os = "linux")]
    fn arrived(&self) -> u64 {
        0
    }
    /// Whether all work that it follows in other queues is done. The device then starts it as soon as all earlier work
    /// in its own queue is done.
    #[cfg(target_os = "linux")]
    fn may_run(&self) -> bool {
        true
    }
}

/// Answer to [`Ongoing::subscribe`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subscribed {
    /// Already settled: the parker will not be woken.
    Settled,
    /// The parker will be woken.
    Armed,
    /// The engine does not wake threads: the caller must poll.
    Poll,
}

/// An output and the time the device spent on it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Timed<O> {
    /// The output.
    pub output: O,
    /// Time between the beginning and the end of the work on the device; `None` unless
    /// [`Device::timed`](crate::Device::timed) requested it at submission.
    pub device: Option<Duration>,
}

/// Work in flight: its completion, and the output that it will produce.
///
/// `V` says whether something is left to report: [`Sure`], the default, if the output is all there is, and
/// [`Verdict`](crate::Verdict) if only the wait tells the rest. It follows from [`Op::Raw`](crate::op::Op::Raw).
///
/// Dropping a pending does not stop the work: it goes on, and what it needs is kept alive until it is done. The buffers
/// in the output are freed once the device is done with them.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use std::time::Duration;
/// let device = windlass::Device::host()?;
/// let x = device.upload(vec![3.0f32, 4.0])?.into_output();
/// let pending = device.blas().nrm2(&x)?;
/// let norm = match pending.await_timeout(Duration::from_secs(10)) {
///     Ok(answer) => answer?,
///     Err(_pending) => unreachable!("still ours, to wait on again"),
/// };
/// assert_eq!(norm, 5.0);
/// # Ok(()) }
/// ```
#[must_use = "dropping a `PendingDispatch` also drops its output"]
pub struct PendingDispatch<O: Output, V = Sure> {
    work: Work<O::Host>,
    buffers: Bufs<O>,
    left: PhantomData<V>,
}

/// The task with its wait policy. Abandons the result if it is dropped before the result is taken.
pub(super) struct Work<H> {
    pub(super) task: Option<Task<H>>,
    pub(super) how: Wait,
    /// Whether the host part may be taken before the work is done.
    pub(super) eager: bool,
}

impl<H> Work<H> {
    pub(super) fn is_ready(&self) -> bool {
        self.task.as_ref().is_none_or(|task| task.hold.is_settled())
    }

    /// The timing of the device. After the result was taken there is nothing left to wait for, and any timing will do.
    pub(super) fn timing(&self) -> &'static Timing {
        self.task.as_ref().map_or_else(Timing::standard, |task| task.hold.timing())
    }

    pub(super) fn wait(&self, until: Option<Deadline>) -> bool {
        match &self.task {
            Some(_) if crate::core::inside::inside_op() => self.is_ready(),
            Some(task) => task.hold.wait(self.how, until),
            None => true,
        }
    }

    /// Waits (unless the host part arrives piece by piece) and takes the host part.
    pub(super) fn result(&mut self) -> Result<H> {
        if !self.is_ready() {
            crate::core::inside::refuse_inside("a wait")?;
            if self.task.as_ref().is_some_and(|task| task.hold.waits_for_hook()) {
                return Err(refusal("a wait for a dispatch that follows", "after_enqueue"));
            }
        }
        // Only the policies that spin take the data piece by piece; the others wait until all of it is there.
        if !self.eager || !matches!(self.how, Wait::Adaptive | Wait::Spin) {
            self.wait(None);
        }
        match self.task.take() {
            Some(task) => task.take(),
            None => Err(Error::library("the result was already taken")),
        }
    }
}

impl<H> Drop for Work<H> {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.hold.abandon();
        }
    }
}

/// Waits for the output. Compiled once for each output, whatever the pending's mark is.
fn join<O: Output>(mut work: Work<O::Host>, buffers: Bufs<O>) -> Result<O, Failure<O>> {
    match work.result() {
        Ok(host) => contained(|| O::join(buffers, host)).map_err(Failure::<O>::from),
        Err(error) => Err(Rejected::new(error, buffers).into()),
    }
}

impl<O: Output, V> PendingDispatch<O, V> {
    pub(crate) fn new(task: Task<O::Host>, buffers: Bufs<O>, how: (Wait, bool)) -> Self {
        Self::over(Some(task), buffers, how)
    }

    /// Whether the result is available, also if it is an error. Usually one atomic load.
    pub fn is_ready(&self) -> bool {
        self.work.is_ready()
    }

    /// Waits with the policy `how` instead of the device's.
    pub fn waiting(mut self, how: Wait) -> Self {
        self.work.how = how;
        self
    }

    /// Waits and returns the output.
    ///
    /// A kernel that runs in this process cannot be stopped: the call waits as long as the kernel runs.
    ///
    /// # Errors
    /// The failure of the work, of something that it follows, or of the device; or a numerical verdict. The error
    /// returns the buffers, if there are some, unless their state cannot be proven.
    pub fn await_result(self) -> Result<O, Failure<O>> {
        join::<O>(self.work, self.buffers)
    }

    /// Waits at most `limit`. Returns the pending if the work is still in flight after that.
    ///
    /// # Errors
    /// Outer: still in flight. Inner: as [`await_result`](Self::await_result).
    pub fn await_timeout(self, limit: Duration) -> Result<Result<O, Failure<O>>, Self> {
        if self.wait_timeout(limit) { Ok(self.await_result()) } else { Err(self) }
    }

    /// Waits at most `limit`. True if the result is available.
    pub fn wait_timeout(&self, limit: Duration) -> bool {
        self.work.wait(self.work.timing().clock.after(limit))
    }

    /// Waits and returns the output, with the time that the device spent on it.
    ///
    /// # Errors
    /// As [`await_result`](Self::await_result).
    pub fn await_timed(self) -> Result<Timed<O>, Failure<O>> {
        self.work.wait(None);
        let device = self.work.task.as_ref().and_then(|task| task.hold.device_time());
        let output = self.await_result()?;
        Ok(Timed { output, device })
    }

    /// Returns the output at once, so that the next operation can follow on the device.
    ///
    /// Exists only for a pending that is [`Sure`]: nothing is left to report. If the work fails after all, operations that
    /// read the output fail with [`Error::Upstream`]. Of a call with a verdict take the buffers by [`into_parts`](Self::into_parts).
    pub fn into_output(self) -> O
    where
        O: Immediate,
        V: NothingLeft,
    {
        O::assemble(self.buffers)
    }

    /// Returns the buffers at once, so that the next operation can follow on the device. The verdict remains a pending.
    pub fn into_parts(self) -> (Bufs<O>, PendingHost<O::Host>) {
        (self.buffers, PendingHost { work: self.work })
    }

    /// As [`new`](Self::new); without a task there is nothing left to wait for.
    pub(super) fn over(task: Option<Task<O::Host>>, buffers: Bufs<O>, (how, eager): (Wait, bool)) -> Self {
        PendingDispatch { work: Work { task, how, eager }, buffers, left: PhantomData }
    }

    /// The buffers, and what makes pendings of them.
    pub(crate) fn into_each(mut self) -> (Bufs<O>, Each)
    where
        O: Output<Host = ()>,
    {
        let each = Each::new(self.work.task.take(), (self.work.how, self.work.eager));
        (self.buffers, each)
    }

    /// The buffers that it will write.
    pub(crate) fn buffers(&self) -> &Bufs<O> {
        &self.buffers
    }

    /// The same work, with its buffers converted to those of another output. What is left to report stays so.
    pub(crate) fn retype<P: Output<Host = O::Host>, E>(
        self,
        f: impl FnOnce(Bufs<O>) -> Result<Bufs<P>, E>,
    ) -> Result<PendingDispatch<P, V>, E> {
        let PendingDispatch { work, buffers, left } = self;
        Ok(PendingDispatch { work, buffers: f(buffers)?, left })
    }

    /// The same work, of a call that was made so that its operation has nothing to report, although it could.
    #[allow(dead_code, reason = "a build may have no library that calls it")]
    pub(crate) fn never_reports(self) -> PendingDispatch<O> {
        PendingDispatch { work: self.work, buffers: self.buffers, left: PhantomData }
    }

    /// The same work, of a call whose arguments the work itself checks.
    #[allow(dead_code, reason = "a build may have no library that calls it")]
    pub(crate) fn reports(self) -> PendingDispatch<O, Verdict> {
        PendingDispatch { work: self.work, buffers: self.buffers, left: PhantomData }
    }

    /// The same work with the buffers' windows changed.
    #[cfg(any(feature = "cuda", target_os = "linux"))]
    pub(crate) fn map_buffers(self, f: impl FnOnce(Bufs<O>) -> Bufs<O>) -> Self {
        PendingDispatch { work: self.work, buffers: f(self.buffers), left: PhantomData }
    }

    /// Waits and returns the host part alone.
    #[cfg(feature = "ndarray")]
    pub(crate) fn await_host(mut self) -> Result<O::Host> {
        self.work.result()
    }

    pub(crate) fn timing(&self) -> &'static Timing {
        self.work.timing()
    }

    pub(crate) fn task(&self) -> Option<&dyn Ongoing> {
        self.work.task.as_ref().map(|task| &*task.hold)
    }
}

impl<T: Element, V> PendingDispatch<Vec<T>, V> {
    /// Waits and fills `target` instead of making a new vector. Writes nothing unless the lengths agree.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the lengths differ; otherwise as [`await_result`](Self::await_result).
    pub fn await_result_into(mut self, target: &mut [T]) -> Result<()> {
        self.work.result()?.copy_into(target)
    }
}

impl<O: Output, V> std::fmt::Debug for PendingDispatch<O, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PendingDispatch(ready: {})", self.is_ready())
    }
}

// A failure returns buffers, and is a plain error where there are none.
const _: () = {
    const fn plain<O: Output<Writes: crate::core::buffer::Elems<Failure = Error>>>() {}
    const fn with_buffers<O: Output<Writes: crate::core::buffer::Elems<Failure = Rejected<Bufs<O>>>>>() {}
    plain::<()>();
    plain::<f64>();
    plain::<Vec<f32>>();
    plain::<Option<usize>>();
    with_buffers::<crate::core::buffer::DeviceBuffer<f32>>();
    with_buffers::<(crate::core::buffer::DeviceBuffer<f32>, crate::core::buffer::DeviceBuffer<i32>)>();
    with_buffers::<Vec<crate::core::buffer::DeviceBuffer<f32>>>();
    with_buffers::<crate::core::buffer::AnyBuffers>();
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::dispatch::TaskHold;
    use crate::core::op::raw::{Landed, Raw};
    use crate::core::sync::{AtomicBool, Ordering};

    /// Work that settles when it is waited for.
    #[derive(Default)]
    struct Slow(AtomicBool);

    impl Ongoing for Slow {
        fn answer(&self, landing: &mut Landing, _: &mut Made) -> Result<AnyOp<'_>> {
            *landing = Landed::from(vec![f32::from(u8::from(self.is_settled()))]).leave();
            Ok(AnyOp::none())
        }
        fn op(&self) -> Option<AnyOp<'_>> {
            None
        }
        fn is_settled(&self) -> bool {
            self.0.load(Ordering::SeqCst)
        }
        fn wait(&self, _: Wait, _: Option<Deadline>) -> bool {
            self.0.store(true, Ordering::SeqCst);
            true
        }
        fn timing(&self) -> &'static Timing {
            Timing::standard()
        }
        #[cfg(target_os = "linux")]
        fn to_remote(&self, _: RemoteTarget) -> Result<RemoteResult> {
            Ok(RemoteResult::Slot([0; 64]))
        }
        fn abandon(&self) {}
        fn device_time(&self) -> Option<Duration> {
            None
        }
        fn subscribe(&self, _: &Arc<Parker>) -> Subscribed {
            Subscribed::Settled
        }
        fn unsubscribe(&self, _: &Arc<Parker>) {}
    }

    /// A number that an op turns into a vector is available only when the work is done.
    #[test]
    fn a_vector_is_waited_for_unless_it_comes_piece_by_piece() {
        let slow = || Task {
            hold: TaskHold::Shared(Arc::new(Slow::default())),
            conclude: |_, landing, _| Landed::<f32>::land(landing),
        };
        let pending =
            |eager| PendingDispatch::<Vec<f32>, crate::core::op::Verdict>::new(slow(), (), (Wait::Adaptive, eager));
        assert_eq!(pending(false).await_result().unwrap(), [1.0]);
        assert_eq!(pending(true).await_result().unwrap(), [0.0]);
        let mut target = [5.0];
        pending(false).await_result_into(&mut target).unwrap();
        assert_eq!(target, [1.0]);
    }
}
