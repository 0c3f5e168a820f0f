//! The host half: products of matrices by crate `gemm`, and the cells between them.
//!
//! Everything is computed in f32 or f64; halves are widened before, and rounded after; their states at each step, too. `layer.rs` has
//! what both passes know of a layer in one direction, `forth.rs` and `back.rs` the passes, `cells.rs` the formulas of the cells.
//! What cuDNN lacks stands apart: `peepholes.rs` and `reset.rs`.
//!
//! The reserve has the states of all layers but the last, then for each layer and direction the gates of all steps, and what
//! else its cell needs: the cells of an LSTM, the product of a GRU with its last states, or
//! these after its reset gate.

mod back;
mod cells;
mod forth;
mod layer;
mod peepholes;
mod reset;

use super::net::RecurrentProblem;
use crate::core::buffer::AnySliceMut;
use crate::core::element::{DType, Element};
use crate::core::error::Result;
use crate::core::room;
use crate::libraries::tensor_routine::{Checked, missing};
use cells::Cellular;
use half::{bf16, f16};

/// What a pass reads: the input, the parameters, initial states and cells; the other operands of a backward pass.
struct Reads<'a, A> {
    x: &'a [A],
    parameters: &'a [A],
    states: Option<&'a [A]>,
    cells: Option<&'a [A]>,
    more: Vec<&'a [A]>,
}

impl<'a, A> Reads<'a, A> {
    fn new(problem: &RecurrentProblem, all: Vec<&'a [A]>) -> Result<Self> {
        let mut all = all.into_iter();
        let (x, parameters) = (all.next().ok_or_else(missing)?, all.next().ok_or_else(missing)?);
        let [has_states, has_cells] = problem.initial;
        let states = if has_states { all.next() } else { None };
        let cells = if has_cells { all.next() } else { None };
        Ok(Reads { x, parameters, states, cells, more: all.collect() })
    }
}

/// A pass over operands of one type: those that are read, those that are written, and the reserve.
type Pass<'p, A> = &'p dyn Fn(Reads<'_, A>, Vec<&mut [A]>, &mut [A]) -> Result<()>;

/// The reserve, which is of the type of sums.
fn reserved<A: Element>(reserve: Option<AnySliceMut<'_>>) -> Result<&mut [A]> {
    reserve.map_or(Some(&mut [][..]), |reserve| reserve.downcast()).ok_or_else(missing)
}

fn native<A: Cellular>(
    problem: &RecurrentProblem,
    operands: Checked<'_, '_>,
    reserve: Option<AnySliceMut<'_>>,
    pass: Pass<'_, A>,
) -> Result<()> {
    let (reads, writes) = operands.typed::<A, A>()?;
    pass(Reads::new(problem, reads)?, writes, reserved(reserve)?)
}

/// How a half is widened, and rounded.
type Halves<H> = (fn(H) -> f32, fn(f32) -> H);

fn narrow<H: Element>(
    problem: &RecurrentProblem,
    (wide, round): Halves<H>,
    operands: Checked<'_, '_>,
    reserve: Option<AnySliceMut<'_>>,
    pass: Pass<'_, f32>,
) -> Result<()> {
    let (reads, writes) = operands.typed::<H, H>()?;
    let mut widened = Vec::with_capacity(reads.len());
    for from in reads {
        let mut to = room::with_capacity(from.len())?;
        to.extend(from.iter().map(|x| wide(*x)));
        widened.push(to);
    }
    let mut sums = Vec::with_capacity(writes.len());
    for slice in &writes {
        sums.push(room::zeroed::<f32>(slice.len())?);
    }
    let slices = widened.iter().map(Vec::as_slice).collect();
    pass(Reads::new(problem, slices)?, sums.iter_mut().map(Vec::as_mut_slice).collect(), reserved(reserve)?)?;
    for (to, from) in writes.into_iter().zip(&sums) {
        to.iter_mut().zip(from).for_each(|(to, from)| *to = round(*from));
    }
    Ok(())
}

/// What a half is rounded to at each step.
fn half_of(dtype: DType) -> fn(f32) -> f32 {
    match dtype {
        DType::F16 => |x| f16::from_f32(x).to_f32(),
        DType::Bf16 => |x| bf16::from_f32(x).to_f32(),
        _ => |x| x,
    }
}

/// The passes for both types.
fn run(
    problem: &RecurrentProblem,
    operands: Checked<'_, '_>,
    reserve: Option<AnySliceMut<'_>>,
    (single, double): (Pass<'_, f32>, Pass<'_, f64>),
) -> Result<()> {
    match problem.net.dtype {
        DType::F32 => native(problem, operands, reserve, single),
        DType::F64 => native(problem, operands, reserve, double),
        DType::F16 => narrow(problem, (f16::to_f32, f16::from_f32), operands, reserve, single),
        _ => narrow(problem, (bf16::to_f32, bf16::from_f32), operands, reserve, single),
    }
}

/// Computes a net.
pub(super) fn forward(problem: &RecurrentProblem, mut operands: Checked<'_, '_>) -> Result<()> {
    let reserve = if problem.reserve > 0 { operands.writes.pop() } else { None };
    let round = half_of(problem.net.dtype);
    let single = |reads: Reads<'_, f32>, writes: Vec<&mut [f32]>, reserve: &mut [f32]| {
        forth::forth(problem, &reads, writes, reserve, round)
    };
    let double = |reads: Reads<'_, f64>, writes: Vec<&mut [f64]>, reserve: &mut [f64]| {
        forth::forth(problem, &reads, writes, reserve, |x| x)
    };
    run(problem, operands, reserve, (&single, &double))
}

/// Computes gradients.
pub(super) fn backward(problem: &RecurrentProblem, given: [bool; 2], mut operands: Checked<'_, '_>) -> Result<()> {
    let reserve = (!operands.writes.is_empty()).then(|| operands.writes.remove(0));
    let single = |reads: Reads<'_, f32>, writes: Vec<&mut [f32]>, reserve: &mut [f32]| {
        back::back(problem, given, &reads, writes, reserve)
    };
    let double = |reads: Reads<'_, f64>, writes: Vec<&mut [f64]>, reserve: &mut [f64]| {
        back::back(problem, given, &reads, writes, reserve)
    };
    run(problem, operands, reserve, (&single, &double))
}
