//! Which step fails.

use super::operands::{Moved, ReplayReads};
use super::replay::Answers;
use super::{Program, Replayed};
use crate::core::buffer::{AnyBuffers, AnyIns};
use crate::core::error::Error;
use crate::core::op::raw::Cells;
use crate::engines::tape::step::Cell;

/// The step of a program that failed, and its error: returned by [`Program::bisect`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StepFailure {
    /// The step's number; the number of steps if the failure belongs to none of them.
    pub step: usize,
    /// The operation's name.
    pub op: &'static str,
    /// Its library.
    pub library: &'static str,
    /// The label that it was recorded under.
    pub label: Option<&'static str>,
    /// What it failed with.
    pub error: Error,
}

impl std::fmt::Display for StepFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "step {} (`{}` of {}", self.step, self.op, self.library)?;
        if let Some(label) = self.label {
            write!(f, ", \"{label}\"")?;
        }
        write!(f, "): {}", self.error)
    }
}

impl std::error::Error for StepFailure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

impl Program {
    /// Replays one step after another and waits for each, so that a failure, such as a device fault, is attributed to
    /// the step that caused it. This is slow and is meant for finding a fault.
    ///
    /// A fault of a GPU in this process is found too, but it still ends CUDA for the process.
    ///
    /// # Errors
    /// The first step that fails. The buffers are then lost.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let device = windlass::Device::host()?;
    /// let (mut program, norm) = device.record(|r| {
    ///     let x = r.blas().scal(2.0, r.operand::<f64>(2)?)?.into_buffer();
    ///     r.later(r.blas().nrm2(&x)?)
    /// })?;
    /// let x = device.upload(vec![3.0f64, 4.0])?.into_output();
    /// let done = program.bisect((), (x,))?;
    /// assert_eq!(done.get(&norm)?, 10.0);
    /// # Ok(()) }
    /// ```
    pub fn bisect<'a, W: Moved>(
        &'a mut self,
        reads: impl ReplayReads<'a>,
        writes: W,
    ) -> Result<Replayed<W::Back>, Box<StepFailure>> {
        let program = &*self;
        let outside = |error| program.failure(program.plan.nodes.len(), error);
        let reads = reads.into_reads(program.read()).map_err(outside)?;
        let (mut writes, kept) = writes.into_any(program.written()).map_err(|rejected| outside(rejected.error))?;
        let mut cells = vec![0u8; program.plan.answers * size_of::<Cell>()];
        for (step, node) in program.plan.nodes.iter().enumerate() {
            let (buffers, answers) = program.run_step(step, reads.clone(), writes)?;
            writes = buffers;
            if let Some(answer) = node.answer {
                let at = answer * size_of::<Cell>()..(answer + 1) * size_of::<Cell>();
                if let (Some(to), Some(from)) = (cells.get_mut(at.clone()), answers.cells.0.get(at)) {
                    to.copy_from_slice(from);
                }
            }
        }
        let answers = Answers { plan: program.plan.clone(), cells: Cells::from(cells) };
        Ok(Replayed::new(W::back(writes, kept).map_err(outside)?, answers))
    }

    /// Runs one step and waits for it.
    pub(super) fn run_step<'s>(
        &'s self,
        step: usize,
        reads: AnyIns<'s>,
        writes: AnyBuffers,
    ) -> Result<(AnyBuffers, Answers), Box<StepFailure>> {
        let pending = self.submit_part(&self.plan, step..step + 1, reads, writes);
        let (mut buffers, verdict) = pending.map_err(|rejected| self.failure(step, rejected.error))?.into_parts();
        let answers = verdict.await_result().map_err(|error| self.failure(step, error))?;
        buffers.pop(); // the arena
        Ok((buffers, answers))
    }

    /// A failure of this step; if there is no step of that number, of the replay as a whole.
    pub(super) fn failure(&self, step: usize, error: Error) -> Box<StepFailure> {
        let info = self.plan.nodes.get(step).map(|node| &node.info);
        let (op, library) = info.map_or(("replay", "program"), |info| (info.op, info.library));
        Box::new(StepFailure { step, op, library, label: info.and_then(|info| info.label), error })
    }
}
