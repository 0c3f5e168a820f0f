//! An operation on its way into an engine.
//!
//! All of it is compiled once. What is compiled for each operation and its types is its table (`op/facts.rs`).

#[cfg(target_os = "linux")]
use crate::core::buffer::{Receive, Shape};
use crate::core::dispatch::{Ongoing, TaskHold};
use crate::core::error::{Error, Result};
#[cfg(feature = "host")]
use crate::core::op::Cost;
#[cfg(feature = "cuda")]
use crate::core::op::raw::Landing;
#[cfg(target_os = "linux")]
use crate::core::op::{Incoming, Outgoing};
#[cfg(feature = "cuda")]
use crate::core::op::{Make, Next};
use crate::core::sync::Arc;
use crate::core::trace::OpInfo;
#[cfg(target_os = "linux")]
use crate::engines::op::OpCode;
use crate::engines::op::{Facts, OpMemory, OpRef, Operation, taken};
#[cfg(feature = "cuda")]
use crate::engines::op::{Prepare, QueueRef};
use crate::engines::tape::{Answering, Step, not_recordable};

/// An op and its operands during submission, and then the task that they have become.
///
/// Both stay where they are until an engine takes them: for a launch each move copies 300 bytes. What is not there any more
/// is the error [`taken`], which no caller sees.
pub(crate) struct Call<'c> {
    /// The engines move it into a task of their own, which they set.
    pub(crate) memory: OpMemory<'c>,
    pub(crate) task: Option<TaskHold>,
}

impl<'c> Call<'c> {
    #[inline]
    pub(crate) fn new(memory: OpMemory<'c>) -> Self {
        Call { memory, task: None }
    }

    /// The task that an engine has made of it.
    #[inline]
    pub(crate) fn task(self) -> Result<TaskHold> {
        match self.task {
            Some(task) => Ok(task),
            None => Err(taken()),
        }
    }

    /// Takes the task out.
    #[cfg(any(feature = "cuda", target_os = "linux"))]
    pub(crate) fn take(&mut self) -> Option<TaskHold> {
        self.task.take()
    }

    /// The task, if the engine has made one.
    pub(crate) fn ongoing(&self) -> Option<&dyn Ongoing> {
        match &self.task {
            Some(task) => Some(&**task),
            None => None,
        }
    }

    /// Drops the op and its operands, if no task has them.
    #[cfg(feature = "cuda")]
    pub(crate) fn clear(&mut self) {
        self.memory.clear();
    }

