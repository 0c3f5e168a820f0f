//! One recorded op: the part that depends on its type, and the pending that its recording returns.
//!
//! All of `Step` is compiled again for each op type in every program, so it is kept small.

use super::Fuse;
#[cfg(target_os = "linux")]
use crate::core::buffer::Shape;
use crate::core::buffer::{Elems, Places};
use crate::core::clock::{Deadline, Timing};
use crate::core::dispatch::{Ongoing, Subscribed, Task, Wait};
use crate::core::error::{Error, Result};
#[cfg(target_os = "linux")]
use crate::core::op::Outgoing;
use crate::core::op::raw::{Landing, Raw, RemoteResult, RemoteTarget};
use crate::core::op::{Contained, Made, contained};
use crate::core::order::Parker;
use crate::core::sync::{Arc, Mutex};
#[cfg(feature = "cuda")]
use crate::engines::cuda::Queue;
#[cfg(feature = "cuda")]
use crate::engines::op::Prepare;
use crate::engines::op::SpansOf;
use crate::engines::op::{HostOf, Op, WritesOf};
#[cfg(target_os = "linux")]
use crate::engines::worker::OpCode;
use std::any::Any;
use std::time::Duration;

/// The error for an operation that cannot be recorded.
#[cold]
pub(crate) fn not_recordable(op: &'static str, reason: &str) -> Error {
    Error::unsupported(format!("`{op}` cannot be recorded: {reason}"))
}

/// The raw answer that a step leaves for the host.
pub(crate) type Cell = [u8; 64];
/// Converts a step's raw answer into the value that its caller gets.
pub(crate) type Conclude<H> = fn(&(dyn Any + Send + Sync), Cell) -> Result<H>;

