//! What calls that are alike have in common: found once for all of them.

use super::super::exponentials;
use super::super::op::Reduce;
#[cfg(feature = "host")]
use super::super::pairs::Spread;
use super::super::shape::Shape;
use super::shape::Plan;
use crate::core::error::{Error, Result};
use crate::core::sync::Arc;
use crate::device::tensor::Layout;
use crate::libraries::expressions::formula::Shared;
use crate::libraries::expressions::op::{Map, MapShape};
use std::sync::OnceLock;

/// The layouts of a map of a reduction, with what follows from them.
#[derive(Default)]
pub(super) struct Spreading {
    formula: Option<Shared>,
    /// The layouts of the operands that only the map reads, as the caller gave them.
    more: Vec<Layout>,
    map: Option<Arc<MapShape>>,
    /// The loops, if rows can be computed as one dispatch.
    plan: OnceLock<Option<Plan>>,
    admitted: OnceLock<()>,
    /// The formula, if it is one of which the host engine has a loop.
    #[cfg(feature = "host")]
    normal: OnceLock<Option<Spread>>,
    #[cfg(feature = "cuda")]
    pub(super) keys: OnceLock<super::launch::Keys>,
}

impl std::fmt::Debug for Spreading {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Spreading")
    }
}

impl Spreading {
    /// Of a reduction, a formula, and the operands that only the map reads.
    pub(super) fn of(reduce: &Shape, formula: &Shared, more: &[&Layout]) -> Result<Arc<Self>> {
        let is_it = |own: &Spreading| own.formula.as_ref() == Some(formula) && own.more.iter().eq(more.iter().copied());
        // The latest one is kept: a program spreads a reduction in one way.
        let latest = reduce.latest().lock().clone().and_then(|latest| latest.downcast::<Spreading>().ok());
        if let Some(known) = latest.filter(|own| is_it(own)) {
            return Ok(known);
        }
        let extents = reduce.shape();
        let target = Layout::row_major(extents)?;
        let mut inputs = reduce.inputs.clone();
        for layout in more.iter().copied().chain([&reduce.output]) {
            inputs.push(layout.broadcast(extents)?);
        }
        let map = formula.0.shape(std::slice::from_ref(&target), &inputs, false);
        let more = more.iter().copied().cloned().collect();
        let made = Arc::new(Spreading { formula: Some(formula.clone()), more, map: Some(map), ..Spreading::default() });
        let out = reduce.latest().lock().replace(made.clone());
        drop(out);
        Ok(made)
    }

    /// The layouts.
    pub(super) fn map(&self) -> Result<&Arc<MapShape>> {
        self.map.as_ref().ok_or_else(|| Error::library("internal error: a map without its layouts"))
    }

    /// The loops of an operation; `None` if it is computed as two.
    pub(super) fn plan(&self, reduce: &Shape, formula: &Shared, map: &MapShape) -> Result<Option<&Plan>> {
        if let Some(plan) = self.plan.get() {
            return Ok(plan.as_ref());
        }
        let Some(target) = map.outputs.first() else { return Ok(None) };
        let plan = Plan::new(reduce, &formula.0.expr, &map.inputs, target)?;
        Ok(self.plan.get_or_init(|| plan).as_ref())
    }

    /// What the formula makes of elements, and of the sums of a reduction that the host engine knows, if it knows that too.
    #[cfg(feature = "host")]
    pub(super) fn normal(&self, reduce: &Shape, formula: &Shared) -> Result<Option<Spread>> {
        if let Some(known) = self.normal.get() {
            return Ok(*known);
        }
        let normal = if reduce.pair()?.is_some() { Spread::of(&formula.0)? } else { None };
        Ok(*self.normal.get_or_init(|| normal))
    }

    /// Checks what does not depend on the operands. `read`: how many are read.
    pub(super) fn admit(&self, reduce: &Reduce, map: &Map, read: usize) -> Result<()> {
        if self.admitted.get().is_none() {
            exponentials::check(&reduce.shape)?;
            admit(&reduce.shape, &map.shape, read)?;
            let _ = self.admitted.set(());
        }
        Ok(())
    }
}

/// Whether these are the layouts of a reduction and of a map of its result, and the results are all there is in their buffers.
fn admit(reduce: &Shape, map: &MapShape, read: usize) -> Result<()> {
    let same = reduce.inputs.iter().zip(&map.inputs).all(|(a, b)| a == b)
        && map.inputs.len() == read + 1
        && reduce.output.broadcast(reduce.shape()).is_ok_and(|own| Some(&own) == map.inputs.last());
    if !same {
        return Err(Error::invalid("formula", "its inputs are not those of the reduction, and its result"));
    }
    let dense = |layout: Option<&Layout>| layout.is_some_and(|layout| layout.is_row_major() && layout.offset() == 0);
    match dense(map.outputs.first()) && dense(Some(&reduce.output)) {
        true => Ok(()),
        false => Err(not_dense()),
    }
}

pub(super) fn not_dense() -> Error {
    Error::invalid("output", "it is not row-major, or its buffer has other elements too")
}
