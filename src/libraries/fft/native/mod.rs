//! cuFFT itself: its functions, its plans, and the steps that a transform is made of on a GPU.
//!
//! | file | what is in it |
//! |---|---|
//! | `functions`, `handle` | what the library has, and what the core knows of it |
//! | `steps` | which calls and copies a transform is, worked out without any of them |
//! | `plan` | plans, which the device makes and keeps |
//! | `kernels` | copies by kernels of our own |
//! | `trigonometric` | cosine and sine transforms: kernels of our own before and behind a transform |
//!
//! The library's own layouts are used where they do: a packed or strided transform of up to three axes is one call, and
//! with a factor one more pass by a kernel. Halves of other sizes than powers of two go through f32.

mod functions;
mod handle;
mod kernels;
mod plan;
mod steps;
#[cfg(all(test, feature = "host"))]
mod steps_tests;
mod trigonometric;

pub(crate) use handle::Cufft;

use super::form::{Form, Place as FormPlace};
use super::op::Transform;
use crate::{DType, Element, Enqueue, Error, Prepare, Result};
use smallvec::SmallVec;
use steps::{Buffers, Layouts, Place, Precision, Program, Step, program};

/// The type of the parts of a real element type's numbers.
fn precision<R: Element>() -> Result<Precision> {
    match R::DTYPE {
        DType::F16 => Ok(Precision::F16),
        DType::Bf16 => Ok(Precision::Bf16),
        DType::F32 => Ok(Precision::F32),
        DType::F64 => Ok(Precision::F64),
        other => Err(Error::unsupported(format!("a transform of {other}"))),
    }
}

impl<F: Form> Transform<F> {
    /// What it comes to, with buffers that begin at these addresses.
    fn program(&self, from: u64, to: u64) -> Result<Program> {
        let geometry = self.geometry()?;
        let precision = precision::<F::Real>()?;
        let pair = 2 * precision.bytes() as u64;
        let buffers = Buffers {
            precision,
            aligned: from.is_multiple_of(pair) && to.is_multiple_of(pair),
            destroys: F::PLACE != FormPlace::Out,
            in_place: F::PLACE == FormPlace::In,
        };
        program(&geometry, buffers, self.scale(&geometry))
    }

    /// Names the plans that it wants.
    pub(super) fn plans(&self, (from, to): (u64, u64), plans: &mut Prepare<'_>) {
        if let Ok(program) = self.program(from, to) {
            program.layouts().iter().for_each(|key| plans.plan(key));
        }
    }

    /// Enqueues it.
    pub(super) fn enqueue(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        let (from, to) = F::ends(queue.reads(), queue.writes());
        let program = self.program(from.address, to.address)?;
        if program.steps.is_empty() {
            return Ok(());
        }
        let api = queue.api::<Cufft>()?;
        let layouts = program.layouts();
        let mut scratch = SmallVec::<[u64; 4]>::new();
        for bytes in &program.scratch {
            scratch.push(queue.scratch(*bytes)?);
        }
        let at = |place: Place| match place {
            Place::From => Some(from.address),
            Place::To => Some(to.address),
            Place::Scratch(i) => scratch.get(i).copied(),
        };
        let lost = || Error::library("a step of a transform names what there is none of");
        for step in &program.steps {
            match step {
                Step::Move { from, to, dims, conj, scale } => {
                    let places = (at(from.place).ok_or_else(lost)?, at(to.place).ok_or_else(lost)?);
                    // SAFETY: the geometry's elements lie inside the operands (the op's check) and the scratch (its size); those
                    // of an output do not overlap; onto itself every element has the same strides on both sides.
                    unsafe { queue.fft_move((from, to), places, dims, *conj, *scale) }?;
                }
                Step::Exec { key, from, to, inverse } => {
                    let index = layouts.iter().position(|known| known == key).ok_or_else(lost)?;
                    let plan = queue.plan::<Layouts>(index)?;
                    let address = |(place, numbers): (Place, usize), bytes: usize| {
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
}
