//! The elements of a reduction as two nests of loops: over the results, and over the elements of one.

use crate::core::error::{Error, Result};
use crate::device::tensor::{Layout, fused};
use crate::libraries::expressions::ir::Expr;
use smallvec::SmallVec;

/// The elements of a group of the tree.
pub(super) const GROUP: usize = 1024;
/// The chains of a group: chain `c` takes the elements `c`, `c + CHAINS`, ..
pub(super) const CHAINS: usize = 64;

/// One value for each axis.
pub(super) type PerAxis<T> = SmallVec<[T; 4]>;

/// An operand that is read: an input, or the positions along an axis (whose elements are numbers).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Walk {
    /// Over the results.
    pub(super) kept: Layout,
    /// The distances between neighbours along the reduced axes, in elements.
    pub(super) reduced: PerAxis<isize>,
}

/// How results and elements are numbered, and where they lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Space {
    /// The operands that are read: inputs, then positions.
    pub(super) walks: Vec<Walk>,
    /// The operand that is written.
    pub(super) output: Layout,
    /// The extents of the reduced axes, in their order; those that continue each other are one.
    pub(super) reduced: PerAxis<usize>,
    pub(super) results: usize,
    /// The elements of a result.
    pub(super) length: usize,
}

/// The layout without the reduced axes.
fn kept(layout: &Layout, axes: u64) -> Result<Layout> {
    let stay = |axis: &usize| axes >> axis & 1 == 0;
    let places = || (0..layout.rank()).filter(stay);
    let extents: PerAxis<usize> = places().filter_map(|axis| layout.shape().get(axis).copied()).collect();
    if layout.is_empty() {
        let nowhere: PerAxis<isize> = extents.iter().map(|_| 0).collect();
        return Layout::new(extents, nowhere, 0);
    }
    let strides: PerAxis<isize> = places().filter_map(|axis| layout.strides().get(axis).copied()).collect();
    Layout::new(extents, strides, layout.offset())
}

impl Space {
    /// Of layouts that were checked: the inputs have the same extents, in which the reduced axes of the output are 1.
    pub(super) fn new(formula: &Expr, inputs: &[Layout], output: &Layout, axes: u64) -> Result<Self> {
        let missing = || Error::invalid("inputs", "a reduction has an input");
        let extents = inputs.first().map(Layout::shape).ok_or_else(missing)?;
        let mut all: Vec<Layout> = inputs.to_vec();
        for position in formula.positions() {
            if *position == Expr::INDEX {
                all.push(Layout::row_major(extents)?);
                continue;
            }
            let strides: PerAxis<isize> =
                (0..extents.len()).map(|a| isize::from(a == usize::from(*position))).collect();
            all.push(Layout::new(extents, strides, 0)?);
        }
        let mut layouts = all.iter().map(|layout| kept(layout, axes)).collect::<Result<Vec<_>>>()?;
        layouts.push(kept(output, axes)?);
        let results = layouts.last().map_or(0, Layout::len);
        let mut layouts = fused(&layouts.iter().collect::<Vec<_>>());
        let output = layouts.pop().ok_or_else(missing)?;
        let reduced = (0..extents.len()).filter(|axis| axes >> axis & 1 == 1);
        let mut merged: Vec<(usize, Vec<isize>)> = Vec::new();
        for axis in reduced.clone() {
            let n = extents.get(axis).copied().unwrap_or(1);
            if n == 1 {
                continue;
            }
            let strides: Vec<isize> = all.iter().map(|l| l.strides().get(axis).copied().unwrap_or(0)).collect();
            match merged.last_mut() {
                Some((outer, far))
                    if far.iter().zip(&strides).all(|(far, near)| near.checked_mul(n as isize) == Some(*far)) =>
                {
                    (*outer, *far) = (*outer * n, strides);
                }
                _ => merged.push((n, strides)),
            }
        }
        let walks = layouts.into_iter().enumerate().map(|(k, kept)| Walk {
            kept,
            reduced: merged.iter().filter_map(|(_, strides)| strides.get(k).copied()).collect(),
        });
        Ok(Space {
            walks: walks.collect(),
            output,
            reduced: merged.iter().map(|(n, _)| *n).collect(),
            results,
            length: reduced.map(|axis| extents.get(axis).copied().unwrap_or(1)).product(),
        })
    }

    /// That of the accumulators of the groups of this one, which lie one after the other: those of a result side by side, or
    /// the groups of all results side by side (`by_result`).
    pub(super) fn of_groups(&self, arrays: usize, by_group: bool) -> Result<Self> {
        let groups = self.groups();
        let (result, group) = if by_group { (1, self.results) } else { (groups, 1) };
        let mut strides: PerAxis<isize> = PerAxis::new();
        let mut next = result as isize;
        for n in self.output.shape().iter().rev() {
            strides.insert(0, next);
            next = next.saturating_mul(*n as isize);
        }
        let kept = Layout::new(self.output.shape(), strides, 0)?;
        let walk = Walk { kept, reduced: [group as isize].into_iter().collect() };
        Ok(Space {
            walks: vec![walk; arrays],
            output: self.output.clone(),
            reduced: [groups].into_iter().collect(),
            results: self.results,
            length: groups,
        })
    }

    /// The groups of a result.
    pub(super) fn groups(&self) -> usize {
        self.length.div_ceil(GROUP).max(1)
    }

    /// Whether results lie closer to each other in memory than the elements of one, or have few elements: then a thread, or a
    /// lane of a vector, has a result of its own.
    pub(super) fn is_by_result(&self, few_results: usize, few_elements: usize) -> bool {
        if self.results < few_results {
            return false;
        }
        self.length <= few_elements || self.results_are_near()
    }

    /// Whether results lie closer to each other in memory than the elements of one.
    pub(super) fn results_are_near(&self) -> bool {
        let near = |strides: &[isize]| strides.last().map_or(usize::MAX, |stride| stride.unsigned_abs());
        let own = self.walks.iter().map(|walk| (near(walk.kept.strides()), near(&walk.reduced)));
        own.filter(|(kept, reduced)| *kept > 0 && *reduced > 0).map(|(k, r)| k < r).next().unwrap_or(false)
    }
}
