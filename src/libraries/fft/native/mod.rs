//! cuFFT: its functions, its plans, and the steps of a transform on a GPU.
//!
//! | file | content |
//! |---|---|
//! | `functions`, `handle` | the functions of the library, and its description for the core |
//! | `steps`, `part`, `solve` | which calls and copies a transform needs: the types, a single call, the whole; no native code |
//! | `plan` | plans, which the device makes and keeps |
//! | `program` | enqueues the steps |
//! | `kernels` | copies by our own kernels |
//! | `trigonometric` | cosine and sine transforms: our own kernels before and after a transform |
//! | `convolve`, `frames`, `spectra` | convolutions and short-time transforms, and their kernels |
//!
//! The library's own layouts are used where possible: a packed or strided transform of up to three axes is one call,
//! and a factor is one more pass by a kernel. Halves of sizes that are not powers of two are computed in f32.

mod convolve;
mod frames;
mod functions;
mod handle;
pub(super) mod kernels;
mod part;
mod plan;
pub(super) mod program;
mod solve;
pub(super) mod spectra;
mod steps;
#[cfg(all(test, feature = "host"))]
mod steps_interpreter;
#[cfg(all(test, feature = "host"))]
mod steps_tests;
pub(super) mod trigonometric;

pub(crate) use handle::Cufft;

use super::form::{Aliasing, Form};
use super::memo::{Memo, recall};
use super::op::Transform;
use super::problem::Problem;
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Result};
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::Prepare;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::rc::Rc;
use steps::{Buffers, Layouts, Precision, Program, program};

/// The precision of a real element type.
fn precision<R: Element>() -> Result<Precision> {
    match R::DTYPE {
        DType::F16 => Ok(Precision::F16),
        DType::Bf16 => Ok(Precision::Bf16),
        DType::F32 => Ok(Precision::F32),
        DType::F64 => Ok(Precision::F64),
        other => Err(Error::unsupported(format!("a transform of {other}"))),
    }
}

/// Steps, and the plans that they need.
type Known = (Program, SmallVec<[Layouts; 2]>);

impl<F: Form> Transform<F> {
    /// The steps for buffers that begin at these addresses, and the plans that they need.
    fn program(&self, from: u64, to: u64) -> Result<Rc<Known>> {
        thread_local! {
            static PROGRAMS: Memo<(Problem, Buffers), Known> = const { RefCell::new(Vec::new()) };
        }
        let precision = precision::<F::Real>()?;
        let pair = 2 * precision.bytes() as u64;
        let buffers = Buffers {
            precision,
            aligned: from.is_multiple_of(pair) && to.is_multiple_of(pair),
            destroys: F::ALIASING != Aliasing::Out,
            in_place: F::ALIASING == Aliasing::In,
        };
        recall(&PROGRAMS, (self.spec, buffers), || {
            let geometry = self.geometry()?;
            let program = program(&geometry, buffers, self.scale(&geometry))?;
            let layouts = program.layouts();
            Ok((program, layouts))
        })
    }

    /// Names the plans that it needs.
    pub(super) fn plans(&self, (from, to): (u64, u64), plans: &mut Prepare<'_>) {
        if let Ok(program) = self.program(from, to) {
            program.1.iter().for_each(|key| plans.plan(key));
        }
    }

    /// Enqueues the transform.
    pub(super) fn enqueue(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        let (from, to) = F::ends(queue.reads(), queue.writes());
        let known = self.program(from.address, to.address)?;
        let (program, layouts) = &*known;
        if program.steps.is_empty() {
            return Ok(());
        }
        // SAFETY: the geometry's elements lie inside the operands (the op's check); those of an output do not overlap;
        // in place both sides of every element are the same.
        unsafe { program::fft_program(queue, program, (from.address, to.address), layouts) }
    }
}
