//! One recorded op, and the pending that its recording returns.

use crate::core::buffer::Places;
#[cfg(target_os = "linux")]
use crate::core::buffer::Shape;
use crate::core::clock::{Deadline, Timing};
use crate::core::dispatch::{Ongoing, Subscribed, Wait};
use crate::core::error::{Error, Result};
#[cfg(target_os = "linux")]
use crate::core::op::Outgoing;
use crate::core::op::raw::Landing;
#[cfg(target_os = "linux")]
use crate::core::op::raw::{RemoteResult, RemoteTarget};
use crate::core::op::{AnyOp, Made};
use crate::core::order::Parker;
use crate::core::sync::{Arc, Mutex};
#[cfg(target_os = "linux")]
use crate::engines::op::OpCode;
use crate::engines::op::{Facts, Op, OpMemory, Operation, Payload, SpansOf, StackOp, taken};
#[cfg(feature = "cuda")]
use crate::engines::op::{Prepare, QueueRef};
use std::time::Duration;

/// The error for an operation that cannot be recorded.
#[cold]
pub(crate) fn not_recordable(op: &'static str, reason: &str) -> Error {
    Error::unsupported(format!("`{op}` cannot be recorded: {reason}"))
}

/// The raw answer that a step leaves for the host.
pub(crate) type Cell = [u8; 64];

/// A recorded op. Its operands are where [`place`](Step::place) has put them. At most one replay runs it at a time.
pub(crate) struct Step {
    /// In a block of its own. Its spans are used under the lock alone.
    op: Payload<0>,
    spans: Mutex<()>,
}

/// An op in the form that is sent to a worker process: its code, its own bytes, and what the types of its operands
/// leave open.
#[cfg(target_os = "linux")]
pub(crate) struct Crossing {
    pub(crate) code: u64,
    pub(crate) op: Vec<u8>,
    pub(crate) shape: Vec<u32>,
}

impl Step {
    /// Moves the op, which was checked, out of its place.
    pub(crate) fn new(from: &mut OpMemory<'_>) -> Arc<Self> {
        Arc::new(Step { op: Payload::boxed(from), spans: Mutex::new(()) })
    }

    /// An op that was made of others. It is checked here, as a dispatch would be.
    pub(crate) fn checked<O: Op>(op: O, spans: SpansOf<O>) -> Result<Arc<Self>> {
        op.check(&spans.0, &spans.1)?;
        let mut held = StackOp::new(op);
        held.set(spans);
        Ok(Step::new(&mut held.memory()))
    }

    pub(crate) fn facts(&self) -> &'static Facts {
        self.op.facts()
    }

    /// The op.
    pub(crate) fn op(&self) -> Result<AnyOp<'_>> {
        self.op.op().map(|op| op.any()).ok_or_else(taken)
    }

    /// The op, if it is of this type, and the places of its operands: of those that it reads, and of those that it writes.
    pub(crate) fn parts<O: Op>(&self) -> Option<(&O, SpansOf<O>)>
    where
        SpansOf<O>: Clone,
    {
        let _placed = self.spans.lock();
        let (op, spans) = self.op.operation()?.downcast::<O>()?;
        Some((op, spans.clone()))
    }

    fn with<T>(&self, f: impl FnOnce(Operation<'_>) -> Result<T>) -> Result<T> {
        let _placed = self.spans.lock();
        f(self.op.operation().ok_or_else(taken)?)
    }

    /// Calls `visit` with the address of each operand in their order, to read or to change it.
    pub(crate) fn place(&self, visit: &mut Places<'_>) {
        let _placed = self.spans.lock();
        // SAFETY: the spans are used under this lock alone.
        unsafe { self.op.places(visit) };
    }

    /// Runs its host half.
    ///
    /// # Safety
    /// Its operands lie in live memory of this process; no other code writes what it reads, and no other code accesses
    /// what it writes.
    #[cfg(feature = "host")]
    pub(crate) unsafe fn host(&self) -> Result<Cell> {
        // SAFETY: the caller guarantees it; the step was checked before it was made.
        match self.with(|operation| unsafe { operation.host(None) })? {
            Landing::Nothing => Ok([0; 64]),
            Landing::Slot(cell) => Ok(cell),
            _ => Err(Error::library("internal error: the result of a step is larger than its slot")),
        }
    }

    /// The form from which a worker process makes this step again.
    #[cfg(target_os = "linux")]
    pub(crate) fn crossing(&self, by: OpCode) -> Result<Crossing> {
        self.with(|operation| {
            let (name, mut out) = (self.facts().name, Outgoing { bytes: Vec::new(), block: None });
            if !operation.op().encode(&mut out)? {
                return Err(not_recordable(
                    name,
                    "it cannot be sent to a worker process: `Op::wire` is not implemented",
                ));
            }
            if out.block.is_some() {
                return Err(not_recordable(name, "it sends bulk data to a worker process"));
            }
            let mut shape = Shape::new();
            operation.shape(&mut shape);
            Ok(Crossing { code: by.code(operation.op())?, op: out.bytes, shape: shape.to_vec() })
        })
    }

    /// See [`Op::prepare`].
    #[cfg(feature = "cuda")]
    pub(crate) fn prepare(&self, plans: &mut Prepare<'_>) -> Result<()> {
        self.with(|operation| {
            operation.prepare(plans);
            Ok(())
        })
    }

    /// See [`Op::cuda`].
    #[cfg(feature = "cuda")]
    pub(crate) fn half(&self, queue: QueueRef<'_>) -> Result<()> {
        self.with(|operation| operation.cuda(queue))
    }
}

/// The pending of a recorded op: it is settled at once. The answer that a device would give comes with each replay.
pub(crate) struct Answering {
    /// The op as it was recorded. An answer of a replay comes with the op that left it.
    step: Arc<Step>,
    recording: u64,
    /// The index of its answer in each replay; `None` for an op that leaves nothing, whose host value is already known.
    answer: Option<usize>,
}

impl Answering {
    pub(crate) fn new(step: Arc<Step>, recording: u64, answer: Option<usize>) -> Self {
        Answering { step, recording, answer }
    }
}

impl Ongoing for Answering {
    fn answer(&self, landing: &mut Landing, _: &mut Made) -> Result<AnyOp<'_>> {
        if self.answer.is_some() {
            return Err(Error::unsupported(
                "a recorded operation has a result only after a replay: pass its pending to `Recorder::later`",
            ));
        }
        *landing = Landing::Slot([0; 64]);
        self.step.op()
    }
    fn op(&self) -> Option<AnyOp<'_>> {
        self.step.op().ok()
    }
    fn failed(&self, error: Error) -> Error {
        let facts = self.step.facts();
        error.in_op(facts.name, facts.library)
    }
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
