//! Enqueues the steps of a transform; and transforms inside other operations, in packed working memory.

use super::super::problem::Problem;
use super::handle::Cufft;
use super::steps::{Buffers, Layouts, Precision, Program, Step, StepMemory, program};
use crate::core::error::{Error, Result};
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Prepare};
use crate::libraries::fft::native::kernels;
use smallvec::SmallVec;

/// What happens to the input of an inner transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    Kept,
    Destroyed,
    /// Input and output are the same memory.
    InPlace,
}

/// A transform of packed memory whose addresses are aligned.
pub(super) fn inner(spec: &Problem, precision: Precision, input: Input, scale: f64) -> Result<Program> {
    let (destroys, in_place) = (input != Input::Kept, input == Input::InPlace);
    program(&spec.geometry()?, Buffers { precision, aligned: true, destroys, in_place }, scale)
}

/// The plans of several programs, each once, in the order of their first use.
pub(super) fn layouts(programs: &[&Program]) -> SmallVec<[Layouts; 4]> {
    let mut keys = SmallVec::new();
    for key in programs.iter().flat_map(|program| program.layouts()) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

/// Names the plans of several programs.
pub(super) fn ask(programs: &[&Program], plans: &mut Prepare<'_>) {
    layouts(programs).iter().for_each(|key| plans.plan(key));
}

/// Enqueues all steps; `keys` are the plans in the order in which the operation named them.
///
/// # Safety
/// This dispatch may access the memory at both addresses, with all elements of the geometry that the program was
/// made from; elements of the output do not overlap; where both sides overlap, each element is written where it is
/// read.
pub(super) unsafe fn fft_program<O: Op>(
    queue: &mut Enqueue<'_, O>,
    program: &Program,
    ends: (u64, u64),
    keys: &[Layouts],
) -> Result<()> {
    let api = queue.api::<Cufft>()?;
    let mut scratch = SmallVec::<[u64; 4]>::new();
    for bytes in &program.scratch {
        scratch.push(queue.scratch(*bytes)?);
    }
    let at = |place: StepMemory| match place {
        StepMemory::From => Some(ends.0),
        StepMemory::To => Some(ends.1),
        StepMemory::Scratch(i) => scratch.get(i).copied(),
    };
    let lost = || Error::library("internal error: a step of a transform refers to a missing plan or memory");
    for step in &program.steps {
        match step {
            Step::Move { from, to, dims, conj, scale } => {
                let places = (at(from.place).ok_or_else(lost)?, at(to.place).ok_or_else(lost)?);
                // SAFETY: the caller's promise, and the size of scratch; a copy of memory onto itself has the same
                // strides on both sides.
                unsafe { kernels::fft_move(queue, (from, to), places, dims, *conj, *scale) }?;
            }
            Step::Exec { key, from, to, inverse } => {
                let index = keys.iter().position(|known| known == key).ok_or_else(lost)?;
                let plan = queue.plan::<Layouts>(index)?;
                let address = |(place, numbers): (StepMemory, usize), bytes: usize| {
                    Ok::<u64, Error>(at(place).ok_or_else(lost)? + (numbers * bytes) as u64)
                };
                let (input, output) = key.numbers();
                let places = (address(*from, input.bytes())?, address(*to, output.bytes())?);
                plan.exec(queue, api, places, *inverse)?;
            }
        }
    }
    Ok(())
}
