//! A replay on a GPU: the CUDA halves of the steps, one after the other, on one stream.

use super::plan::Plan;
use crate::core::error::{Error, Result};
use crate::engines::cuda::Queue;
use crate::engines::op::Prepare;
use crate::engines::tape::step::Cell;
use std::ops::Range;

impl Plan {
    /// Asks for the plans of all steps.
    pub(super) fn prepare(&self, plans: &mut Prepare<'_>) {
        if !self.prepared {
            return;
        }
        for (_, step) in self.nodes.iter().zip(&self.steps).filter(|(node, _)| node.facts.prepared) {
            let _ = step.prepare(plans); // the operation is there
        }
    }

    /// Enqueues the steps of `part`; their answers go to `answers`, in device memory.
    pub(super) fn enqueue(&self, part: &Range<usize>, queue: &mut Queue<'_>, answers: u64) -> Result<()> {
        let part = |len: usize| part.start.min(len)..part.end.min(len);
        let nodes = self.nodes.get(part(self.nodes.len())).unwrap_or_default();
        let steps = self.steps.get(part(self.steps.len())).unwrap_or_default();
        for (node, step) in nodes.iter().zip(steps) {
            let answer = node.answer.map(|index| answers + (index * size_of::<Cell>()) as u64);
            let outcome = queue
                .step(node.facts.raw_bytes, answer, node.plans.clone(), &mut |queue| step.half(queue.lend().untyped()));
            outcome.map_err(|error: Error| error.in_op(node.info.op, node.info.library))?;
        }
        Ok(())
    }
}
