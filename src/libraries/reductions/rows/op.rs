//! The operation: a reduction and a map of its result.

#[cfg(feature = "host")]
use super::super::exponentials;
use super::super::op::Reduce;
use super::shape::Plan;
use super::spreading::{Spreading, not_dense};
use crate::core::buffer::{AnyBuffers, AnySpan, Dyn};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, Retention, Spans, Wire};
use crate::core::sync::Arc;
use crate::device::tensor::Layout;
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Prepare, Slices, SlicesMut};
use crate::libraries::expressions::op::Map;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// Reads the inputs of the map but for the last one, which is the result of the reduction of the first of them. Writes what the map
/// writes, and that result. All is plain data, and admitted by [`Op::check`], wherever it comes from.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::libraries::reductions) struct Rows {
    pub(super) reduce: Reduce,
    pub(super) map: Map,
    #[serde(skip)]
    pub(super) spreading: Arc<Spreading>,
}

impl Rows {
    pub(in crate::libraries) const OP: &'static str = "rows";

    pub(super) const fn new(reduce: Reduce, map: Map, spreading: Arc<Spreading>) -> Self {
        Rows { reduce, map, spreading }
    }

    /// The loops; call after [`Op::check`].
    pub(super) fn plan(&self) -> Result<&Plan> {
        let plan = self.spreading.plan(&self.reduce.shape, &self.map.formula, &self.map.shape)?;
        plan.ok_or_else(|| Error::invalid("formula", "rows have gaps, or are too long"))
    }

    fn check_operands(&self, reads: &[AnySpan], writes: &[AnySpan]) -> Result<()> {
        let ([target, results], Some(reduced)) = (writes, reads.get(..self.reduce.shape.inputs.len())) else {
            return Err(Error::invalid("inputs", format!("{} read and {} written", reads.len(), writes.len())));
        };
        self.reduce.check_data()?;
        self.reduce.check_operands(reduced, std::slice::from_ref(results))?;
        self.map.check_layouts()?;
        let read: SmallVec<[AnySpan; 8]> = reads.iter().chain([results]).copied().collect();
        self.map.check_operands(&read, std::slice::from_ref(target))?;
        self.spreading.admit(&self.reduce, &self.map, reads.len())?;
        let is_whole = |layout: Option<&Layout>, len: usize| layout.is_some_and(|layout| layout.len() == len);
        if !is_whole(self.map.shape.outputs.first(), target.len())
            || !is_whole(Some(&self.reduce.shape.output), results.len())
        {
            return Err(not_dense());
        }
        self.plan().map(|_| ())
    }
}

impl Op for Rows {
    const NAME: &'static str = Rows::OP;
    const LIBRARY: &'static str = Reduce::LIBRARY;
    const PREPARED: bool = true;
    type Reads = Dyn;
    type Output = AnyBuffers;
    type Raw = ();

    fn check(&self, reads: &Spans<Dyn>, writes: &Spans<Dyn>) -> Result<()> {
        self.check_operands(reads, writes)
    }

    fn overwrites(&self, _: &Spans<Dyn>) -> bool {
        true
    }

    fn is_prompt(&self) -> bool {
        self.reduce.is_prompt() && self.map.is_prompt()
    }

    fn dtypes(&self) -> (&'static [DType], &'static [DType]) {
        let expr = &self.map.formula.0.expr;
        let reads = expr.inputs().split_last().map(|(_, reads)| reads).unwrap_or_default();
        let target = expr.output_types().next().unwrap_or(DType::F32);
        (crate::core::intern::types(reads), crate::core::intern::types(&[target, self.reduce.shape.result_type()]))
    }

    fn operand_name(&self, index: usize, read_count: usize) -> Option<String> {
        Some(match index.checked_sub(read_count) {
            None => format!("input {index}"),
            Some(0) => "output".to_owned(),
            Some(_) => "results".to_owned(),
        })
    }

    fn cost(&self) -> Cost {
        let (reduce, map) = (self.reduce.cost(), self.map.cost());
        Cost { flops: reduce.flops.saturating_add(map.flops), bytes: map.bytes }
    }

    #[cfg(feature = "host")]
    fn host(&self, reads: Slices<'_, Self>, writes: SlicesMut<'_, Self>) -> Result<()> {
        let targets: Vec<(*mut u8, usize)> = writes.into_iter().map(|slice| slice.into_raw()).collect();
        let ([(target, target_len), (results, results_len)], inputs) = (&targets[..], &self.map.shape.inputs) else {
            return Err(Error::library("internal error: an operand is missing"));
        };
        let fit = self.reduce.shape.inputs.len() <= reads.len()
            && inputs.len() == reads.len() + 1
            && inputs.iter().zip(&reads).all(|(l, slice)| l.is_inside(slice.bytes().len() / slice.dtype().size()))
            && self.reduce.shape.inputs.iter().zip(inputs).all(|(a, b)| a == b)
            && self.reduce.shape.output.is_inside(*results_len)
            && inputs.last().is_some_and(|layout| layout.is_inside(*results_len))
            && self.map.shape.outputs.first().is_some_and(|l| l.is_inside(*target_len) && l.is_distinct())
            && self.reduce.shape.is_distinct();
        // The check of the operation has said so already. What follows is sound only if it is true.
        if !fit {
            return Err(Error::library("internal error: unchecked layouts"));
        }
        let mut sources: Vec<*const u8> = reads.iter().map(|slice| slice.bytes().as_ptr()).collect();
        // SAFETY: the layouts lie inside the operands, whose memory is aligned for their types, and the elements of what is written
        // are distinct (above). The operands that are written are exclusively ours.
        unsafe {
            if super::blocks::run(self, &sources, *target, *results)? {
                return Ok(());
            }
            let reduced = sources.get(..self.reduce.shape.inputs.len()).unwrap_or_default();
            match (exponentials::is_it(self.reduce.shape.kind), reduced) {
                (true, [input]) => exponentials::reduce(&self.reduce, *input, *results)?,
                _ => super::super::host::run(&self.reduce, reduced, *results)?,
            }
            sources.push(results.cast_const());
            self.map.compute(&sources, &[*target])
        }
    }

    #[cfg(not(feature = "host"))]
    fn host(&self, _: Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<()> {
        Err(Error::unsupported("this build has no host engine (feature `host`)"))
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, _: &Spans<Dyn>, _: &Spans<Dyn>, plans: &mut Prepare<'_>) {
        for key in super::launch::keys(self).map(|keys| &keys.all[..]).unwrap_or_default() {
            plans.plan(key);
        }
    }

    /// The device needs the kernels alone.
    fn keeps(&mut self) -> Retention {
        Retention::NOTHING
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        super::launch::enqueue(self, queue)
    }

    #[cfg(not(feature = "cuda"))]
    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Err(Error::unsupported("this build has no CUDA engine (feature `cuda`)"))
    }

    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}
