//! An expression as PTX for `sm_70` and later, PTX 7.0.
//!
//! The text comes straight from the lowered expression: one entry point, a grid-stride loop, explicit rounding, no
//! contraction, no flush of subnormals. A [`Geometry`] (`geometry.rs`) is what a kernel has to know of the operands' layouts,
//! and a [`Launch`] gives its arguments. A kernel is good for all launches of the same geometry. `entry.rs` writes the
//! loop and the index, `groups.rs` loads and stores, `body.rs` the operations, `remainder.rs` and `far.rs` those that are
//! functions, `formula.rs` formulas within other kernels. `libraries/kernel` holds registers and text.
//!
//! # Where PTX differs from the rules
//! - `min` and `max` drop a NaN, but the order of zeros is not said for all types: equal operands are joined by bits.
//! - `cvt` from floating point to an integer saturates, but NaN gives 0 only for some types: a select does it for all.
//! - `abs`, `neg`, arithmetic: a NaN has any sign and payload until `Canon` selects the one pattern.
//! - `div` and `rem` of integers are undefined by 0 and for `MIN / -1`: the divisor is replaced by 1 there.
//! - Shift distances are 32 bits and clamp at the width: those of 64 bits are clamped before.
//! - `copysign` on bits alone; `bf16` has no conversions on `sm_70`: they are integer arithmetic. Where all GPUs are newer
//!   than that, `cvt` rounds to it, and `max.NaN` is the maximum that carries NaN.

pub(in crate::libraries) mod body;
mod entry;
mod far;
pub(in crate::libraries) mod formula;
mod geometry;
mod groups;
mod remainder;
#[cfg(test)]
mod tests;

pub(super) use geometry::{Geometry, Launch};

use super::ir::Expr;
use super::low::{Calls, Low, lower};
use crate::core::error::Result;
use crate::core::sync::Arc;
use crate::libraries::kernel::Words;
use geometry::Argument;

/// A kernel: what its launches have to know.
#[derive(Debug)]
pub(super) struct Kernel {
    pub(super) geometry: Arc<Geometry>,
    words: Words<Argument>,
    low: Low,
}

impl Kernel {
    /// Writes the kernel for an expression and a geometry of it: a whole module.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the arguments exceed 4 KiB.
    pub(super) fn new(expr: &Expr, geometry: &Arc<Geometry>) -> Result<(Self, String)> {
        let low = lower(expr, Calls::Expand);
        let (text, words) = entry::write(expr, &low, geometry)?;
        Ok((Kernel { geometry: geometry.clone(), words, low }, text))
    }

    /// The arguments of a launch: the words of the one parameter.
    pub(super) fn arguments(&self, launch: &Launch<'_>) -> Vec<u64> {
        self.words.values(|word| launch.word(word, &self.low))
    }
}
