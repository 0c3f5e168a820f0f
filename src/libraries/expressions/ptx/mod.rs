//! An expression as PTX for `sm_70` and later, PTX 7.0.
//!
//! The text comes straight from the lowered expression: one entry point, a grid-stride loop, explicit rounding, no
//! contraction, no flush of subnormals. A [`Geometry`] (`geometry.rs`) is what a kernel has to know of the operands' layouts,
//! and a [`Launch`] gives its arguments. A kernel is good for all launches of the same geometry. `entry.rs` writes the
//! loop and the index, `groups.rs` loads and stores, `body.rs` the operations, `remainder.rs` and `far.rs` those that are
//! functions; `writer.rs` holds registers and text.
//!
//! # Where PTX differs from the rules
//! - `min` and `max` drop a NaN, but the order of zeros is not said for all types: equal operands are joined by bits.
//! - `cvt` from floating point to an integer saturates, but NaN gives 0 only for some types: a select does it for all.
//! - `abs`, `neg`, arithmetic: a NaN has any sign and payload until `Canon` selects the one pattern.
//! - `div` and `rem` of integers are undefined by 0 and for `MIN / -1`: the divisor is replaced by 1 there.
//! - Shift distances are 32 bits and clamp at the width: those of 64 bits are clamped before.
//! - `copysign` on bits alone; `bf16` has no conversions on `sm_70`: they are integer arithmetic.

pub(in crate::libraries) mod body;
mod entry;
mod far;
mod geometry;
mod groups;
mod remainder;
#[cfg(test)]
mod tests;
pub(in crate::libraries) mod writer;

pub(super) use geometry::{Geometry, Launch};

use super::ir::Expr;
use super::low::{Calls, Lane, Low, LowOp, lower};
use crate::core::error::Result;
use geometry::Argument;

/// A kernel as text.
#[derive(Debug)]
pub(super) struct Kernel {
    text: String,
    arguments: Vec<Argument>,
    low: Low,
}

impl Kernel {
    /// The name of the entry point.
    pub(super) const ENTRY: &'static std::ffi::CStr = c"expression";

    /// Writes the kernel for an expression and a geometry of it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the arguments exceed 4 KiB.
    pub(super) fn new(expr: &Expr, geometry: &Geometry) -> Result<Self> {
        let low = lower(expr, Calls::Expand);
        let (entry, arguments) = entry::write("expression", expr, &low, geometry)?;
        let mut kernel = Kernel { text: String::new(), arguments, low };
        let helpers = helpers(&[&kernel.low]);
        kernel.text = format!(".version 7.0\n.target sm_70\n.address_size 64\n{helpers}{entry}");
        Ok(kernel)
    }

    /// The text, a whole module.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The arguments of a launch: the words of the one parameter.
    pub(super) fn arguments(&self, launch: &Launch<'_>) -> Vec<u64> {
        self.arguments.iter().map(|argument| launch.word(argument, &self.low)).collect()
    }
}

/// The functions that an entry point of these expressions calls, each once.
pub(in crate::libraries) fn helpers(lows: &[&Low]) -> String {
    let mut seen: Vec<(LowOp, Lane)> = Vec::new();
    let mut text = String::new();
    for instr in lows.iter().flat_map(|low| low.instrs()) {
        let key = (instr.op, instr.lane);
        let is_helped = match instr.op {
            LowOp::Rem => instr.lane.is_float(),
            LowOp::Far(_) => true,
            _ => false,
        };
        if !is_helped || seen.contains(&key) {
            continue;
        }
        seen.push(key);
        text += &match instr.op {
            LowOp::Far(function) => far::function(function, instr.lane),
            _ => remainder::function(instr.lane),
        };
    }
    text
}
