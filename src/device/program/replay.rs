//! A replay as an operation.
//!
//! Its operands are in the order of the base addresses of the [`Plan`]: it reads the inputs and the captured buffers,
//! and writes the operands and, last, the arena.

use super::entry::Operand;
use super::plan::Plan;
use crate::core::buffer::{AnyBuffers, AnySpan, Dyn};
use crate::core::error::{Error, Result};
use crate::core::op::raw::Cells;
use crate::core::op::{Cost, Internal, Output, Spans};
use crate::core::sync::Arc;
#[cfg(feature = "cuda")]
use crate::core::sync::Mutex;
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Slices, SlicesMut};
use crate::engines::tape::Step;
use crate::engines::tape::step::Cell;
#[cfg(feature = "cuda")]
use smallvec::SmallVec;
use std::ops::Range;

/// Runs the steps of `part`.
pub(super) struct Replay {
    pub(super) plan: Arc<Plan>,
    pub(super) part: Range<usize>,
    #[cfg(feature = "cuda")]
    pub(super) graphs: Arc<crate::engines::cuda::Graphs>,
    /// Pinned memory for the answers, on a GPU.
    #[cfg(feature = "cuda")]
    pub(super) reserved: Mutex<Option<crate::engines::cuda::Reserved>>,
    /// Holds the program in the worker, by its number there. `None` if the device is not isolated, and in the worker
    /// itself.
    #[cfg(target_os = "linux")]
    pub(super) crossed: Option<Arc<crate::core::buffer::Allocation>>,
}

/// The output of a replay: its operands, followed by the arena, and the answers.
pub(super) struct Ran;

/// The answers that the steps left, and the plan with these steps. Opaque.
#[doc(hidden)]
pub struct Answers {
    pub(super) plan: Arc<Plan>,
    pub(super) cells: Cells,
}

impl Answers {
    /// The answer numbered `index`, and the operation that left it: the step may have been replaced since.
    pub(super) fn get(&self, index: usize) -> Option<(&Step, Cell)> {
        let at = index.checked_mul(size_of::<Cell>())?;
        let cell = *self.cells.0.get(at..)?.first_chunk()?;
        let step = *self.plan.answered.get(index)?;
        Some((&**self.plan.steps.get(step?)?, cell))
    }
}

impl std::fmt::Debug for Answers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Answers({} of recording {})", self.plan.answers, self.plan.id)
    }
}

impl Output for Ran {
    type Writes = Dyn;
    type Host = Answers;
    fn join(_: AnyBuffers, _: Answers) -> Result<Self> {
        Ok(Ran)
    }
}

impl Replay {
    #[cfg(feature = "cuda")]
    fn bases(reads: &[AnySpan], writes: &[AnySpan]) -> SmallVec<[u64; 16]> {
        let mut bases = SmallVec::new();
        for span in reads.iter().chain(writes) {
            bases.push(span.address());
        }
        bases
    }
}

/// Fails if an operand does not match what was recorded.
fn compare(what: &str, index: usize, given: &AnySpan, recorded: &Operand) -> Result<()> {
    if (given.dtype(), given.len()) == (recorded.dtype, recorded.len) {
        return Ok(());
    }
    Err(Error::invalid(
        format!("{what} {index}"),
        format!(
            "{} elements of {}, but {} of {} were recorded",
            given.len(),
            given.dtype(),
            recorded.len,
            recorded.dtype
        ),
    ))
}

impl Replay {
    /// Fails if memory that the replay writes is also read by it, or written twice. Captured buffers are handles of
    /// memory that the caller may pass to the replay as an operand as well.
    fn check_aliases(&self, reads: &[AnySpan], writes: &[AnySpan]) -> Result<()> {
        let spans = reads.iter().chain(writes).enumerate().filter(|(_, span)| !span.is_empty());
        let mut spans: Vec<(u64, u64, usize)> = spans
            .map(|(index, span)| (span.address(), span.address().saturating_add(span.bytes() as u64), index))
            .collect();
        spans.sort_unstable();
        // The span that reaches farthest so far, of those that are read and of those that are written.
        let (mut read, mut written) = (None::<(u64, usize)>, None::<(u64, usize)>);
        for (start, end, index) in spans {
            let writes = index >= reads.len();
            let meets =
                |farthest: Option<(u64, usize)>| farthest.filter(|(end, _)| *end > start).map(|(_, other)| other);
            if let Some(other) = meets(written).or(if writes { meets(read) } else { None }) {
                let (write, other) = if writes { (index, other) } else { (other, index) };
                return Err(self.alias(write, other, reads.len()));
            }
            let farthest = if writes { &mut written } else { &mut read };
            if farthest.is_none_or(|(before, _)| before < end) {
                *farthest = Some((end, index));
            }
        }
        Ok(())
    }

    #[cold]
    fn alias(&self, write: usize, other: usize, read_count: usize) -> Error {
        let name = |index| self.operand_name(index, read_count).unwrap_or_default();
        Error::invalid(
            name(write),
            format!(
                "the replay would write memory that it also uses as {}; pass another buffer, or let the program read a \
                 copy (`Program::bind`)",
                name(other)
            ),
        )
    }
}

