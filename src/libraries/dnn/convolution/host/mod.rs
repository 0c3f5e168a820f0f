//! The host half: products of matrices, of panels in which the elements under the window lie side by side.
//!
//! Everything is computed in f32 or f64 (`passes.rs`); halves are widened before, and rounded once after what follows the
//! convolution. `columns.rs` makes the panels, and adds panels of gradients back. `direct.rs` has the forward pass, which needs no
//! panels: it reads the input in planes (`planes.rs`), or gathers places where the window has one element (`single.rs`); `channels.rs` that of
//! filters of one channel. `turned.rs` makes a gradient of the input a forward pass.

mod channels;
mod columns;
mod direct;
mod passes;
mod planes;
mod single;
mod turned;

use super::problem::{Direction, Problem};
use crate::core::element::{DType, Element};
use crate::core::error::Result;
use crate::core::room;
use crate::libraries::dnn::product::Real;
use crate::libraries::tensor_routine::{Checked, missing};
use crate::numerics::parallel::{Parts, each_part};
use half::{bf16, f16};
use passes::{data, filter, forward};

/// Computes a convolution.
pub(super) fn run(problem: &Problem, operands: Checked<'_, '_>) -> Result<()> {
    match problem.dtype {
        DType::F32 => native::<f32>(problem, operands),
        DType::F64 => native::<f64>(problem, operands),
        DType::F16 => narrow::<f16>(problem, operands, f16::to_f32, f16::from_f32),
        _ => narrow::<bf16>(problem, operands, bf16::to_f32, bf16::from_f32),
    }
}

fn native<A: Real>(problem: &Problem, operands: Checked<'_, '_>) -> Result<()> {
    let (slices, outputs) = operands.typed::<A, A>()?;
    let [output] = <[_; 1]>::try_from(outputs).map_err(|_| missing())?;
    compute(problem, &slices, output)
}

/// Elements of a parallel conversion.
const PART: usize = 1 << 14;

fn narrow<H: Element>(
    problem: &Problem,
    operands: Checked<'_, '_>,
    wide: fn(H) -> f32,
    round: fn(f32) -> H,
) -> Result<()> {
    let (reads, outputs) = operands.typed::<H, H>()?;
    let [output] = <[_; 1]>::try_from(outputs).map_err(|_| missing())?;
    let mut widened = Vec::with_capacity(reads.len());
    for from in reads {
        let mut to: Vec<f32> = room::zeroed(from.len())?;
        each_part(&mut to, Parts::with_size(PART), &|part, to| {
            let from = from.get(part * PART..).unwrap_or_default();
            to.iter_mut().zip(from).for_each(|(to, from)| *to = wide(*from));
        });
        widened.push(to);
    }
    let slices: Vec<&[f32]> = widened.iter().map(Vec::as_slice).collect();
    let mut sums: Vec<f32> = room::zeroed(output.len())?;
    compute(problem, &slices, &mut sums)?;
    each_part(output, Parts::with_size(PART), &|part, to| {
        let from = sums.get(part * PART..).unwrap_or_default();
        to.iter_mut().zip(from).for_each(|(to, from)| *to = round(*from));
    });
    Ok(())
}

fn compute<A: Real>(problem: &Problem, reads: &[&[A]], output: &mut [A]) -> Result<()> {
    let [one, other, extra @ ..] = reads else { return Err(missing()) };
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
            Direction::Data => match problem.turned() {
                Some(turned) => forward(&turned, one, &problem.turn(other)?, output)?,
                None => data(problem, one, other, output)?,
            },
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
