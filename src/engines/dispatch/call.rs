//! The part of a dispatch that depends on its op.
//!
//! Everything here is compiled once for each op and element type, in every program that submits it, so it is kept
//! small. The rest of a dispatch is long; it is compiled with the library and calls these few functions through a
//! pointer.

#[cfg(feature = "cuda")]
use super::enqueued::Enqueued;
use crate::core::buffer::Elems;
#[cfg(target_os = "linux")]
use crate::core::buffer::{Receive, Shape};
use crate::core::dispatch::{Facts, Ongoing, TaskHold};
use crate::core::error::{Error, Result};
#[cfg(feature = "host")]
use crate::core::op::Cost;
#[cfg(feature = "cuda")]
use crate::core::op::{Contained, Make, Next, Retention};
#[cfg(target_os = "linux")]
use crate::core::op::{Incoming, Outgoing};
#[cfg(feature = "cuda")]
use crate::core::order::KeepAlive;
#[cfg(feature = "host")]
use crate::core::order::Runnable;
use crate::core::sync::Arc;
use crate::core::trace::OpInfo;
#[cfg(feature = "cuda")]
use crate::engines::cuda::{CudaTask, LateFrame, LateJob, LateTask, PhaseTask, Queue, TaskCore};
use crate::engines::dispatch::TaskOf;
#[cfg(feature = "host")]
use crate::engines::host::{Frame, Keep, Node};
#[cfg(feature = "cuda")]
use crate::engines::op::Prepare;
use crate::engines::op::SpansOf;
#[cfg(feature = "host")]
use crate::engines::op::cost_of;
use crate::engines::op::{Op, WritesOf};
use crate::engines::tape::{Answering, Recorded, Step, conclude};
#[cfg(target_os = "linux")]
use crate::engines::worker::{Flight, OpCode, UntypedDispatch, WorkerTask};

/// An op and its operands during submission, and then the task that they have become.
pub(crate) trait Call {
    fn facts(&self) -> &'static Facts;
    /// See [`Op::operand_name`].
    fn operand_name(&self, index: usize, read_count: usize) -> String;
    /// See [`Op::overwrites_each`].
    fn overwrites(&self, index: usize) -> bool;
    /// See [`Op::begins_anew`].
    fn begins_anew(&self) -> bool;
    /// See [`Op::check`].
    fn check(&self) -> Result<()>;
    /// The name for reports: that of the op, or of what it runs (see [`Op::subject`]).
    fn subject(&self) -> &'static &'static str;
    /// For traces.
    fn info(&self, label: Option<&'static str>, stream: Option<usize>) -> Result<OpInfo>;
    /// The task, if the engine has made one.
    fn ongoing(&self) -> Option<&dyn Ongoing>;
    /// Becomes a step of a recording. `answer`: the index of its result in each replay, if it has a result.
    fn become_step(&mut self, recording: u64, answer: Option<usize>) -> Result<Arc<dyn Step>>;

    /// See [`Op::is_prompt`].
    #[cfg(feature = "host")]
    fn is_prompt(&self) -> bool;
    /// See [`Op::cost`].
    #[cfg(all(feature = "host", target_os = "linux"))]
    fn cost(&self) -> Cost;
    /// Becomes a node of the host engine.
    #[cfg(feature = "host")]
    fn become_node(&mut self, frame: Frame, keep: Keep) -> Result<Arc<dyn Runnable>>;

    /// See [`Op::prepare`].
    #[cfg(feature = "cuda")]
    fn prepare(&self, plans: &mut Prepare<'_>) -> Result<()>;
    /// See [`Op::cuda`].
    #[cfg(feature = "cuda")]
    fn half<'q>(&'q self, queue: &'q mut Queue<'q>) -> Result<()>;
    /// See [`Op::next`]. The raw result of the phase is in `leg`.
    #[cfg(feature = "cuda")]
    fn next(&self, phase: usize, leg: &PhaseTask, make: &mut Make<'_>) -> Result<Next>;
    /// Becomes work in flight on a GPU: moves the op into its task. Returns what the ring must keep alive.
    #[cfg(feature = "cuda")]
    fn become_task(&mut self, core: TaskCore) -> Result<Option<Arc<dyn KeepAlive>>>;
    /// Becomes work that is enqueued later.
    #[cfg(feature = "cuda")]
    fn become_late(&mut self, frame: LateFrame) -> Result<Arc<dyn LateJob>>;

    /// Whether the op can be sent to another process: see [`Op::wire`].
    #[cfg(target_os = "linux")]
    fn crosses(&self) -> bool;
    /// The number that identifies the op in the other process.
    #[cfg(target_os = "linux")]
    fn code(&self, by: OpCode) -> Result<u64>;
    /// The operand counts that the types of its operands do not determine.
    #[cfg(target_os = "linux")]
    fn shape(&self, shape: &mut Shape) -> Result<()>;
    #[cfg(target_os = "linux")]
    fn encode(&self, order: &mut Outgoing) -> Result<()>;
    /// Becomes work in flight in a worker.
    #[cfg(target_os = "linux")]
    fn become_flight(&mut self, dispatch: UntypedDispatch) -> Result<Arc<dyn Flight>>;
    /// In the worker: decodes the op.
    #[cfg(target_os = "linux")]
    fn decode(&mut self, incoming: Incoming<'_>) -> Result<()>;
    /// In the worker: assigns the received operands to the op, and returns how many of them are read. `None` if they do
    /// not match the op.
    #[cfg(target_os = "linux")]
    fn receive(&mut self, from: &mut Receive<'_, '_>) -> Option<usize>;
    /// Takes out the task.
    #[cfg(target_os = "linux")]
    fn take_ongoing(&mut self) -> Option<Arc<dyn Ongoing>>;
}

/// An op and its operands, which stay where they are until an engine takes them. Nothing can be passed by value through
/// `&mut dyn Call`, and for a launch each move copies 300 bytes. The price is the error [`taken`], which no caller
/// sees.
pub(crate) struct Typed<'a, O: Op> {
    op: &'a mut Option<O>,
    spans: &'a mut Option<SpansOf<O>>,
    task: Option<TaskOf<O>>,
    /// The same as `task`, before its type is erased.
    #[cfg(feature = "cuda")]
    enqueued: Option<Enqueued<O>>,
}

#[cold]
fn taken() -> Error {
    Error::library("internal error: the operation was already submitted")
}

impl<'a, O: Op> Typed<'a, O> {
    pub(crate) fn new(op: &'a mut Option<O>, spans: &'a mut Option<SpansOf<O>>) -> Self {
        Typed {
            op,
            spans,
            task: None,
            #[cfg(feature = "cuda")]
            enqueued: None,
        }
    }

    /// The task that an engine has made of it.
    pub(crate) fn task(self) -> Result<TaskOf<O>> {
        #[cfg(feature = "cuda")]
        if let Some(task) = self.enqueued {
            return Ok(task.hold());
        }
        match self.task {
            Some(task) => Ok(task),
            None => Err(taken()),
        }
    }

    fn op(&self) -> Option<&O> {
        #[cfg(feature = "cuda")]
        if let Some(task) = &self.enqueued {
            return Some(&*task.task().op);
        }
        self.op.as_ref()
    }
}

impl<O: Op> Call for Typed<'_, O> {
    fn facts(&self) -> &'static Facts {
        Facts::of::<O>()
    }

