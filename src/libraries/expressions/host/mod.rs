//! An expression on the host: a program over blocks of elements that stay in the first cache.
//!
//! `compile.rs` turns the lowered expression into steps, each one loop of `kernels/`, and gives every value a place.
//! `run.rs` goes over the blocks of the operands, on several threads. `gather.rs` moves elements between tensors of any
//! strides and blocks. A contiguous input is read where it lies, a contiguous output is written by the step that computes
//! it; all other values are in scratch memory.

pub(in crate::libraries) mod blocks;
mod compile;
pub(in crate::libraries) mod gather;
pub(crate) mod kernels;
mod run;

pub(in crate::libraries) use kernels::CHUNK;
pub(super) use run::Bases;
pub(in crate::libraries) use run::in_parts;

use super::ir::Expr;
use super::low::{Calls, Low, lower};
use compile::Plan;
use kernels::Level;

/// An expression that is ready to run on the host, as often as needed.
pub(in crate::libraries) struct Program {
    low: Low,
    plan: Plan,
}

impl Program {
    /// Prepares an expression for this CPU.
    pub(super) fn new(expr: &Expr) -> Self {
        Self::at(expr, Level::detect())
    }

    /// The same for a level that the CPU has.
    pub(super) fn at(expr: &Expr, level: Level) -> Self {
        let low = lower(expr, if level >= Level::Vectors { Calls::Keep } else { Calls::Expand });
        let plan = Plan::new(&low, level);
        Program { low, plan }
    }
}
