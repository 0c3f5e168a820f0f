//! A replay on a GPU: the CUDA halves of the steps, one after the other, on one stream.

use super::plan::{Node, Plan};
use crate::core::error::{Error, Result};
use crate::core::op::guarded;
use crate::core::sync::Arc;
use crate::engines::cuda::Queue;
use crate::engines::op::Prepare;
use crate::engines::op::plan::{Ask, Key};
use crate::engines::tape::Step;
use crate::engines::tape::step::Cell;
use std::ops::Range;

/// Counts the plans that an op asks for.
struct Count(usize);

impl Ask for Count {
    fn ask(&mut self, _: &Key) {
        self.0 += 1;
    }
}

/// How many plans a step needs.
pub(super) fn plans_of(step: &Step) -> Result<usize> {
    let mut count = Count(0);
    // The code of the op's author.
    guarded(&mut || step.prepare(&mut Prepare(&mut count)))?;
    Ok(count.0)
}

/// Assigns to each step its range among the plans of all steps.
pub(super) fn count_plans(nodes: &mut [Node], steps: &[Arc<Step>]) -> Result<()> {
    let mut next = 0;
    for (node, step) in nodes.iter_mut().zip(steps).filter(|(node, _)| node.facts.prepared) {
        let plans = plans_of(step).map_err(|error| error.in_op(node.info.op, node.info.library))?;
        node.plans = next..next + plans;
        next = node.plans.end;
    }
    Ok(())
}

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
