//! The operation: a scan of a tensor along an axis.

use crate::device::tensor::Layout;
use crate::libraries::reductions::kind::ReductionKind;
use crate::libraries::tensor_routine::prelude::*;

/// Scans along an axis. All is plain data, and admitted by [`TensorRoutine::check`], wherever it comes from. The order of the scan is that of
/// the layouts, so that one from the end has turned ones.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::libraries::reductions) struct Scan {
    pub(super) kind: ReductionKind,
    /// Of the elements that are read.
    pub(super) dtype: DType,
    /// Whether an element is left out of its own result.
    pub(super) exclusive: bool,
    pub(super) axis: usize,
    pub(super) x: Layout,
    pub(super) output: Layout,
}

impl Scan {
    /// The type of what is written.
    pub(super) fn result_type(&self) -> DType {
        self.kind.result(self.dtype)
    }
}

impl TensorRoutine for Scan {
    const NAME: &'static str = "scan";
    const LIBRARY: &'static str = "expressions";
    type Raw = ();

    fn operands(&self) -> Operands<'_> {
        let output = Operand::inside("output", self.result_type(), &self.output);
        Operands::new([Operand::inside("x", self.dtype, &self.x)], [output])
    }

    fn check_data(&self) -> Result<()> {
        let is_truth = matches!(self.kind, ReductionKind::All | ReductionKind::Any);
        let is_number =
            matches!(self.kind, ReductionKind::Sum | ReductionKind::Prod | ReductionKind::Min | ReductionKind::Max);
        if !is_truth && !is_number {
            let what = format!("{} is no kind of a scan: sum, prod, min, max, all and any are", self.kind.name());
            return Err(Error::invalid("kind", what));
        }
        self.kind.check(self.dtype).map_err(|what| Error::invalid("x", what))?;
        if is_truth && self.dtype.is_complex() {
            let what =
                format!("a scan {} of {} is not there: compare the elements first", self.kind.name(), self.dtype);
            return Err(Error::invalid("x", what));
        }
        if self.axis >= self.x.rank() {
            return Err(Error::invalid("axis", format!("axis {}, but the rank is {}", self.axis, self.x.rank())));
        }
        if self.output.shape() != self.x.shape() {
            let what = format!("extents {:?}, but the result has {:?}", self.output.shape(), self.x.shape());
            return Err(Error::invalid("output", what));
        }
        self.output.check_distinct("output")
    }

    fn overwrites_each(&self, writes: &[AnySpan], index: usize) -> bool {
        writes.get(index).is_some_and(|span| self.output.len() == span.len() && self.output.is_distinct())
    }

    fn is_prompt(&self) -> bool {
        // Less than what it takes to wake a thread.
        const FEW: usize = 1 << 12;
        self.x.len() <= FEW
    }

    fn cost(&self) -> Cost {
        let (len, size) = (self.x.len() as u64, (self.dtype.size() + self.result_type().size()) as u64);
        Cost { flops: len, bytes: len.saturating_mul(size) }
    }

    #[cfg(feature = "host")]
    fn host(&self, operands: Checked<'_, '_>) -> Result<()> {
        let ([x], [output]) = operands.places()?;
        // SAFETY: the operands were checked: the layouts lie inside them, and the elements of the output are distinct.
        unsafe { super::host::run(self, x, output) }
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, _: &[AnySpan], _: &[AnySpan], plans: &mut Prepare<'_>) {
        super::cuda::prepare(self, plans);
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        super::cuda::enqueue(self, queue)
    }
}

tensor_routines!(Scan);
