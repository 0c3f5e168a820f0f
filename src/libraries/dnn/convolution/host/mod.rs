//! The host half: products of matrices, of panels in which the elements under the window lie side by side.
//!
//! Everything is computed in f32 or f64 (`passes.rs`); halves are widened before, and rounded once after what follows the
//! convolution. `columns.rs` makes the panels, and adds panels of gradients back. `direct.rs` has the forward pass, which needs no
//! panels: it reads the input in planes (`planes.rs`), or gathers places where the window has one element (`single.rs`).

mod columns;
mod direct;
mod passes;
mod planes;
mod single;

use super::problem::{Direction, Problem};
use crate::core::buffer::{AnySlice, AnySliceMut};
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Result};
use crate::core::room;
use crate::libraries::dnn::product::Real;
use crate::numerics::parallel::{Parts, each_part};
use half::{bf16, f16};
use passes::{data, filter, forward};

fn lost() -> Error {
    Error::library("internal error: unchecked operands")
}

/// Computes a convolution. The operands were checked.
pub(super) fn run<'w>(
    problem: &Problem,
    reads: &[AnySlice<'_>],
    writes: impl IntoIterator<Item = AnySliceMut<'w>>,
) -> Result<()> {
    let output = writes.into_iter().next().ok_or_else(lost)?;
    match problem.dtype {
        DType::F32 => native::<f32>(problem, reads, output),
        DType::F64 => native::<f64>(problem, reads, output),
        DType::F16 => narrow::<f16>(problem, reads, output, f16::to_f32, f16::from_f32),
        DType::Bf16 => narrow::<bf16>(problem, reads, output, bf16::to_f32, bf16::from_f32),
        _ => Err(lost()),
    }
}

fn native<A: Real>(problem: &Problem, reads: &[AnySlice<'_>], output: AnySliceMut<'_>) -> Result<()> {
    let slices: Option<Vec<&[A]>> = reads.iter().map(|slice| slice.downcast()).collect();
    let (slices, output) = (slices.ok_or_else(lost)?, output.downcast::<A>().ok_or_else(lost)?);
    compute(problem, &slices, output)
}

/// Elements of a parallel conversion.
const PART: usize = 1 << 14;

fn narrow<H: Element>(
    problem: &Problem,
    reads: &[AnySlice<'_>],
    output: AnySliceMut<'_>,
    wide: fn(H) -> f32,
    round: fn(f32) -> H,
) -> Result<()> {
    let mut widened = Vec::with_capacity(reads.len());
    for slice in reads {
        let from: &[H] = slice.downcast().ok_or_else(lost)?;
        let mut to: Vec<f32> = room::zeroed(from.len())?;
        each_part(&mut to, Parts::with_size(PART), &|part, to| {
            let from = from.get(part * PART..).unwrap_or_default();
            to.iter_mut().zip(from).for_each(|(to, from)| *to = wide(*from));
        });
        widened.push(to);
    }
    let slices: Vec<&[f32]> = widened.iter().map(Vec::as_slice).collect();
    let output = output.downcast::<H>().ok_or_else(lost)?;
    let mut sums: Vec<f32> = room::zeroed(output.len())?;
    compute(problem, &slices, &mut sums)?;
    each_part(output, Parts::with_size(PART), &|part, to| {
        let from = sums.get(part * PART..).unwrap_or_default();
        to.iter_mut().zip(from).for_each(|(to, from)| *to = round(*from));
    });
    Ok(())
}

fn compute<A: Real>(problem: &Problem, reads: &[&[A]], output: &mut [A]) -> Result<()> {
    let [one, other, extra @ ..] = reads else { return Err(lost()) };
    if output.is_empty() {
        return Ok(());
    }
    // The forward pass writes each element; gradients are added.
    if problem.is_empty_sum() || problem.direction != Direction::Forward {
        output.fill(A::default());
    }
    if !problem.is_empty_sum() {
        match problem.direction {
            Direction::Forward => forward(problem, one, other, output)?,
            Direction::Data => data(problem, one, other, output)?,
            Direction::Filter => filter(problem, one, other, output)?,
        }
    }
    let (residual, bias) = match extra {
        [residual, bias] => (Some(*residual), Some(*bias)),
        [bias] => (None, Some(*bias)),
        _ => (None, None),
    };
    after(problem, (residual, bias), output);
    Ok(())
}

/// What follows the convolution, in this order: the residual, the bias, the clipping.
fn after<A: Real>(problem: &Problem, (residual, bias): (Option<&[A]>, Option<&[A]>), output: &mut [A]) {
    let filters = problem.filters.max(1);
    // Lines of one channel, or of all channels.
    let (line, lines) = if problem.channels_last { (filters, PART.div_ceil(filters)) } else { (problem.places(), 1) };
    if bias.is_none() && residual.is_none() && !problem.relu {
        return;
    }
    each_part(output, Parts::with_size(line * lines), &|part, y| {
        if let Some(residual) = residual {
            let residual = residual.get(part * line * lines..).unwrap_or_default();
            y.iter_mut().zip(residual).for_each(|(y, r)| *y = *y + *r);
        }
        match bias {
            Some(bias) if problem.channels_last => {
                y.chunks_mut(filters).for_each(|y| y.iter_mut().zip(bias).for_each(|(y, b)| *y = *y + *b));
            }
            Some(bias) => {
                let b = bias.get(part % filters).copied().unwrap_or_default();
                y.iter_mut().for_each(|y| *y = *y + b);
            }
            None => {}
        }
        if problem.relu {
            // NaN stays.
            y.iter_mut().filter(|y| **y < A::default()).for_each(|y| *y = A::default());
        }
    });
}
