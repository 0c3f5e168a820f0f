//! Which rows a kernel takes.

use super::super::kind::ReductionKind;
use super::super::shape::Shape;
use super::super::space::{GROUP, Space};
use crate::core::element::DType;
use crate::core::error::Result;
use crate::device::tensor::Layout;
use crate::libraries::expressions::ir::Expr;

/// The longest row: a block has 16 threads for each group of the tree.
const LONGEST: usize = 64 * GROUP;

/// How rows lie in memory.
pub(super) struct Plan {
    /// The operands that are read, but for the results of the reduction; then what is written. The output is the result.
    pub(super) space: Space,
}

/// Whether a kernel loads elements of this type several at once.
fn is_plain(dtype: DType) -> bool {
    matches!(
        dtype,
        DType::F16 | DType::Bf16 | DType::F32 | DType::F64 | DType::I32 | DType::I64 | DType::U32 | DType::U64
    )
}

impl Plan {
    /// Of the reduction and of the layouts of a map, `None` if they are computed one after the other. The last input of the map is
    /// the result of the reduction. They need not be admitted yet.
    pub(super) fn new(reduce: &Shape, formula: &Expr, inputs: &[Layout], target: &Layout) -> Result<Option<Plan>> {
        let element = &reduce.formula.0.expr;
        let Some((_, read)) = inputs.split_last() else { return Ok(None) };
        let counts = element.inputs().len() <= read.len() && formula.inputs().len() == inputs.len();
        let complex = |dtype: DType| matches!(dtype, DType::C32 | DType::C64);
        let types = || formula.inputs().iter().take(read.len()).copied();
        let plain = types().all(|dtype| is_plain(dtype) || complex(dtype)) && formula.output_types().all(is_plain);
        let placeless = element.positions().is_empty() && formula.positions().is_empty();
        let alike = read.iter().all(|layout| layout.shape() == target.shape());
        let counted = matches!(reduce.kind, ReductionKind::ArgMin | ReductionKind::ArgMax);
        let kind = !counted && formula.outputs().len() == 1;
        if !(counts && plain && placeless && alike && kind && element.axes() == 0 && formula.axes() == 0) {
            return Ok(None);
        }
        if target.is_empty() || reduce.output.is_empty() || reduce.output.rank() != target.rank() {
            return Ok(None);
        }
        let mut layouts = read.to_vec();
        layouts.push(target.clone());
        let space = Space::new(element, &layouts, &reduce.output, reduce.axes)?;
        let near = |stride: Option<&isize>| stride.is_none_or(|stride| *stride == 1);
        let along = space.walks.iter().all(|walk| near(walk.reduced.first()) || walk.reduced.first() == Some(&0));
        let fits = space.reduced.len() <= 1
            && (1..=LONGEST).contains(&space.length)
            && space.results < 1 << 31
            && along
            && types().zip(&space.walks).all(|(dtype, walk)| is_plain(dtype) || walk.reduced.first() == Some(&0))
            && space.walks.last().is_some_and(|walk| near(walk.reduced.first()));
        Ok(fits.then_some(Plan { space }))
    }

    /// Whether an operand has one element for a whole row.
    #[cfg(feature = "cuda")]
    pub(super) fn is_constant(&self, k: usize) -> bool {
        self.space.walks.get(k).is_some_and(|walk| walk.reduced.first() == Some(&0))
    }
}
