//! The operation: a formula over the elements of its operands, reduced along axes, and a formula of the results.

use super::recipe::Recipe;
use super::shape::Shape;
use crate::core::sync::Arc;
use crate::device::tensor::Layout;
use crate::engines::tape::Fuse;
use crate::libraries::expressions::Scalar;
use crate::libraries::expressions::low::Lane;
use crate::libraries::tensor_routine::prelude::*;

/// Reduces a formula of its operands. All is plain data, and admitted by [`TensorRoutine::check`], wherever it comes from.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Reduce {
    #[serde(with = "super::shape")]
    pub(super) shape: Arc<Shape>,
    /// What is taken from the number of elements before it divides.
    pub(super) less: u64,
    /// The numbers of the formula of the elements, and of that of the results.
    pub(super) scalars: Vec<Scalar>,
    pub(super) finish_scalars: Vec<Scalar>,
}

impl Reduce {
    /// The number of elements of a result, less what it loses, in the type in which the kind takes it.
    pub(super) fn count_bits(&self, recipe: &Recipe) -> (Lane, u64) {
        let (axes, extents) = (self.shape.axes, self.shape.shape());
        let length: u64 =
            (0..).zip(extents).filter(|(axis, _)| axes >> axis & 1 == 1).map(|(_, n)| *n as u64).product();
        let count = length.saturating_sub(self.less);
        match recipe.count {
            Some(DType::F32) => (Lane::F32, (count as f32).to_bits().into()),
            _ => (Lane::F64, (count as f64).to_bits()),
        }
    }
}

impl TensorRoutine for Reduce {
    const NAME: &'static str = "reduce";
    const LIBRARY: &'static str = "expressions";
    const FUSE: Fuse = Fuse(Some(super::fuse::into_reduction));
    const OUTLIVES_ENQUEUE: bool = false;
    type Raw = ();

    fn operands(&self) -> Operands<'_> {
        let inputs = self.shape.formula.0.expr.inputs().iter().enumerate();
        let output = Operand::any("output", self.shape.result_type());
        Operands::new(inputs.map(|(k, dtype)| Operand::numbered("input", k, *dtype)), [output])
    }

    fn check_data(&self) -> Result<()> {
        self.shape.formula.0.expr.check_scalars("scalars", &self.scalars)?;
        if let Some(finish) = &self.shape.finish {
            finish.0.expr.check_scalars("finish", &self.finish_scalars)?;
        }
        self.shape.check()
    }

    fn check_operands(&self, reads: &[AnySpan], writes: &[AnySpan]) -> Result<()> {
        let (shape, expr) = (&self.shape, &self.shape.formula.0.expr);
        let ([output], true) = (writes, reads.len() == shape.inputs.len()) else {
            let what = format!("{} read and {} written", reads.len(), writes.len());
            return Err(Error::invalid("inputs", what));
        };
        let inputs = shape.inputs.iter().zip(expr.inputs().iter().copied()).zip(reads);
        let own = std::iter::once(((&shape.output, shape.result_type()), output));
        for (k, ((layout, dtype), span)) in inputs.chain(own).enumerate() {
            let invalid = |what: String| {
                let is_input = k < reads.len();
                Error::invalid(if is_input { format!("input {k}") } else { "output".to_owned() }, what)
            };
            if span.dtype() != dtype {
                return Err(invalid(format!("its elements are {}, not {dtype}", span.dtype())));
            }
            if let Some(highest) = shape.highest(k, layout).filter(|highest| *highest >= span.len()) {
                return Err(invalid(format!("{layout:?} reaches element {highest} of {}", span.len())));
            }
        }
        match reads.iter().position(|read| read.overlaps(output)) {
            Some(k) => Err(Error::invalid("output", format!("it lies in the memory of input {k}"))),
            None => Ok(()),
        }
    }

    fn overwrites_each(&self, writes: &[AnySpan], index: usize) -> bool {
        writes.get(index).is_some_and(|span| self.shape.output.len() == span.len() && self.shape.is_distinct())
    }

    fn is_prompt(&self) -> bool {
        // Less than what it takes to wake a thread.
        const FEW: usize = 1 << 13;
        let len = self.shape.inputs.first().map_or(0, Layout::len).saturating_add(64 * self.shape.output.len());
        len.saturating_mul(self.shape.formula.0.expr.nodes().len() + 1) <= FEW
    }

    fn cost(&self) -> Cost {
        let expr = &self.shape.formula.0.expr;
        let len = self.shape.inputs.first().map_or(0, Layout::len) as u64;
        let size: u64 = expr.inputs().iter().map(|dtype| dtype.size() as u64).sum();
        let work = expr.nodes().len().saturating_sub(expr.inputs().len()) as u64 + 1;
        let out = (self.shape.output.len() as u64).saturating_mul(self.shape.result_type().size() as u64);
        Cost { flops: len.saturating_mul(work), bytes: len.saturating_mul(size).saturating_add(out) }
    }

    #[cfg(feature = "host")]
    fn host(&self, operands: Checked<'_, '_>) -> Result<()> {
        if self.shape.output.is_empty() {
            return Ok(());
        }
        let (inputs, outputs) = operands.starts();
        let output = *outputs.first().ok_or_else(missing)?;
        // SAFETY: the operands were checked: the layouts lie inside them, they are aligned for their types, and the elements of the
        // output are distinct. The operand that is written is exclusively ours.
        unsafe { super::host::run(self, &inputs, output) }
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, _: &[AnySpan], _: &[AnySpan], plans: &mut Prepare<'_>) {
        self.shape.levels().unwrap_or_default().iter().for_each(|level| plans.plan(&level.key));
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        super::cuda::enqueue(self, queue)
    }
}

tensor_routines!(Reduce);
