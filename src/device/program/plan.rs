//! What a recording becomes: steps, their dependencies, and the places of their temporaries in the arena.
//!
//! A step follows every earlier one that wrote what it reads, or that used what it writes: the same order that
//! dispatches keep. Temporaries share one arena (`arena.rs`), whose reuse adds no dependencies: branches stay parallel.

use super::admit::{Written, check_outputs};
use super::arena::lay_out;
use super::entry::{Entry, Operand, Part, Piece, Source, Use};
use super::order::{Ancestors, MOST, ancestors, chain, follows};
use crate::core::buffer::Places;
#[cfg(feature = "cuda")]
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::sync::{Arc, Mutex};
use crate::core::trace::OpInfo;
use crate::engines::op::Facts;
use crate::engines::tape::Step;
use smallvec::SmallVec;
use std::ops::Deref;

/// Work with fewer operations plus bytes than this is not worth another thread.
const LIGHT: u64 = 64 << 10;

/// Where an operand lies in a replay: the index of a base address of the replay, and an offset from it in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) base: usize,
    pub(super) offset: u64,
}

/// One step.
pub(super) struct Node {
    pub(super) info: OpInfo,
    pub(super) facts: &'static Facts,
    pub(super) uses: SmallVec<[Use; 4]>,
    pub(super) places: SmallVec<[Place; 4]>,
    /// The steps that it follows directly.
    pub(super) after: SmallVec<[usize; 2]>,
    /// The steps that follow it directly.
    pub(super) before: SmallVec<[usize; 2]>,
    pub(super) answer: Option<usize>,
    /// Its range among the plans that all steps need, on a GPU.
    pub(super) plans: std::ops::Range<usize>,
    /// Whether it may be worth a thread of its own.
    pub(super) heavy: bool,
}

/// A recording after planning; all replays share it.
pub(crate) struct Plan {
    pub(super) shape: Arc<Shape>,
    pub(super) steps: Vec<Arc<Step>>,
    /// How often a step was replaced.
    pub(super) version: u64,
    /// For each step, the recorded ones that it is made of. Empty if all are as they were recorded.
    pub(super) made_of: Vec<SmallVec<[usize; 2]>>,
    placed: Arc<Mutex<Placed>>,
}

/// For what the steps' operands were last placed.
#[derive(Default)]
pub(super) struct Placed {
    /// Whether for a plan in which steps became one, or else for the recorded one, with which it shares steps.
    fused: bool,
    /// The base addresses of the replay.
    bases: Vec<u64>,
}

/// All that a plan has of its recording but the steps.
pub(super) struct Head {
    id: u64,
    pieces: Vec<Piece>,
    inputs: Vec<Operand>,
    operands: Vec<Operand>,
    captured: usize,
    answers: usize,
}

impl Head {
    pub(super) fn of(plan: &Plan) -> Self {
        Head {
            id: plan.id,
            pieces: plan.pieces.clone(),
            inputs: plan.inputs.clone(),
            operands: plan.operands.clone(),
            captured: plan.captured,
            answers: plan.answers,
        }
    }
}

impl Deref for Plan {
    type Target = Shape;
    fn deref(&self) -> &Shape {
        &self.shape
    }
}

/// All of a plan except its operations.
pub(crate) struct Shape {
    pub(super) id: u64,
    pub(super) nodes: Vec<Node>,
    pub(super) inputs: Vec<Operand>,
    pub(super) operands: Vec<Operand>,
    pub(super) captured: usize,
    pub(super) answers: usize,
    /// For each answer: the step that leaves it.
    pub(super) answered: Vec<Option<usize>>,
    /// Bytes of the temporaries. On a GPU the answers follow them in the arena.
    pub(super) arena: u64,
    /// For each piece: the offset in the arena, if it is a temporary.
    pub(super) slots: Vec<Option<u64>>,
    pub(super) pieces: Vec<Piece>,
    /// Whether some steps are worth running in parallel.
    pub(super) parallel: bool,
    /// Whether some steps need plans.
    #[cfg(feature = "cuda")]
    pub(super) prepared: bool,
}

