//! The operation: a scan of a tensor along an axis.

use crate::core::buffer::{AnyBuffers, AnySpan, Dyn};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, Spans, Wire};
use crate::device::tensor::Layout;
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Prepare, Slices, SlicesMut};
use crate::libraries::reductions::kind::ReductionKind;
use serde::{Deserialize, Serialize};

/// Scans along an axis. All is plain data, and admitted by [`Op::check`], wherever it comes from. The order of the scan is that of
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
    pub(super) const OP: &'static str = "scan";
    pub(super) const LIBRARY: &'static str = "expressions";

    /// The type of what is written.
    pub(super) fn result_type(&self) -> DType {
        self.kind.result(self.dtype)
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
            return Err(Error::invalid("axis", format!("axis {}, but there are {} axes", self.axis, self.x.rank())));
        }
        if self.output.extents() != self.x.extents() {
            let what = format!("extents {:?}, but the result has {:?}", self.output.extents(), self.x.extents());
            return Err(Error::invalid("output", what));
        }
        self.output.check_distinct("output")
    }

    fn check_operands(&self, reads: &[AnySpan], writes: &[AnySpan]) -> Result<()> {
        let ([x], [output]) = (reads, writes) else {
            return Err(Error::invalid("x", format!("{} read and {} written", reads.len(), writes.len())));
        };
        self.x.check_operand("x", x, self.dtype)?;
        self.output.check_operand("output", output, self.result_type())?;
        if x.overlaps(output) { Err(Error::invalid("output", "it lies in the memory of x")) } else { Ok(()) }
    }
}

impl Op for Scan {
    const NAME: &'static str = Scan::OP;
    const LIBRARY: &'static str = Scan::LIBRARY;
    const PREPARED: bool = true;
    type Reads = Dyn;
    type Output = AnyBuffers;
    type Raw = ();

    fn check(&self, reads: &Spans<Dyn>, writes: &Spans<Dyn>) -> Result<()> {
        self.check_data()?;
        self.check_operands(reads, writes)
    }

    fn overwrites(&self, writes: &Spans<Dyn>) -> bool {
        writes.iter().all(|span| self.output.len() == span.len() && self.output.is_distinct())
    }

    fn is_prompt(&self) -> bool {
        // Less than what it takes to wake a thread.
        const FEW: usize = 1 << 12;
        self.x.len() <= FEW
    }

    fn dtypes(&self) -> (&'static [DType], &'static [DType]) {
        (crate::core::intern::types(&[self.dtype]), crate::core::intern::types(&[self.result_type()]))
    }

    fn operand_name(&self, index: usize, read_count: usize) -> Option<String> {
        Some(if index < read_count { "x" } else { "output" }.to_owned())
    }

    fn cost(&self) -> Cost {
        let (len, size) = (self.x.len() as u64, (self.dtype.size() + self.result_type().size()) as u64);
        Cost { flops: len, bytes: len.saturating_mul(size) }
    }

    #[cfg(feature = "host")]
    fn host(&self, reads: Slices<'_, Self>, writes: SlicesMut<'_, Self>) -> Result<()> {
        let missing = || Error::library("internal error: an operand is missing");
        let (output, len) = writes.into_iter().next().ok_or_else(missing)?.into_raw();
        let x = reads.first().ok_or_else(missing)?;
        let fit = self.x.is_inside(x.bytes().len() / self.dtype.size())
            && x.dtype() == self.dtype
            && self.output.is_inside(len)
            && self.output.extents() == self.x.extents()
            && self.output.is_distinct();
        // The check of the operation has said so already. What follows is sound only if it is true.
        if !fit {
            return Err(Error::library("internal error: unchecked layouts"));
        }
        // SAFETY: the layouts lie inside the operands, whose memory is aligned for their types, and the elements of the output are
        // distinct (above). The operand that is written is exclusively ours.
        unsafe { super::host::run(self, x.bytes().as_ptr(), output) }
    }

    #[cfg(not(feature = "host"))]
    fn host(&self, _: Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<()> {
        Err(Error::unsupported("this build has no host engine (feature `host`)"))
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, _: &Spans<Dyn>, _: &Spans<Dyn>, plans: &mut Prepare<'_>) {
        super::cuda::prepare(self, plans);
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        super::cuda::enqueue(self, queue)
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