/// A recorded op. Its operands are where [`place`](Step::place) has put them. At most one replay runs it at a time.
pub(crate) trait Step: Any + Send + Sync {
    /// Calls `visit` with the address of each operand in their order, to read or to change it.
    fn place(&self, visit: &mut Places<'_>);
    /// Runs its host half.
    ///
    /// # Safety
    /// Its operands lie in live memory of this process; no other code writes what it reads, and no other code accesses
    /// what it writes.
    #[cfg(feature = "host")]
    unsafe fn host(&self) -> Result<Cell>;
    /// See [`Op::FUSE`].
    fn fuse(&self) -> Fuse;
    /// The form from which a worker process makes this step again.
    #[cfg(target_os = "linux")]
    fn crossing(&self, by: OpCode) -> Result<Crossing>;
    /// The [`Conclude`] function of its op.
    #[cfg(target_os = "linux")]
    fn conclusion(&self) -> &'static dyn Any;
    /// See [`Op::prepare`].
    #[cfg(feature = "cuda")]
    fn prepare(&self, plans: &mut Prepare<'_>);
    /// See [`Op::cuda`].
    #[cfg(feature = "cuda")]
    fn half(&self, queue: &mut Queue<'_>) -> Result<()>;
}

/// An op in the form that is sent to a worker process: its code, its own bytes, and what the types of its operands
/// leave open.
#[cfg(target_os = "linux")]
pub(crate) struct Crossing {
    pub(crate) code: u64,
    pub(crate) op: Vec<u8>,
    pub(crate) shape: Vec<u32>,
}

/// The op, and the places of its operands.
pub(crate) struct Recorded<O: Op> {
    op: Contained<O>,
    spans: Mutex<SpansOf<O>>,
}

impl<O: Op> Recorded<O> {
    pub(crate) fn new(op: O, spans: SpansOf<O>) -> Self {
        Recorded { op: Contained::new(op), spans: Mutex::new(spans) }
    }

    /// The op, and the places of its operands: of those that it reads, and of those that it writes.
    pub(crate) fn parts(&self) -> (&O, impl std::ops::Deref<Target = SpansOf<O>> + '_) {
        (&*self.op, self.spans.lock())
    }
}

impl<O: Op> Step for Recorded<O> {
    fn place(&self, visit: &mut Places<'_>) {
        let (reads, writes) = &mut *self.spans.lock();
        <O::Reads as Elems>::places(reads, visit);
        <WritesOf<O> as Elems>::places(writes, visit);
    }

    #[cfg(feature = "host")]
    unsafe fn host(&self) -> Result<Cell> {
        let (reads, writes) = &*self.spans.lock();
        // SAFETY: the caller guarantees what `host_half` requires.
        let raw = unsafe { crate::engines::host::host_half(&*self.op, reads, writes, None) }?;
        let leaving = RemoteTarget {
            #[cfg(target_os = "linux")]
            lent: None,
        };
        match raw.to_remote(leaving)? {
            RemoteResult::Slot(cell) => Ok(cell),
            RemoteResult::Bulk(_) => {
                Err(Error::library("internal error: the result of a step is larger than its slot"))
            }
        }
    }

    fn fuse(&self) -> Fuse {
        O::FUSE
    }

    #[cfg(target_os = "linux")]
    fn crossing(&self, by: OpCode) -> Result<Crossing> {
        let mut out = Outgoing { bytes: Vec::new(), block: None };
        match O::wire() {
            Some(wire) => (wire.encode)(&*self.op, &mut out)?,
            None => {
                return Err(not_recordable(
                    O::NAME,
                    "it cannot be sent to a worker process: `Op::wire` is not implemented",
                ));
            }
        }
        if out.block.is_some() {
            return Err(not_recordable(O::NAME, "it sends bulk data to a worker process"));
        }
        let (reads, writes) = &*self.spans.lock();
        let mut shape = Shape::new();
        <O::Reads as Elems>::shape(reads, &mut shape);
        <WritesOf<O> as Elems>::shape(writes, &mut shape);
        Ok(Crossing { code: by.code::<O>()?, op: out.bytes, shape: shape.to_vec() })
    }

    #[cfg(target_os = "linux")]
    fn conclusion(&self) -> &'static dyn Any {
        const { &(conclude::<O> as Conclude<HostOf<O>>) }
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, plans: &mut Prepare<'_>) {
        let (reads, writes) = &*self.spans.lock();
        self.op.prepare(reads, writes, plans);
    }

    #[cfg(feature = "cuda")]
    fn half(&self, queue: &mut Queue<'_>) -> Result<()> {
        let spans = self.spans.lock();
        self.op.cuda(&mut crate::engines::cuda_enqueue::Enqueue::new(&mut queue.lend(), &spans))
    }
}

/// Lets the step's op convert its raw answer.
pub(crate) fn conclude<O: Op>(step: &(dyn Any + Send + Sync), cell: Cell) -> Result<HostOf<O>> {
    match step.downcast_ref::<Recorded<O>>() {
        Some(recorded) => {
            let raw = O::Raw::land(Landing::Slot(cell))?;
            let host = contained(|| recorded.op.conclude(raw, &mut Made::default()));
            host.map_err(|error| error.in_op(O::NAME, O::LIBRARY))
        }
        None => Err(Error::invalid("later", "it was made for an operation that the program did not take")),
    }
}

/// The pending of a recorded op: it is settled at once. The answer that a device would give comes with each replay.
pub(crate) struct Answering<H> {
    /// The op as it was recorded. An answer of a replay comes with the op that left it.
    step: Arc<dyn Step>,
    recording: u64,
    /// The index of its answer in each replay; `None` for an op that leaves nothing, whose host value is already known.
    answer: Option<usize>,
    conclude: Conclude<H>,
}

impl<H> Answering<H> {
    pub(crate) fn new(step: Arc<dyn Step>, recording: u64, answer: Option<usize>, conclude: Conclude<H>) -> Self {
        Answering { step, recording, answer, conclude }
    }
}

impl<H> Task<H> for Answering<H> {
    fn take(&self, made: &mut Made) -> Result<H> {
        match (made.answer.take(), self.answer) {
            (Some(answer), _) => (self.conclude)(&*answer.step, answer.cell),
            (None, None) => (self.conclude)(&*self.step, [0; 64]),
            (None, Some(_)) => Err(Error::unsupported(
                "a recorded operation has a result only after a replay: pass its pending to `Recorder::later`",
            )),
        }
    }
}

impl<H> Ongoing for Answering<H> {
    fn is_settled(&self) -> bool {
        true
    }
    fn wait(&self, _: Wait, _: Option<Deadline>) -> bool {
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
    fn recorded(&self) -> Option<(u64, usize)> {
        Some((self.recording, self.answer?))
    }
    fn device_time(&self) -> Option<Duration> {
        None
    }
    fn subscribe(&self, _: &Arc<Parker>) -> Subscribed {
        Subscribed::Settled
    }
    fn unsubscribe(&self, _: &Arc<Parker>) {}
}