impl Op for Replay {
    const NAME: &'static str = "replay";
    const LIBRARY: &'static str = "program";
    const PREPARED: bool = true;
    const GATED: Internal = Internal::YES;
    type Reads = Dyn;
    type Output = Ran;
    type Raw = Cells;

    fn check(&self, reads: &Spans<Dyn>, writes: &Spans<Dyn>) -> Result<()> {
        let plan = &*self.plan;
        let (inputs, operands) = (reads.len().saturating_sub(plan.captured), writes.len().saturating_sub(1));
        for (what, given, recorded) in [("reads", inputs, &plan.inputs), ("writes", operands, &plan.operands)] {
            if given != recorded.len() {
                let reason = format!("{given} buffers, but {} were recorded", recorded.len());
                return Err(Error::invalid(what, reason));
            }
        }
        for (what, given, recorded) in [("input", reads, &plan.inputs), ("operand", writes, &plan.operands)] {
            for (index, (given, recorded)) in given.iter().zip(recorded).enumerate() {
                compare(what, index, given, recorded)?;
            }
        }
        // Where nothing was captured, the types of the handles rule out that operands share memory.
        if plan.captured > 0 { self.check_aliases(reads, writes) } else { Ok(()) }
    }

    fn overwrites_each(&self, _: &Spans<Dyn>, index: usize) -> bool {
        // The arena follows the operands; it is always overwritten.
        self.plan.operands.get(index).is_none_or(|operand| operand.fresh)
    }

    fn operand_name(&self, index: usize, read_count: usize) -> Option<String> {
        let plan = &*self.plan;
        Some(match index.checked_sub(read_count) {
            None if index < plan.inputs.len() => format!("input {index}"),
            None => format!("captured {}", index - plan.inputs.len()),
            Some(write) if write < plan.operands.len() => format!("operand {write}"),
            Some(_) => "the program's own memory".into(),
        })
    }

    fn cost(&self) -> Cost {
        let nodes = self.plan.nodes.get(self.part.clone()).unwrap_or_default();
        nodes.iter().fold(Cost::default(), |cost, node| Cost {
            flops: cost.flops.saturating_add(node.info.flops),
            bytes: cost.bytes.saturating_add(node.info.bytes),
        })
    }

    #[cfg(feature = "host")]
    fn host(&self, reads: Slices<'_, Self>, writes: SlicesMut<'_, Self>) -> Result<Cells> {
        // The steps make their own slices of this memory, so these slices must be dropped first.
        let mut bases: Vec<u64> = reads.iter().map(|slice| slice.address()).collect();
        drop(reads);
        bases.extend(writes.into_iter().map(|mut slice| slice.address()));
        self.plan.place(&bases)?;
        // SAFETY: these are the operands of this dispatch, with the lengths that were recorded (checked), and the
        // arena, which is large enough for all temporaries. Meanwhile no other code writes them, or reads those that
        // are written.
        unsafe { self.plan.run(&self.part) }.map(Cells::from)
    }

    #[cfg(not(feature = "host"))]
    fn host(&self, _: Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<Cells> {
        Err(Error::unsupported("this build has no host engine (feature `host`)"))
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, _: &Spans<Dyn>, _: &Spans<Dyn>, plans: &mut crate::engines::op::Prepare<'_>) {
        self.plan.prepare(plans);
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        let mut key = Self::bases(queue.reads(), queue.writes());
        let arena = key.last().copied();
        let answers = arena.map(|arena| arena + self.plan.arena).unwrap_or_default();
        key.push(self.plan.version);
        let bases = key.get(..key.len() - 1).unwrap_or_default();
        // The steps are placed only if they are enqueued one by one or captured: a graph that exists has its addresses.
        let mut steps = |queue: &mut crate::engines::cuda::Queue<'_>| {
            self.plan.place(bases)?;
            self.plan.enqueue(&self.part, queue, answers)
        };
        if self.part.len() == self.plan.nodes.len() && self.part.len() > 1 {
            self.graphs.run(queue, &key, &self.plan, &mut steps)?;
        } else {
            steps(queue)?;
        }
        match self.reserved.lock().take() {
            // SAFETY: this lies inside the arena, which has a slot for each answer; that many bytes were reserved.
            Some(reserved) => unsafe { queue.copy_to_staging(answers, None, reserved) },
            None => Ok(()),
        }
    }

    #[cfg(not(feature = "cuda"))]
    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Err(Error::unsupported("this build has no CUDA engine"))
    }

    fn capturable(&self) -> Result<(), &'static str> {
        Err("a recording cannot contain a replay; record the steps of that program again instead")
    }

    #[cfg(target_os = "linux")]
    fn wire() -> Option<crate::core::op::Wire<Self>> {
        Some(crate::core::op::Wire {
            encode: |replay, out| out.value(&replay.ordered()?),
            decode: |incoming| Replay::arrived(&incoming.value()?, &incoming),
        })
    }

    fn finish(&self, cells: Cells) -> Result<Answers> {
        Ok(Answers { plan: self.plan.clone(), cells })
    }
}
