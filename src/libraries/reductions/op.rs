//! The operation: a formula over the elements of its operands, reduced along axes, and a formula of the results.

use super::recipe::Recipe;
use super::shape::Shape;
use crate::core::buffer::{AnyBuffers, AnySpan, Dyn};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, Retention, Spans, Wire};
use crate::core::sync::Arc;
use crate::device::tensor::Layout;
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Prepare, Slices, SlicesMut};
use crate::engines::tape::Fuse;
use crate::libraries::expressions::Scalar;
use crate::libraries::expressions::low::Lane;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// Reduces a formula of its operands. All is plain data, and admitted by [`Op::check`], wherever it comes from.
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
    pub(super) const OP: &'static str = "reduce";
    pub(super) const LIBRARY: &'static str = "expressions";

    /// The number of elements of a result, less what it loses, in the type in which the kind takes it.
    pub(super) fn count_bits(&self, recipe: &Recipe) -> (Lane, u64) {
        let (axes, extents) = (self.shape.axes, self.shape.extents());
        let length: u64 =
            (0..).zip(extents).filter(|(axis, _)| axes >> axis & 1 == 1).map(|(_, n)| *n as u64).product();
        let count = length.saturating_sub(self.less);
        match recipe.count {
            Some(DType::F32) => (Lane::F32, (count as f32).to_bits().into()),
            _ => (Lane::F64, (count as f64).to_bits()),
        }
    }

    pub(super) fn check_data(&self) -> Result<()> {
        self.shape.formula.0.expr.check_scalars("scalars", &self.scalars)?;
        if let Some(finish) = &self.shape.finish {
            finish.0.expr.check_scalars("finish", &self.finish_scalars)?;
        }
        self.shape.check()
    }

    pub(super) fn check_operands(&self, reads: &[AnySpan], writes: &[AnySpan]) -> Result<()> {
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

    /// Names the plans that it needs.
    #[cfg(feature = "cuda")]
    pub(super) fn plans(&self, plans: &mut Prepare<'_>) {
        self.shape.levels().unwrap_or_default().iter().for_each(|level| plans.plan(&level.key));
    }
}

impl Op for Reduce {
    const NAME: &'static str = Reduce::OP;
    const LIBRARY: &'static str = Reduce::LIBRARY;
    const PREPARED: bool = true;
    const FUSE: Fuse = Fuse(Some(super::fuse::into_reduction));
    type Reads = Dyn;
    type Output = AnyBuffers;
    type Raw = ();

    fn check(&self, reads: &Spans<Dyn>, writes: &Spans<Dyn>) -> Result<()> {
        self.check_data()?;
        self.check_operands(reads, writes)
    }

    fn overwrites(&self, writes: &Spans<Dyn>) -> bool {
        writes.iter().all(|span| self.shape.output.len() == span.len() && self.shape.is_distinct())
    }

    fn is_prompt(&self) -> bool {
        // Less than what it takes to wake a thread.
        const FEW: usize = 1 << 13;
        let len = self.shape.inputs.first().map_or(0, Layout::len).saturating_add(64 * self.shape.output.len());
        len.saturating_mul(self.shape.formula.0.expr.nodes().len() + 1) <= FEW
    }

    fn dtypes(&self) -> (&'static [DType], &'static [DType]) {
        let reads = self.shape.formula.0.expr.inputs();
        (crate::core::intern::types(reads), crate::core::intern::types(&[self.shape.result_type()]))
    }

    fn operand_name(&self, index: usize, read_count: usize) -> Option<String> {
        Some(if index < read_count { format!("input {index}") } else { "output".to_owned() })
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
    fn host(&self, reads: Slices<'_, Self>, writes: SlicesMut<'_, Self>) -> Result<()> {
        let outputs: SmallVec<[(*mut u8, usize); 1]> = writes.into_iter().map(|slice| slice.into_raw()).collect();
        let inside = |layout: &Layout, len: usize| layout.reach().is_none_or(|(_, highest)| highest < len);
        let fit = self.shape.inputs.len() == reads.len()
            && self
                .shape
                .inputs
                .iter()
                .zip(&reads)
                .all(|(l, slice)| inside(l, slice.bytes().len() / slice.dtype().size()));
        // The check of the operation has said so already. What follows is sound only if it is true.
        let (true, [(output, len)]) = (fit, &outputs[..]) else {
            return Err(Error::library("internal error: unchecked layouts"));
        };
        if !inside(&self.shape.output, *len) || !self.shape.is_distinct() {
            return Err(Error::library("internal error: unchecked layouts"));
        }
        if self.shape.output.is_empty() {
            return Ok(());
        }
        let inputs: SmallVec<[*const u8; 8]> = reads.iter().map(|slice| slice.bytes().as_ptr()).collect();
        // SAFETY: the layouts lie inside the operands, whose memory is aligned for their types, and the elements of the output are
        // distinct (above). The operand that is written is exclusively ours.
        unsafe { super::host::run(self, &inputs, *output) }
    }

    #[cfg(not(feature = "host"))]
    fn host(&self, _: Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<()> {
        Err(Error::unsupported("this build has no host engine (feature `host`)"))
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, _: &Spans<Dyn>, _: &Spans<Dyn>, plans: &mut Prepare<'_>) {
        self.plans(plans);
    }

    /// The device needs the kernels alone.
    fn keeps(&mut self) -> Retention {
        Retention::NOTHING
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
