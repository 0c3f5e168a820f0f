//! The operation: a reduction and a map of its result.

#[cfg(feature = "host")]
use super::super::exponentials;
use super::super::op::Reduce;
use super::shape::Plan;
use super::spreading::{Spreading, not_dense};
use crate::core::sync::Arc;
use crate::device::tensor::Layout;
use crate::libraries::expressions::op::Map;
use crate::libraries::tensor_routine::prelude::*;
use smallvec::SmallVec;

/// Reads the inputs of the map but for the last one, which is the result of the reduction of the first of them. Writes what the map
/// writes, and that result. All is plain data, and admitted by [`TensorRoutine::check`], wherever it comes from.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::libraries::reductions) struct Rows {
    pub(super) reduce: Reduce,
    pub(super) map: Map,
    #[serde(skip)]
    pub(super) spreading: Arc<Spreading>,
}

impl Rows {
    pub(super) const fn new(reduce: Reduce, map: Map, spreading: Arc<Spreading>) -> Self {
        Rows { reduce, map, spreading }
    }

    /// The loops; call after [`TensorRoutine::check`].
    pub(super) fn plan(&self) -> Result<&Plan> {
        let plan = self.spreading.plan(&self.reduce.shape, &self.map.formula, &self.map.shape)?;
        plan.ok_or_else(|| Error::invalid("formula", "rows have gaps, or are too long"))
    }
}

impl TensorRoutine for Rows {
    const NAME: &'static str = "rows";
    const LIBRARY: &'static str = Reduce::LIBRARY;
    const OUTLIVES_ENQUEUE: bool = false;
    type Raw = ();

    fn operands(&self) -> Operands<'_> {
        let expr = &self.map.formula.0.expr;
        let reads = expr.inputs().split_last().map(|(_, reads)| reads).unwrap_or_default();
        let target = expr.output_types().next().unwrap_or(DType::F32);
        let results = Operand::any("results", self.reduce.shape.result_type());
        let reads = reads.iter().enumerate().map(|(k, dtype)| Operand::numbered("input", k, *dtype));
        Operands::new(reads, [Operand::any("output", target), results])
    }

    fn check_data(&self) -> Result<()> {
        self.reduce.check_data()?;
        self.map.check_data()
    }

    fn check_operands(&self, reads: &[AnySpan], writes: &[AnySpan]) -> Result<()> {
        let ([target, results], Some(reduced)) = (writes, reads.get(..self.reduce.shape.inputs.len())) else {
            return Err(Error::invalid("inputs", format!("{} read and {} written", reads.len(), writes.len())));
        };
        self.reduce.check_operands(reduced, std::slice::from_ref(results))?;
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

    fn overwrites_each(&self, _: &[AnySpan], _: usize) -> bool {
        true
    }

    fn is_prompt(&self) -> bool {
        self.reduce.is_prompt() && self.map.is_prompt()
    }

    fn cost(&self) -> Cost {
        let (reduce, map) = (self.reduce.cost(), self.map.cost());
        Cost { flops: reduce.flops.saturating_add(map.flops), bytes: map.bytes }
    }

    #[cfg(feature = "host")]
    fn host(&self, operands: Checked<'_, '_>) -> Result<()> {
        let (mut sources, targets) = operands.starts();
        let [target, results] = targets[..] else { return Err(missing()) };
        // SAFETY: the operands were checked, as those of the reduction and as those of the map: the layouts lie inside them, they are
        // aligned for their types, and the elements of what is written are distinct. What is written is exclusively ours.
        unsafe {
            if super::blocks::run(self, &sources, target, results)? {
                return Ok(());
            }
            let reduced = sources.get(..self.reduce.shape.inputs.len()).unwrap_or_default();
            match (exponentials::is_it(self.reduce.shape.kind), reduced) {
                (true, [input]) => exponentials::reduce(&self.reduce, *input, results)?,
                _ => super::super::host::run(&self.reduce, reduced, results)?,
            }
            sources.push(results.cast_const());
            self.map.compute(&sources, &[target])
        }
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, _: &[AnySpan], _: &[AnySpan], plans: &mut Prepare<'_>) {
        for key in super::launch::keys(self).map(|keys| &keys.all[..]).unwrap_or_default() {
            plans.plan(key);
        }
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        super::launch::enqueue(self, queue)
    }
}

tensor_routines!(Rows);