    fn operand_name(&self, index: usize, read_count: usize) -> String {
        match (&self.op, &self.spans) {
            (Some(op), Some(spans)) => crate::engines::op::operand_name(op, spans, index, read_count),
            _ => format!("operand {index}"),
        }
    }

    fn overwrites(&self, index: usize) -> bool {
        match (&self.op, &self.spans) {
            (Some(op), Some((_, writes))) => op.overwrites_each(writes, index),
            _ => false,
        }
    }

    fn begins_anew(&self) -> bool {
        match &self.op {
            Some(op) => op.begins_anew(),
            None => false,
        }
    }

    fn check(&self) -> Result<()> {
        match (&self.op, &self.spans) {
            (Some(op), Some((reads, writes))) => op.check(reads, writes),
            _ => Err(taken()),
        }
    }

    fn subject(&self) -> &'static &'static str {
        match self.op() {
            Some(op) => op.subject().unwrap_or(const { &O::NAME }),
            None => const { &O::NAME },
        }
    }

    fn info(&self, label: Option<&'static str>, stream: Option<usize>) -> Result<OpInfo> {
        match self.op() {
            Some(op) => Ok(OpInfo::new(op, label, stream)),
            None => Err(taken()),
        }
    }

    fn ongoing(&self) -> Option<&dyn Ongoing> {
        match &self.task {
            Some(task) => Some(&**task),
            None => None,
        }
    }

    fn become_step(&mut self, recording: u64, answer: Option<usize>) -> Result<Arc<dyn Step>> {
        if let Some(Err(reason)) = self.op.as_ref().map(O::capturable) {
            return Err(crate::engines::tape::not_recordable(O::NAME, reason));
        }
        let (Some(op), Some(spans)) = (self.op.take(), self.spans.take()) else { return Err(taken()) };
        let step: Arc<dyn Step> = Arc::new(Recorded::new(op, spans));
        let task = Arc::new(Answering::new(step.clone(), recording, answer, conclude::<O>));
        self.task = Some(TaskHold::Shared(task));
        Ok(step)
    }

    #[cfg(feature = "host")]
    fn is_prompt(&self) -> bool {
        match &self.op {
            Some(op) => op.is_prompt(),
            None => false,
        }
    }

    #[cfg(all(feature = "host", target_os = "linux"))]
    fn cost(&self) -> Cost {
        match &self.op {
            Some(op) => cost_of(op),
            None => Cost::default(),
        }
    }

