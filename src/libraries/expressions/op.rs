//! The operation: an expression over the elements of its operands.

use super::formula::Shared;
use super::nest::Nest;
use super::scalar::Scalar;
pub(in crate::libraries) use super::shape::Shape as MapShape;
use super::shape::{Shape, count};
use crate::core::sync::Arc;
use crate::device::tensor::Layout;
use crate::engines::tape::Fuse;
use crate::libraries::tensor_routine::prelude::*;
use smallvec::SmallVec;

/// Computes an expression for each element of its operands. All is plain data, and admitted by [`TensorRoutine::check`], wherever it comes
/// from.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::libraries) struct Map {
    pub(in crate::libraries) formula: Shared,
    pub(in crate::libraries) scalars: Vec<Scalar>,
    #[serde(with = "super::shape")]
    pub(in crate::libraries) shape: Arc<Shape>,
}

impl Map {
    pub(in crate::libraries) fn new(formula: Shared, scalars: Vec<Scalar>, shape: Arc<Shape>) -> Self {
        Map { formula, scalars, shape }
    }

    /// The loops over the operands; call after [`TensorRoutine::check`].
    pub(super) fn nest(&self) -> Result<&Nest> {
        self.shape.nest(&self.formula.0.expr)
    }

    /// The error's name of an input of the expression.
    fn input_name(&self, k: usize) -> String {
        match k.checked_sub(self.shape.updated()) {
            Some(k) => format!("input {k}"),
            None => format!("output {k}"),
        }
    }

    /// Computes it on the host.
    ///
    /// # Safety
    /// It was checked for operands that lie there, which are aligned for their types; what is written is exclusively the caller's.
    #[cfg(feature = "host")]
    pub(in crate::libraries) unsafe fn compute(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let (kept, nest) = (&self.formula.0, self.nest()?);
        let bases = super::host::Bases { outputs, inputs };
        // SAFETY: the caller's promise.
        unsafe { kept.program().run(&kept.expr, &self.scalars, nest, &bases, self.shape.in_place) }
    }

    /// No output lies in memory that is another operand's.
    fn check_overlaps(&self, reads: &[AnySpan], writes: &[AnySpan]) -> Result<()> {
        for (k, write) in writes.iter().enumerate() {
            let other =
                writes.iter().take(k).position(|other| write.overlaps(other)).map(|other| format!("output {other}"));
            let input = || {
                reads
                    .iter()
                    .position(|read| write.overlaps(read))
                    .map(|read| self.input_name(self.shape.updated() + read))
            };
            if let Some(other) = other.or_else(input) {
                let what = format!("it lies in the memory of {other}: write another tensor, or update in place");
                return Err(Error::invalid(format!("output {k}"), what));
            }
        }
        Ok(())
    }
}

impl TensorRoutine for Map {
    const NAME: &'static str = "map";
    const LIBRARY: &'static str = "expressions";
    const FUSE: Fuse = Fuse(Some(super::fuse::maps));
    const OUTLIVES_ENQUEUE: bool = false;
    type Raw = ();

    fn operands(&self) -> Operands<'_> {
        let expr = &self.formula.0.expr;
        let reads = expr.inputs().iter().skip(self.shape.updated()).enumerate();
        let writes = expr.output_types().enumerate();
        Operands::new(
            reads.map(|(k, dtype)| Operand::numbered("input", k, *dtype)),
            writes.map(|(k, dtype)| Operand::numbered("output", k, dtype)),
        )
    }

    fn check_data(&self) -> Result<()> {
        let expr = &self.formula.0.expr;
        self.shape.check(expr)?;
        expr.check_scalars("scalars", &self.scalars)
    }

    fn check_operands(&self, reads: &[AnySpan], writes: &[AnySpan]) -> Result<()> {
        let expr = &self.formula.0.expr;
        count("outputs", writes.len(), self.shape.outputs.len())?;
        count("inputs", reads.len(), self.shape.inputs.len())?;
        let read_types = expr.inputs().iter().skip(self.shape.updated()).copied();
        let layouts = self.shape.outputs.iter().chain(&self.shape.inputs);
        let types = expr.output_types().chain(read_types);
        for (at, ((layout, dtype), span)) in layouts.zip(types).zip(writes.iter().chain(reads)).enumerate() {
            let invalid = |what: String| {
                let (kind, k) = at.checked_sub(writes.len()).map_or(("output", at), |k| ("input", k));
                Error::invalid(format!("{kind} {k}"), what)
            };
            if span.dtype() != dtype {
                return Err(invalid(format!("its elements are {}, but the formula has {dtype}", span.dtype())));
            }
            if let Some(highest) = self.shape.highest(at, layout).filter(|highest| *highest >= span.len()) {
                return Err(invalid(format!("{layout:?} reaches element {highest} of {}", span.len())));
            }
        }
        self.check_overlaps(reads, writes)
    }

    fn overwrites_each(&self, writes: &[AnySpan], index: usize) -> bool {
        match (self.shape.outputs.get(index), writes.get(index)) {
            (Some(layout), Some(span)) => {
                !self.shape.in_place && layout.len() == span.len() && self.shape.is_distinct(layout)
            }
            _ => false,
        }
    }

    fn is_prompt(&self) -> bool {
        // Less than what it takes to wake a thread.
        const FEW: usize = 1 << 14;
        let len = self.shape.outputs.first().map_or(0, Layout::len);
        len.saturating_mul(self.formula.0.expr.nodes().len()) <= FEW
    }

    fn cost(&self) -> Cost {
        let expr = &self.formula.0.expr;
        let len = self.shape.outputs.first().map_or(0, Layout::len) as u64;
        let sizes = expr.inputs().iter().copied().chain(expr.output_types()).map(|dtype| dtype.size() as u64);
        let work = expr.nodes().len().saturating_sub(expr.inputs().len()) as u64;
        Cost { flops: len.saturating_mul(work), bytes: len.saturating_mul(sizes.sum()) }
    }

    #[cfg(feature = "host")]
    fn host(&self, operands: Checked<'_, '_>) -> Result<()> {
        let (reads, outputs) = operands.starts();
        let updated = outputs.iter().take(self.shape.updated()).map(|base| base.cast_const());
        let inputs: SmallVec<[*const u8; 8]> = updated.chain(reads).collect();
        // SAFETY: the operands were checked: the layouts lie inside them, they are aligned for their types, and the elements of
        // outputs are distinct. Operands that are written are exclusively ours, and are read only in place.
        unsafe { self.compute(&inputs, &outputs) }
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, _: &[AnySpan], _: &[AnySpan], plans: &mut Prepare<'_>) {
        if let Some(key) = super::cuda::Key::from_map(self) {
            plans.plan(&key);
        }
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        super::cuda::enqueue(self, queue)
    }
}

tensor_routines!(Map);
