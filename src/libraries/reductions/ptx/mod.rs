//! A level of a reduction as PTX for `sm_70` and later, PTX 7.0.
//!
//! A task is a group of a result. A *warp* has one, of which a lane holds two chains, and joins them by shuffles; or a *thread*
//! has one, and goes through the chains of the group so that neighbours of the tree come one after the other, with some chains
//! at once; or a *block* has those of neighbouring results, and shares memory. A level makes accumulators of elements, or joins those
//! of the level before; the last one makes results. Of a single result the last block of a level goes on and makes it, if few
//! accumulators are left.
//!
//! `geometry.rs` says what the text depends on besides the expressions, and gives a launch its arguments. `text.rs` writes
//! what all kernels have, `task.rs` finds what a task treats, `elements.rs` the loads and steps, `places.rs` those of places, `tree.rs` and `columns.rs` the ways through
//! a group, `fold.rs` what the last block does.

mod columns;
mod elements;
mod fold;
mod geometry;
mod places;
mod task;
mod text;
mod tree;

#[doc(hidden)]
pub use geometry::THREADS_FROM;
pub(super) use geometry::{COLUMNS, Geometry, Launch, Way};

use super::recipe::Recipe;
use crate::core::element::DType;
use crate::core::error::Result;
use crate::libraries::expressions::ir::Expr;
use crate::libraries::expressions::low::{Calls, Low, lower, lower_as};
use crate::libraries::kernel::Words;
use geometry::Argument;

/// The number of an expression of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Program {
    Element,
    Step,
    Join,
    Finish,
    After,
}

/// The expressions of a kernel; one that it does not need is empty.
pub(super) struct Programs([Low; 5]);

impl Programs {
    fn new(recipe: &Recipe, element: &Expr, after: Option<&Expr>, geometry: &Geometry) -> Self {
        let open = |expr: &Expr, needed: bool| {
            if needed { lower_as(expr, Calls::Expand, false) } else { Low::default() }
        };
        let closed = |expr: Option<&Expr>| match expr {
            Some(expr) if geometry.ends() => lower(expr, Calls::Expand),
            _ => Low::default(),
        };
        Programs([
            open(element, geometry.is_leaf),
            open(&recipe.step.expr, geometry.is_leaf),
            open(&recipe.join.expr, true),
            closed(Some(&recipe.finish.expr)),
            closed(after),
        ])
    }

    pub(super) fn get(&self, program: Program) -> &Low {
        let [first, ..] = &self.0;
        self.0.get(program as usize).unwrap_or(first)
    }
}

/// A kernel: what its launches have to know.
pub(super) struct Kernel {
    words: Words<Argument>,
    pub(super) programs: Programs,
    /// Of a block.
    pub(super) threads: usize,
}

impl Kernel {
    /// Writes the kernel of a level: a whole module.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the arguments exceed 4 KiB.
    pub(super) fn new(
        recipe: &Recipe,
        element: &Expr,
        after: Option<&Expr>,
        result: DType,
        geometry: &Geometry,
    ) -> Result<(Self, String)> {
        let programs = Programs::new(recipe, element, after, geometry);
        let (text, words, threads) = text::write(recipe, element, &programs, result, geometry)?;
        Ok((Kernel { words, programs, threads }, text))
    }

    /// The arguments of a launch: the words of the one parameter.
    pub(super) fn arguments(&self, launch: &Launch<'_>) -> Vec<u64> {
        self.words.values(|word| launch.word(word, &self.programs))
    }
}