    #[cfg(feature = "host")]
    fn become_node(&mut self, frame: Frame, keep: Keep) -> Result<Arc<dyn Runnable>> {
        let (Some(op), Some(spans)) = (self.op.take(), self.spans.take()) else { return Err(taken()) };
        let node = Node::new(frame, op, (spans, keep));
        self.task = Some(TaskHold::Shared(node.clone()));
        Ok(node)
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, plans: &mut Prepare<'_>) -> Result<()> {
        match (&self.op, &self.spans) {
            (Some(op), Some((reads, writes))) => op.prepare(reads, writes, plans),
            _ => return Err(taken()),
        }
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn half<'q>(&'q self, queue: &'q mut Queue<'q>) -> Result<()> {
        match (&self.op, &self.spans) {
            (Some(op), Some(spans)) => op.cuda(&mut crate::engines::cuda_enqueue::Enqueue::new(queue, spans)),
            _ => Err(taken()),
        }
    }

    #[cfg(feature = "cuda")]
    fn next(&self, phase: usize, leg: &PhaseTask, make: &mut Make<'_>) -> Result<Next> {
        let raw = leg.raw()?;
        match &self.op {
            Some(op) => op.next(phase, &raw, make),
            None => Err(Error::library("internal error: the operation was dropped between its phases")),
        }
    }

    #[cfg(feature = "cuda")]
    fn become_task(&mut self, mut core: TaskCore) -> Result<Option<Arc<dyn KeepAlive>>> {
        let keeps = match &mut *self.op {
            // What need not outlive the pending is dropped with it: the ring keeps only the little that the device
            // still needs.
            Some(op) if !core.is_held() => op.keeps(),
            _ => Retention::ALL,
        };
        let Some(op) = self.op.take() else { return Err(taken()) };
        let task = CudaTask { op: Contained::new(op), core };
        let (task, cargo) = match keeps.part() {
            Some(cargo) => (Enqueued::Sole(Box::new(task)), cargo),
            None => {
                let task = Arc::new(task);
                (Enqueued::Shared(task.clone()), Some(task as Arc<dyn KeepAlive>))
            }
        };
        self.enqueued = Some(task);
        Ok(cargo)
    }

    #[cfg(feature = "cuda")]
    fn become_late(&mut self, frame: LateFrame) -> Result<Arc<dyn LateJob>> {
        if self.op.is_none() || self.spans.is_none() {
            return Err(taken());
        }
        let task = LateTask::new(frame, self.op.take(), self.spans.take());
        self.task = Some(TaskHold::Shared(task.clone()));
        Ok(task)
    }

    #[cfg(target_os = "linux")]
    fn crosses(&self) -> bool {
        O::wire().is_some()
    }

    #[cfg(target_os = "linux")]
    fn code(&self, by: OpCode) -> Result<u64> {
        by.code::<O>()
    }

    #[cfg(target_os = "linux")]
    fn shape(&self, shape: &mut Shape) -> Result<()> {
        let Some((reads, writes)) = &self.spans else { return Err(taken()) };
        <O::Reads as Elems>::shape(reads, shape);
        <WritesOf<O> as Elems>::shape(writes, shape);
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn encode(&self, order: &mut Outgoing) -> Result<()> {
        match (&self.op, O::wire()) {
            (Some(op), Some(wire)) => (wire.encode)(op, order),
            _ => Err(taken()),
        }
    }

    #[cfg(target_os = "linux")]
    fn become_flight(&mut self, dispatch: UntypedDispatch) -> Result<Arc<dyn Flight>> {
        let Some(op) = self.op.take() else { return Err(taken()) };
        let task = WorkerTask::new(dispatch, op);
        self.task = Some(TaskHold::Shared(task.clone()));
        Ok(task)
    }

    #[cfg(target_os = "linux")]
    fn decode(&mut self, incoming: Incoming<'_>) -> Result<()> {
        match O::wire() {
            Some(wire) => *self.op = Some((wire.decode)(incoming)?),
            None => {
                return Err(Error::unsupported(
                    "the operation cannot run on an isolated device: `Op::wire` is not implemented",
                ));
            }
        }
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn receive(&mut self, from: &mut Receive<'_, '_>) -> Option<usize> {
        let all = from.views.len();
        let reads = <O::Reads as Elems>::receive(from)?;
        let read_count = all - from.views.len();
        *self.spans = Some((reads, <WritesOf<O> as Elems>::receive(from)?));
        Some(read_count)
    }

    #[cfg(target_os = "linux")]
    fn take_ongoing(&mut self) -> Option<Arc<dyn Ongoing>> {
        #[cfg(feature = "cuda")]
        if let Some(task) = self.enqueued.take() {
            return Some(task.hold().into_shared());
        }
        match self.task.take() {
            Some(task) => Some(task.into_shared()),
            None => None,
        }
    }
}