    #[inline]
    pub(crate) fn facts(&self) -> &'static Facts {
        self.memory.facts()
    }

    /// The op, also in the task.
    fn op(&self) -> Option<OpRef<'_>> {
        self.memory.op().or_else(|| OpRef::of_any(self.facts(), self.ongoing()?.op()?))
    }

    /// The op and its operands' spans.
    #[inline]
    pub(crate) fn operation(&self) -> Result<Operation<'_>> {
        match self.memory.operation() {
            Some(operation) => Ok(operation),
            None => Err(taken()),
        }
    }

    /// See [`Op::operand_name`](crate::op::Op::operand_name).
    pub(crate) fn operand_name(&self, index: usize, read_count: usize) -> String {
        match self.memory.operation() {
            Some(operation) => operation.operand_name(index, read_count),
            None => format!("operand {index}"),
        }
    }

    /// See [`Op::check`](crate::op::Op::check).
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        match self.memory.operation() {
            Some(operation) => operation.check(),
            None => Err(taken()),
        }
    }

    /// The name for reports: that of the op, or of what it runs (see [`Op::subject`](crate::op::Op::subject)).
    #[inline]
    pub(crate) fn subject(&self) -> &'static &'static str {
        self.memory.op().and_then(|op| op.properties().subject).unwrap_or(self.facts().title)
    }

    /// For traces.
    pub(crate) fn info(&self, label: Option<&'static str>, stream: Option<usize>) -> Result<OpInfo> {
        match self.op() {
            Some(op) => Ok(self.facts().info(Some(op), label, stream)),
            None => Err(taken()),
        }
    }

    /// Becomes a step of a recording. `answer`: the index of its result in each replay, if it has a result.
    pub(crate) fn become_step(&mut self, recording: u64, answer: Option<usize>) -> Result<Arc<Step>> {
        if let Err(reason) = self.operation()?.op().capturable() {
            return Err(not_recordable(self.facts().name, reason));
        }
        let step = Step::new(&mut self.memory);
        self.task = Some(TaskHold::Shared(Arc::new(Answering::new(step.clone(), recording, answer))));
        Ok(step)
    }

    /// See [`Op::is_prompt`](crate::op::Op::is_prompt).
    #[cfg(feature = "host")]
    pub(crate) fn is_prompt(&self) -> bool {
        self.memory.op().is_some_and(|op| op.properties().is_prompt)
    }

    /// See [`Op::cost`](crate::op::Op::cost).
    #[cfg(all(feature = "host", target_os = "linux"))]
    pub(crate) fn cost(&self) -> Cost {
        self.memory.op().map(OpRef::cost).unwrap_or_default()
    }

    /// See [`Op::prepare`](crate::op::Op::prepare).
    #[cfg(feature = "cuda")]
    pub(crate) fn prepare(&self, plans: &mut Prepare<'_>) -> Result<()> {
        self.operation()?.prepare(plans);
        Ok(())
    }

    /// See [`Op::cuda`](crate::op::Op::cuda).
    #[cfg(feature = "cuda")]
    #[inline]
    pub(crate) fn half(&self, queue: QueueRef<'_>) -> Result<()> {
        match self.memory.operation() {
            Some(operation) => operation.cuda(queue),
            None => Err(taken()),
        }
    }

    /// See [`Op::next`](crate::op::Op::next). The raw result of the phase is in `leg`.
    #[cfg(feature = "cuda")]
    pub(crate) fn next(&self, phase: usize, landing: Landing, make: &mut Make<'_>) -> Result<Next> {
        match self.memory.op() {
            Some(op) => op.next(phase, landing, make),
            None => Err(Error::library("internal error: the operation was dropped between its phases")),
        }
    }

    /// Whether the op can be sent to another process: see [`Op::wire`](crate::op::Op::wire).
    #[cfg(target_os = "linux")]
    pub(crate) fn crosses(&self) -> bool {
        self.memory.crosses()
    }

    /// The number that identifies the op in the other process.
    #[cfg(target_os = "linux")]
    pub(crate) fn code(&self, by: OpCode) -> Result<u64> {
        by.code(self.memory.op().ok_or_else(taken)?)
    }

    /// The operand counts that the types of its operands do not determine.
    #[cfg(target_os = "linux")]
    pub(crate) fn shape(&self, shape: &mut Shape) -> Result<()> {
        self.operation()?.shape(shape);
        Ok(())
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn encode(&self, order: &mut Outgoing) -> Result<()> {
        match self.memory.op().ok_or_else(taken)?.encode(order)? {
            true => Ok(()),
            false => Err(taken()), // the caller has asked before
        }
    }

    /// In the worker: decodes the op.
    #[cfg(target_os = "linux")]
    pub(crate) fn decode(&mut self, incoming: Incoming<'_>) -> Result<()> {
        self.memory.decode(incoming)
    }

    /// In the worker: assigns the received operands to the op, and returns how many of them are read. `None` if they do
    /// not match the op.
    #[cfg(target_os = "linux")]
    pub(crate) fn receive(&mut self, from: &mut Receive<'_, '_>) -> Option<usize> {
        self.memory.receive(from)
    }

    /// Takes out the task.
    #[cfg(target_os = "linux")]
    pub(crate) fn take_ongoing(&mut self) -> Option<Arc<dyn Ongoing>> {
        self.take().map(TaskHold::into_shared)
    }
}