impl Plan {
    /// Plans a recording, which reads `captured` buffers of the device; `gpu`: whether the device is a GPU.
    pub(super) fn new(id: u64, written: Written, captured: usize, gpu: bool) -> Result<Self> {
        let Written { pieces, entries, inputs, operands, answers, .. } = written;
        check_outputs(&pieces, &entries, &operands)?;
        Plan::assemble(Head { id, pieces, inputs, operands, captured, answers }, entries, gpu)
    }

    /// Plans steps that were admitted.
    pub(super) fn assemble(head: Head, entries: Vec<Entry>, gpu: bool) -> Result<Self> {
        let Head { id, pieces, inputs, operands, captured, answers } = head;
        let after = if entries.len() > MOST { chain(entries.len()) } else { follows(&entries) };
        let before_all = ancestors(&after);
        let (slots, arena) = lay_out(&pieces, &entries, &before_all)?;
        let (given, read) = (inputs.len(), inputs.len() + captured);
        let place = |one: &Use| match one.source {
            Source::Captured(index) => Place { base: given + index, offset: one.offset },
            Source::Piece(piece) => match pieces.get(piece).map(|piece| piece.part) {
                Some(Part::Input(index)) => Place { base: index, offset: one.offset },
                Some(Part::Operand(index)) => Place { base: read + index, offset: one.offset },
                _ => {
                    let slot = slots.get(piece).copied().flatten().unwrap_or(0);
                    Place { base: read + operands.len(), offset: slot.saturating_add(one.offset) }
                }
            },
        };
        let (mut nodes, mut steps) = (Vec::with_capacity(entries.len()), Vec::with_capacity(entries.len()));
        for (entry, after) in entries.into_iter().zip(after) {
            let Entry { step, info, facts, uses, answer } = entry;
            let places = uses.iter().map(place).collect();
            let heavy = is_heavy(&info);
            nodes.push(Node { info, facts, uses, places, after, before: SmallVec::new(), answer, plans: 0..0, heavy });
            steps.push(step);
        }
        let shape = Shape {
            id,
            nodes,
            inputs,
            operands,
            captured,
            answers,
            answered: Vec::new(),
            arena,
            pieces,
            slots,
            parallel: false,
            #[cfg(feature = "cuda")]
            prepared: false,
        };
        Plan::complete(shape, steps, gpu)
    }

    /// Completes a plan with what can be derived from its nodes and steps.
    pub(super) fn complete(mut shape: Shape, steps: Vec<Arc<Step>>, gpu: bool) -> Result<Self> {
        let nodes = &mut shape.nodes;
        for index in 0..nodes.len() {
            let after = nodes.get(index).map(|node| node.after.clone()).unwrap_or_default();
            for earlier in after {
                if let Some(node) = nodes.get_mut(earlier) {
                    node.before.push(index);
                }
            }
        }
        shape.answered = vec![None; shape.answers];
        for (index, node) in nodes.iter().enumerate() {
            if let Some(place) = node.answer.and_then(|answer| shape.answered.get_mut(answer)) {
                *place = Some(index);
            }
        }
        let after: Vec<_> = nodes.iter().map(|node| node.after.clone()).collect();
        shape.parallel = is_parallel(nodes, &ancestors(&after));
        #[cfg(feature = "cuda")]
        if gpu {
            count_plans(nodes, &steps)?;
            shape.prepared = nodes.iter().any(|node| node.facts.prepared);
        }
        let _ = gpu;
        Ok(Plan { shape: Arc::new(shape), steps, version: 0, made_of: Vec::new(), placed: Arc::default() })
    }

