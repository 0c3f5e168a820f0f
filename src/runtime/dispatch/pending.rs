//! Work in flight.

mod host;

pub use host::PendingHost;

#[cfg(target_os = "linux")]
use super::raw::{RemoteResult, RemoteTarget};
use super::{Parker, Wait};
use crate::clock::{Deadline, Timing};
use crate::error::Rejected;
use crate::op::{Bufs, Immediate, Made, Output, contained};
use crate::sync::Arc;
use crate::{Element, Error, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// What an engine promises of a piece of work. `H` is the host's part of its answer.
pub(crate) trait Task<H>: Ongoing {
    /// The host's part, once, with the buffers that were made on the way where the engine did not keep them itself. Before
    /// the work is settled only for an output that is [`Output::EAGER`].
    ///
    /// Calls the op's author's code, whose panic is the caller's to catch.
    fn take(&self, made: &mut Made) -> Result<H>;
}

/// The same without the type of its answer.
pub(crate) trait Ongoing: Send + Sync {
    /// The answer is there, also when it is an error. Looks, never waits.
    fn is_settled(&self) -> bool;
    /// Waits; false when the time ran out first.
    fn wait(&self, how: Wait, until: Option<Deadline>) -> bool;
    /// The clock and the limits of its device.
    fn timing(&self) -> &'static Timing;
    /// An error of taking it, with where that was.
    fn failed(&self, error: Error) -> Error {
        error
    }
    /// What the device left, for another process, instead of [`take`](Task::take).
    #[cfg(target_os = "linux")]
    fn to_remote(&self, to: RemoteTarget) -> Result<RemoteResult>;
    /// The result will not be asked for.
    fn abandon(&self);
    /// Of which recording it is, and where its answer is in each replay.
    fn recorded(&self) -> Option<(u64, usize)> {
        None
    }
    /// Time on the device, when it was asked for at submission. After it settled.
    fn device_time(&self) -> Option<Duration>;
    /// Asks for `parker` to be woken.
    fn subscribe(&self, parker: &Arc<Parker>) -> Subscribed;
    /// Takes that back.
    fn unsubscribe(&self, parker: &Arc<Parker>);
    /// Has `then` called when it settles, on whatever thread that happens, or at once; gives it back where the engine
    /// tells nobody, so that the caller must look.
    fn tell(&self, then: Then) -> Option<Then> {
        Some(then)
    }
    /// Where it stands in an engine that works queue by queue: which queue, and the place in it. `None` while that is not
    /// known.
    #[cfg(target_os = "linux")]
    fn place(&self) -> Option<(usize, u64)> {
        Some((0, 0))
    }
    /// How many of the first bytes of bulk data are where another process waits for them.
    #[cfg(target_os = "linux")]
    fn arrived(&self) -> u64 {
        0
    }
    /// What it follows in other queues is done: the device is at it once all before it in its own are.
    #[cfg(target_os = "linux")]
    fn may_run(&self) -> bool {
        true
    }
}

/// Called when work settles.
pub(crate) type Then = Box<dyn FnOnce() + Send>;

/// Answer to [`Ongoing::subscribe`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subscribed {
    /// Settled meanwhile: nobody will be woken.
    Settled,
    /// Will be woken.
    Armed,
    /// This engine wakes nobody: look again now and then.
    Poll,
}

/// An output and the time the device spent on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timed<O> {
    /// The output.
    pub output: O,
    /// Time between the beginning and the end of the work on the device; `None` unless
    /// [`Device::timed`](crate::Device::timed) asked for it at submission.
    pub device: Option<Duration>,
}

/// Work in flight: its completion, and the output that it will give.
///
/// Dropping one does nothing at all: the work goes on, and what it needs is kept alive until it is done. The buffers in
/// the output are freed once the device is done with them.
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
#[must_use = "dropping a pending drops its output"]
pub struct PendingDispatch<O: Output> {
    work: Work<O::Host>,
    buffers: Bufs<O>,
}

/// The task with its wait policy; abandons the result when dropped unasked.
struct Work<H> {
    task: Option<Arc<dyn Task<H>>>,
    how: Wait,
    /// The host's part may be asked for before the work is done.
    eager: bool,
}

impl<H> Work<H> {
    fn is_ready(&self) -> bool {
        self.task.as_ref().is_none_or(|t| t.is_settled())
    }

    /// That of the device; where the result was taken, nothing is left to wait for.
    fn timing(&self) -> &'static Timing {
        self.task.as_ref().map_or_else(Timing::standard, |task| task.timing())
    }

    fn wait(&self, until: Option<Deadline>) -> bool {
        match &self.task {
            Some(_) if crate::host::inside_op() => self.is_ready(),
            Some(task) => task.wait(self.how, until),
            None => true,
        }
    }

    /// Waits (unless the pieces can be waited for one by one) and takes the host's part.
    fn result(&mut self) -> Result<H> {
        if !self.is_ready() {
            crate::host::refuse_inside("a wait")?;
        }
        // Piece by piece is a way of spinning; every other policy waits for the whole.
        if !self.eager || !matches!(self.how, Wait::Adaptive | Wait::Spin) {
            self.wait(None);
        }
        match self.task.take() {
            Some(task) => catch_unwind(AssertUnwindSafe(|| task.take(&mut Made::default())))
                .unwrap_or_else(|panic| Err(task.failed(Error::panicked(&*panic)))),
            None => Err(Error::library("the result was already taken")),
        }
    }
}

impl<H> Drop for Work<H> {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abandon();
        }
    }
}

impl<O: Output> PendingDispatch<O> {
    pub(crate) fn new(task: Arc<dyn Task<O::Host>>, buffers: Bufs<O>, (how, eager): (Wait, bool)) -> Self {
        PendingDispatch { work: Work { task: Some(task), how, eager }, buffers }
    }

