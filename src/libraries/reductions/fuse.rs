//! A map and the reduction that alone reads its results, made one step of a program: the elements are computed where they are
//! reduced.

use super::op::Reduce;
use crate::core::sync::Arc;
use crate::engines::tape::{Fused, Link, Step};
use crate::libraries::expressions::formula::Shared;
use crate::libraries::expressions::fuse::{Computation, Joined, join};

/// Joins a map to the reduction that reads its output.
pub(super) fn into_reduction(maker: &Step, user: &Step, link: &Link) -> Option<Fused> {
    let (reduce, spans) = user.parts::<Reduce>()?;
    let shape = &reduce.shape;
    let (expr, scalars) = (&shape.formula.0.expr, &reduce.scalars);
    let computation = Computation { expr, scalars, updated: 0, layouts: &shape.inputs, reads: &spans.0 };
    let Joined { kept, scalars, layouts, reads, origins } = join(maker, &computation, link)?;
    let joined = Reduce {
        shape: Arc::new(shape.with_formula(Shared(kept), layouts)),
        less: reduce.less,
        scalars,
        finish_scalars: reduce.finish_scalars.clone(),
    };
    Some(Fused { step: Step::checked(joined, (reads, spans.1)).ok()?, origins })
}
