//! Nets that cuDNN lacks: an LSTM whose gates see its cells (F. Gers and J. Schmidhuber, 2000), and a GRU whose reset gate precedes the
//! product (K. Cho and others, 2014). One dispatch enqueues products by cuBLAS and kernels of formulas: for each layer and direction
//! one product with the inputs of all steps, then for each step those with the states, and the cell.
//!
//! `formulas.rs` has the cells, `kernels.rs` the kernels that a pass launches, with the layouts of their operands; `memory.rs` where all
//! lies; `work.rs` joins these with a queue; `forward.rs` and `backward.rs` are the passes.
//!
//! # What is kept
//! All is computed in f32, or f64; halves are widened before, and states are rounded to them after each step, as the host does it. The
//! reserve has the outputs of all layers but the last, then for each layer and direction the gates of all steps; the states before and
//! after all steps; and the same of the cells of an LSTM, or what the reset gates of a GRU have left of its states. A sequence that has
//! no step keeps its state and its cell, so what was before a step always lies beside it, whatever lengths and direction are. The
//! backward pass writes the gradients of the sums of the gates over the gates.
//!
//! # What is not read
//! What lies behind the ends of sequences becomes zeros in a copy of the input; in the gradients of the states it is selected away in
//! the kernels. Initial states of sequences without any step are zeros here, and are copied to the results afterwards (`../enqueue.rs`).

mod backward;
mod formulas;
mod forward;
mod kernels;
mod memory;
mod work;

pub(super) use backward::{Given, backward};
pub(super) use forward::{Reads, forward};

use super::super::super::recurrent::RecurrentProblem;
use crate::core::error::Result;
use crate::engines::op::Prepare;
use kernels::{Kernels, Pass};

/// Names the kernels of a pass.
pub(super) fn prepare(problem: &RecurrentProblem, is_backward: bool, plans: &mut Prepare<'_>) -> Result<()> {
    Kernels::new(problem, if is_backward { Pass::Backward } else { Pass::Forward })?.plan(plans)
}
