//! A kernel: what it depends on, its expressions, and the words of its argument.

use super::super::exponentials::{self, distance, larger};
use super::super::kind::ReductionKind;
use super::super::recipe::Recipe;
use super::softmax::of_exponential;
use crate::core::element::DType;
use crate::core::error::Result;
use crate::libraries::expressions::formula::Shared;
use crate::libraries::expressions::ir::Expr;
use crate::libraries::expressions::low::{Calls, Low, lower, lower_as};
use crate::libraries::kernel::Words;

/// Threads that have a group of the tree: each has four neighbouring chains.
pub(super) const TEAM: usize = 16;
/// The elements that a thread takes at once: one for each of its chains.
pub(super) const QUAD: usize = 4;
/// Threads of a block, unless a row needs more.
const BLOCK: usize = 256;

/// What a kernel depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) kind: ReductionKind,
    /// The type of the caller's formula of the elements.
    pub(super) dtype: DType,
    pub(super) element: Shared,
    pub(super) finish: Option<Shared>,
    pub(super) spread: Shared,
    /// The types of the operands that are read, and whether each has one element for a row.
    pub(super) inputs: Vec<(DType, bool)>,
    /// Axes of the results.
    pub(super) kept: usize,
    /// Whether four neighbours are loaded at once.
    pub(super) is_vector: bool,
    /// Steps of a chain at once; whether every thread has all of them.
    pub(super) turns: usize,
    pub(super) is_whole: bool,
    /// Places for groups of a row: 1, 16, 32, 64.
    pub(super) places: usize,
    /// A thread keeps its elements in registers, so that a row is read once. Its steps are all those of its chains then.
    pub(super) keeps: bool,
}

/// The most threads of a block in which threads keep their elements: each may have 128 registers.
pub(super) const KEEPING: usize = 512;

/// The rows of a block, and its threads, for rows of so many groups.
pub(super) const fn block(groups: usize) -> (usize, usize) {
    let own = TEAM * groups;
    let rows = if own >= BLOCK { 1 } else { BLOCK / own };
    (rows, (rows * own).next_multiple_of(32))
}

/// The number of an expression of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Program {
    Element,
    Step,
    Join,
    Finish,
    After,
    Spread,
    /// Of exponentials: the larger one of two elements, and the exponential of a distance from the largest one.
    Larger,
    Distance,
    /// Of softmax: what becomes of such an exponential, if threads keep them.
    Scaled,
}

impl Program {
    pub(super) const ALL: [Program; 9] = [
        Program::Element,
        Program::Step,
        Program::Join,
        Program::Finish,
        Program::After,
        Program::Spread,
        Program::Larger,
        Program::Distance,
        Program::Scaled,
    ];
}

/// The expressions of a kernel.
pub(super) struct Programs([Low; 9]);

impl Programs {
    /// `sums` are the recipes of exponentials.
    pub(super) fn new(
        (recipe, sums): (&Recipe, Option<&Recipe>),
        element: &Expr,
        after: Option<&Expr>,
        (spread, scaled): (&Expr, Option<&Expr>),
    ) -> Result<Self> {
        let open = |expr: &Expr| lower_as(expr, Calls::Expand, false);
        let closed = |expr: &Expr| lower(expr, Calls::Expand);
        let folds = sums.unwrap_or(recipe);
        let more = match folds.accumulators.first() {
            Some(own) if sums.is_some() => [larger(*own)?, distance(*own)?].map(|kept| open(&kept.expr)),
            _ => Default::default(),
        };
        let [larger, distance] = more;
        Ok(Programs([
            open(element),
            open(&folds.step.expr),
            open(&folds.join.expr),
            closed(&recipe.finish.expr),
            after.map(closed).unwrap_or_default(),
            closed(spread),
            larger,
            distance,
            scaled.map(closed).unwrap_or_default(),
        ]))
    }

    pub(super) fn get(&self, program: Program) -> &Low {
        let [first, ..] = &self.0;
        self.0.get(program as usize).unwrap_or(first)
    }
}

/// A word of the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Argument {
    Rows,
    Target,
    Results,
    /// The address of an operand's first element.
    Base(usize),
    Length,
    Groups,
    /// Rows of a block.
    Together,
    Kept(usize),
    /// In bytes; the operand behind the last one that is read is the target.
    KeptStride(usize, usize),
    ResultStride(usize),
    Identity(usize, usize),
    Count,
    Uniform(Program, u16),
}

/// A kernel: what its launches have to know.
pub(super) struct Kernel {
    pub(super) words: Words<Argument>,
    pub(super) programs: Programs,
}

impl Kernel {
    /// Writes a kernel: a whole module.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the arguments exceed 4 KiB.
    pub(super) fn new(key: &Key) -> Result<(Self, String)> {
        let recipe = Recipe::for_kind(key.kind, key.dtype)?;
        let after = key.finish.as_ref().map(|kept| &kept.0.expr);
        let sums = match exponentials::is_it(key.kind) {
            true => Some(Recipe::for_kind(ReductionKind::Sum, exponentials::own(key.dtype))?),
            false => None,
        };
        let spread = &key.spread.0.expr;
        let scaled = match (after, key.keeps && sums.is_some()) {
            (Some(after), true) => of_exponential(key.dtype, after, spread)?,
            _ => None,
        };
        let spread = (spread, scaled.as_ref().map(|kept| &kept.expr));
        let programs = Programs::new((&recipe, sums.as_deref()), &key.element.0.expr, after, spread)?;
        let (text, words) = super::text::write(key, sums.as_deref().unwrap_or(&recipe), &programs)?;
        Ok((Kernel { words, programs }, text))
    }
}