    /// Pinned memory for the answers of one replay, on a GPU.
    #[cfg(feature = "cuda")]
    pub(super) fn reserve(&self, epoch: &Arc<Epoch>) -> Result<Option<crate::engines::cuda::Reserved>> {
        match (epoch.engine.as_cuda(), self.answers) {
            (Some(engine), 1..) => {
                engine.reserve(epoch, self.answers * size_of::<crate::engines::tape::step::Cell>()).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The same plan with one step replaced by another operation on the same operands.
    pub(super) fn with_step(&self, index: usize, step: Arc<Step>) -> Self {
        let mut steps = self.steps.clone();
        if let Some(place) = steps.get_mut(index) {
            *place = step;
        }
        Plan { steps, ..self.renewed() }
    }

    /// The same plan, to be run instead of this one.
    pub(super) fn renewed(&self) -> Self {
        let (shape, steps) = (self.shape.clone(), self.steps.clone());
        Plan { shape, steps, version: self.version + 1, made_of: Vec::new(), placed: Arc::default() }
    }

    /// This plan as the one in which steps of `recorded` became one.
    pub(super) fn in_place_of(self, recorded: &Plan, made_of: Vec<SmallVec<[usize; 2]>>) -> Self {
        Plan { version: recorded.version, made_of, placed: recorded.placed.clone(), ..self }
    }

    /// This plan, which nobody shares yet, in an arena of this size; `None` if it is too small.
    pub(super) fn in_arena(mut self, arena: u64) -> Option<Self> {
        Arc::get_mut(&mut self.shape).filter(|shape| shape.arena <= arena)?.arena = arena;
        Some(self)
    }

    /// How many base addresses a replay has: one for each input, captured buffer and operand, and one for the arena.
    pub(super) fn bases(&self) -> usize {
        self.inputs.len() + self.captured + self.operands.len() + 1
    }

    /// Bytes of the arena: temporaries, and a slot for each answer.
    pub(super) fn arena_bytes(&self) -> u64 {
        // No device has as much memory as a sum that overflows.
        let answers = self.answers.saturating_mul(size_of::<crate::engines::tape::step::Cell>());
        self.arena.saturating_add(answers as u64)
    }

    /// Sets the addresses of the steps' operands for this replay. Replays run one after another.
    pub(super) fn place(&self, bases: &[u64]) -> Result<()> {
        if bases.len() != self.bases() {
            return Err(Error::library("internal error: a replay has other operands than its recording"));
        }
        let (mut placed, fused) = (self.placed.lock(), !self.made_of.is_empty());
        if placed.fused == fused && placed.bases == bases {
            return Ok(());
        }
        // Steps that both plans have may lie elsewhere.
        if placed.fused != fused {
            placed.bases.clear();
        }
        let moved = |place: &Place| placed.bases.get(place.base) != bases.get(place.base);
        for (node, step) in self.nodes.iter().zip(&self.steps) {
            if !node.places.iter().any(moved) {
                continue;
            }
            let mut places = node.places.iter();
            step.place(&mut Places(&mut |address, _| {
                if let Some(place) = places.next()
                    && let Some(base) = bases.get(place.base)
                {
                    *address = base + place.offset;
                }
            }));
        }
        placed.fused = fused;
        placed.bases.clear();
        placed.bases.extend_from_slice(bases);
        Ok(())
    }
}

/// Whether a step may be worth a thread of its own; a step of unknown work (0) may be.
pub(super) fn is_heavy(info: &OpInfo) -> bool {
    let work = info.flops.saturating_add(info.bytes);
    work == 0 || work >= LIGHT
}

/// Assigns to each step its range among the plans of all steps.
#[cfg(feature = "cuda")]
fn count_plans(nodes: &mut [Node], steps: &[Arc<Step>]) -> Result<()> {
    let mut next = 0;
    for (node, step) in nodes.iter_mut().zip(steps).filter(|(node, _)| node.facts.prepared) {
        let plans = super::prepare::plans_of(step).map_err(|error| error.in_op(node.info.op, node.info.library))?;
        node.plans = next..next + plans;
        next = node.plans.end;
    }
    Ok(())
}

/// Whether there are two heavy steps of which neither follows the other.
fn is_parallel(nodes: &[Node], before: &Ancestors) -> bool {
    let heavy: Vec<usize> = nodes.iter().enumerate().filter(|(_, node)| node.heavy).map(|(index, _)| index).collect();
    // If the heavy steps form a chain, each follows the one before it.
    heavy.iter().zip(heavy.iter().skip(1)).any(|(&earlier, &later)| !before.has(later, earlier))
}