    /// The answer is there, also when it is an error. Usually one atomic load.
    pub fn is_ready(&self) -> bool {
        self.work.is_ready()
    }

    /// Waits by this pending's policy instead of the device's.
    pub fn waiting(mut self, how: Wait) -> Self {
        self.work.how = how;
        self
    }

    /// Waits and gives the output.
    ///
    /// In process, nobody can stop an endless kernel: this waits as long as it runs.
    ///
    /// # Errors
    /// The failure of the work, of something it follows, of the device, or a numerical verdict; with the buffers, unless
    /// their state cannot be proven.
    pub fn await_result(mut self) -> Result<O, Rejected<Bufs<O>>> {
        match self.work.result() {
            Ok(host) => contained(|| O::join(self.buffers, host)).map_err(Rejected::from),
            Err(error) => Err(Rejected::new(error, self.buffers)),
        }
    }

    /// Waits at most `limit`; gives the pending back when that was not enough.
    ///
    /// # Errors
    /// Outer: still in flight. Inner: as [`await_result`](Self::await_result).
    pub fn await_timeout(self, limit: Duration) -> Result<Result<O, Rejected<Bufs<O>>>, Self> {
        if self.wait_timeout(limit) { Ok(self.await_result()) } else { Err(self) }
    }

    /// Waits at most `limit`. True when the answer is there.
    pub fn wait_timeout(&self, limit: Duration) -> bool {
        self.work.wait(self.work.timing().clock.after(limit))
    }

    /// Waits and gives the output with the time that the device spent on it.
    ///
    /// # Errors
    /// As [`await_result`](Self::await_result).
    pub fn await_timed(self) -> Result<Timed<O>, Rejected<Bufs<O>>> {
        self.work.wait(None);
        let device = self.work.task.as_ref().and_then(|t| t.device_time());
        let output = self.await_result()?;
        Ok(Timed { output, device })
    }

    /// The output at once, for the next operation to follow on the device.
    ///
    /// Exists only where nothing is left to report. Should the work fail after all, what reads the output answers
    /// [`Error::Upstream`].
    pub fn into_output(self) -> O
    where
        O: Immediate,
    {
        O::assemble(self.buffers)
    }

    /// The buffers now, for the next operation to follow on the device; the verdict stays a pending.
    pub fn split(self) -> (Bufs<O>, PendingHost<O::Host>) {
        (self.buffers, PendingHost { work: self.work })
    }

    /// The same work, its buffers in another shape.
    pub(crate) fn retype<P: Output<Host = O::Host>, E>(
        self,
        f: impl FnOnce(Bufs<O>) -> Result<Bufs<P>, E>,
    ) -> Result<PendingDispatch<P>, E> {
        let PendingDispatch { work, buffers } = self;
        Ok(PendingDispatch { work, buffers: f(buffers)? })
    }

    /// The same work with the buffers' windows changed.
    #[cfg(any(feature = "cuda", target_os = "linux"))]
    pub(crate) fn map_buffers(self, f: impl FnOnce(Bufs<O>) -> Bufs<O>) -> Self {
        PendingDispatch { work: self.work, buffers: f(self.buffers) }
    }

    /// Waits and gives the host's part alone.
    #[cfg(feature = "ndarray")]
    pub(crate) fn await_host(mut self) -> Result<O::Host> {
        self.work.result()
    }

    pub(super) fn timing(&self) -> &'static Timing {
        self.work.timing()
    }

    pub(super) fn task(&self) -> Option<&Arc<dyn Task<O::Host>>> {
        self.work.task.as_ref()
    }
}

impl<T: Element> PendingDispatch<Vec<T>> {
    /// Waits and fills `target` instead of making a new vector. Nothing is written unless the lengths agree.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the lengths differ; else as [`await_result`](Self::await_result).
    pub fn await_result_into(mut self, target: &mut [T]) -> Result<()> {
        self.work.result()?.copy_into(target)
    }
}

impl<O: Output> std::fmt::Debug for PendingDispatch<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PendingDispatch(ready: {})", self.is_ready())
    }
}

// Everything that a program holds goes from thread to thread, and may be looked at by several at once.
const _: () = {
    const fn anywhere<T: Send + Sync>() {}
    anywhere::<crate::Device>();
    anywhere::<crate::DeviceBuilder>();
    anywhere::<crate::DeviceBuffer<f32>>();
    anywhere::<crate::GpuRef<f32>>();
    anywhere::<PendingDispatch<crate::DeviceBuffer<f32>>>();
    anywhere::<PendingDispatch<Vec<f32>>>();
    anywhere::<PendingHost<f32>>();
    anywhere::<Rejected<(crate::DeviceBuffer<f32>,)>>();
    anywhere::<Error>();
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::{AtomicBool, Ordering};

    /// Work that is over once it was waited for.
    #[derive(Default)]
    struct Slow(AtomicBool);

    impl Task<crate::Landed<f32>> for Slow {
        fn take(&self, _: &mut Made) -> Result<crate::Landed<f32>> {
            Ok(vec![f32::from(u8::from(self.is_settled()))].into())
        }
    }

    impl Ongoing for Slow {
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

    /// A number that an operation turns into a vector is there when its work is done, and not before.
    #[test]
    fn a_vector_is_waited_for_unless_it_comes_piece_by_piece() {
        let pending = |eager| PendingDispatch::<Vec<f32>>::new(Arc::new(Slow::default()), (), (Wait::Adaptive, eager));
        assert_eq!(pending(false).await_result().unwrap(), [1.0]);
        assert_eq!(pending(true).await_result().unwrap(), [0.0]);
        let mut target = [5.0];
        pending(false).await_result_into(&mut target).unwrap();
        assert_eq!(target, [1.0]);
    }
}
