//! The operands of a call as the fewest nested loops, for both engines.

use super::ir::Expr;
use crate::core::error::{Error, Result};
use crate::device::tensor::{Layout, fused};
use smallvec::SmallVec;

/// The layouts of all operands with their axes fused: outputs, inputs, then the positions along axes that the expression
/// takes. The elements of a position are numbers; it is a layout over 0, 1, 2 and so on.
#[derive(Clone, Debug)]
pub(crate) struct Nest {
    pub(crate) layouts: Vec<Layout>,
    /// The number of elements along each axis, before axes are fused.
    pub(crate) extents: SmallVec<[usize; 4]>,
}

impl Nest {
    /// Of layouts that were checked: all have the same extents, and the expression's axes exist.
    pub(crate) fn new(expr: &Expr, outputs: &[Layout], inputs: &[&Layout]) -> Result<Self> {
        let extents = outputs.first().map(Layout::shape).unwrap_or_default();
        let mut positions = Vec::new();
        for axis in expr.positions() {
            if *axis == Expr::INDEX {
                positions.push(Layout::row_major(extents)?);
                continue;
            }
            let mut strides: SmallVec<[isize; 6]> = extents.iter().map(|_| 0).collect();
            if let Some(stride) = strides.get_mut(usize::from(*axis)) {
                *stride = 1;
            }
            positions.push(Layout::new(extents, strides, 0)?);
        }
        let all: SmallVec<[&Layout; 12]> = outputs.iter().chain(inputs.iter().copied()).chain(&positions).collect();
        Ok(Nest { layouts: fused(&all), extents: extents.into() })
    }

    /// The number of elements.
    pub(crate) fn len(&self) -> usize {
        self.layouts.first().map_or(0, Layout::len)
    }

    /// The layout of operand `k`.
    pub(crate) fn layout(&self, k: usize) -> Result<&Layout> {
        self.layouts.get(k).ok_or_else(|| Error::library("internal error: an operand is missing"))
    }
}
