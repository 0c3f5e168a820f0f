//! The operation: a formula over the elements of its operands, reduced along axes, and a formula of the results.

use super::axes::all;
use super::element::element;
use super::kind::ReductionKind;
use super::recipe::Recipe;
use super::space::Space;
use crate::core::buffer::{AnyBuffers, AnySpan, Dyn};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, Spans, Wire};
use crate::core::sync::Arc;
use crate::device::tensor::Layout;
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Prepare, Slices, SlicesMut};
use crate::libraries::expressions::Scalar;
use crate::libraries::expressions::formula::{Kept, Shared};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::sync::OnceLock;

/// Reduces a formula of its operands. All is plain data, and admitted by [`Op::check`], wherever it comes from.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Reduce {
    pub(super) kind: ReductionKind,
    /// What is taken from the number of elements before it divides.
    pub(super) less: u64,
    /// The elements: a formula of the inputs with one output.
    pub(super) formula: Shared,
    pub(super) scalars: Vec<Scalar>,
    /// What is computed of the results, if anything: a formula of one input.
    pub(super) finish: Option<Shared>,
    pub(super) finish_scalars: Vec<Scalar>,
    /// Of the operands that are read, all of the same extents.
    pub(super) inputs: Vec<Layout>,
    /// A bit for each axis that is reduced.
    pub(super) axes: u64,
    /// Of the operand that is written. The reduced axes are there, with the extent 1.
    pub(super) output: Layout,
    #[serde(skip)]
    pub(super) prepared: OnceLock<Prepared>,
}

/// What both engines make of the operation first.
pub(super) struct Prepared {
    pub(super) recipe: Arc<Recipe>,
    /// The formula, followed by what the kind needs of its value.
    pub(super) element: Arc<Kept>,
    pub(super) space: Space,
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.space.fmt(f)
    }
}

impl Reduce {
    pub(super) const OP: &'static str = "reduce";
    pub(super) const LIBRARY: &'static str = "expressions";

    /// What the engines work with; call after [`Op::check`].
    pub(super) fn prepared(&self) -> Result<&Prepared> {
        if let Some(prepared) = self.prepared.get() {
            return Ok(prepared);
        }
        let expr = &self.formula.0.expr;
        let prepared = Prepared {
            recipe: Recipe::for_kind(self.kind, self.element_type()?)?,
            element: element(self.kind, expr)?,
            space: Space::new(expr, &self.inputs, &self.output, self.axes)?,
        };
        Ok(self.prepared.get_or_init(|| prepared))
    }

    fn element_type(&self) -> Result<DType> {
        let mut types = self.formula.0.expr.output_types();
        match (types.next(), types.next()) {
            (Some(dtype), None) => Ok(dtype),
            _ => Err(Error::invalid("formula", "a reduction takes a formula with one output")),
        }
    }

    pub(super) fn extents(&self) -> &[usize] {
        self.inputs.first().map(Layout::extents).unwrap_or_default()
    }

    /// The type of what is written.
    pub(super) fn result_type(&self) -> DType {
        let dtype = self.formula.0.expr.output_types().next().unwrap_or(DType::F32);
        match &self.finish {
            Some(finish) => finish.0.expr.output_types().next().unwrap_or(dtype),
            None => self.kind.result(dtype),
        }
    }

    /// The number of elements of a result, less what it loses, in the type in which the kind takes it.
    pub(super) fn count_bits(&self, recipe: &Recipe) -> (crate::libraries::expressions::low::Lane, u64) {
        use crate::libraries::expressions::low::Lane;
        let length: u64 =
            (0..).zip(self.extents()).filter(|(axis, _)| self.axes >> axis & 1 == 1).map(|(_, n)| *n as u64).product();
        let count = length.saturating_sub(self.less);
        match recipe.count {
            Some(DType::F32) => (Lane::F32, (count as f32).to_bits().into()),
            _ => (Lane::F64, (count as f64).to_bits()),
        }
    }

    fn check_data(&self) -> Result<()> {
        let expr = &self.formula.0.expr;
        expr.check_scalars("scalars", &self.scalars)?;
        let dtype = self.element_type()?;
        self.kind.check(dtype).map_err(|what| Error::invalid("x", what))?;
        if let Some(finish) = &self.finish {
            let finish = &finish.0.expr;
            finish.check_scalars("finish", &self.finish_scalars)?;
            if finish.inputs() != [self.kind.result(dtype)]
                || finish.outputs().len() != 1
                || finish.axes() > 0
                || !finish.positions().is_empty()
            {
                let what = format!(
                    "it takes {:?}, but must take one {} and give one value of it",
                    finish.inputs(),
                    self.kind.result(dtype)
                );
                return Err(Error::invalid("finish", what));
            }
        }
        if self.inputs.is_empty() || self.inputs.len() != expr.inputs().len() {
            let what = format!("{}, but the formula has {}", self.inputs.len(), expr.inputs().len());
            return Err(Error::invalid("inputs", what));
        }
        let extents = self.extents();
        if self.axes & !all(extents.len()) != 0 || expr.axes() > extents.len() {
            return Err(Error::invalid("axes", format!("an axis beyond the {} that there are", extents.len())));
        }
        let is_reduced = |axis: usize| self.axes >> axis & 1 == 1;
        let wanted: SmallVec<[usize; 6]> =
            extents.iter().enumerate().map(|(axis, n)| if is_reduced(axis) { 1 } else { *n }).collect();
        if self.output.extents() != &wanted[..] {
            let what = format!("extents {:?}, but the result has {:?}", self.output.extents(), &wanted[..]);
            return Err(Error::invalid("output", what));
        }
        for (k, layout) in self.inputs.iter().enumerate() {
            if layout.extents() != extents {
                let what = format!("extents {:?}, but the first input has {extents:?}: broadcast it", layout.extents());
                return Err(Error::invalid(format!("input {k}"), what));
            }
        }
        self.output.check_distinct("output")?;
        if self.kind.needs_elements() && !self.output.is_empty() && self.inputs.iter().any(Layout::is_empty) {
            let what = format!("{} of no element: extents {extents:?}", self.kind.name());
            return Err(Error::invalid("x", what));
        }
        Ok(())
    }

    fn check_operands(&self, reads: &[AnySpan], writes: &[AnySpan]) -> Result<()> {
        let expr = &self.formula.0.expr;
        let ([output], true) = (writes, reads.len() == self.inputs.len()) else {
            let what = format!("{} read and {} written", reads.len(), writes.len());
            return Err(Error::invalid("inputs", what));
        };
        let inputs = self.inputs.iter().zip(expr.inputs().iter().copied()).zip(reads).enumerate();
        let named = inputs.map(|(k, operand)| (format!("input {k}"), operand));
        let own = std::iter::once(("output".to_owned(), ((&self.output, self.result_type()), output)));
        for (name, ((layout, dtype), span)) in named.chain(own) {
            layout.check_operand(name, span, dtype)?;
        }
        match reads.iter().position(|read| read.overlaps(output)) {
            Some(k) => Err(Error::invalid("output", format!("it lies in the memory of input {k}"))),
            None => Ok(()),
        }
    }

    /// Names the plans that it needs.
    #[cfg(feature = "cuda")]
    pub(super) fn plans(&self, plans: &mut Prepare<'_>) {
        super::cuda::keys(self).unwrap_or_default().iter().for_each(|key| plans.plan(key));
    }
}

impl Op for Reduce {
    const NAME: &'static str = Reduce::OP;
    const LIBRARY: &'static str = Reduce::LIBRARY;
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
        const FEW: usize = 1 << 13;
        let len = self.inputs.first().map_or(0, Layout::len).saturating_add(64 * self.output.len());
        len.saturating_mul(self.formula.0.expr.nodes().len() + 1) <= FEW
    }

    fn dtypes(&self) -> (&'static [DType], &'static [DType]) {
        let reads = self.formula.0.expr.inputs();
        (crate::core::intern::types(reads), crate::core::intern::types(&[self.result_type()]))
    }

    fn operand_name(&self, index: usize, read_count: usize) -> Option<String> {
        Some(if index < read_count { format!("input {index}") } else { "output".to_owned() })
    }

    fn cost(&self) -> Cost {
        let expr = &self.formula.0.expr;
        let len = self.inputs.first().map_or(0, Layout::len) as u64;
        let size: u64 = expr.inputs().iter().map(|dtype| dtype.size() as u64).sum();
        let work = expr.nodes().len().saturating_sub(expr.inputs().len()) as u64 + 1;
        let out = (self.output.len() as u64).saturating_mul(self.result_type().size() as u64);
        Cost { flops: len.saturating_mul(work), bytes: len.saturating_mul(size).saturating_add(out) }
    }

    #[cfg(feature = "host")]
    fn host(&self, reads: Slices<'_, Self>, writes: SlicesMut<'_, Self>) -> Result<()> {
        let outputs: SmallVec<[(*mut u8, usize); 1]> = writes.into_iter().map(|slice| slice.into_raw()).collect();
        let fit = self.inputs.len() == reads.len()
            && self.inputs.iter().zip(&reads).all(|(l, slice)| l.is_inside(slice.bytes().len() / slice.dtype().size()));
        // The check of the operation has said so already. What follows is sound only if it is true.
        let (true, [(output, len)]) = (fit, &outputs[..]) else {
            return Err(Error::library("internal error: unchecked layouts"));
        };
        if !self.output.is_inside(*len) || !self.output.is_distinct() {
            return Err(Error::library("internal error: unchecked layouts"));
        }
        if self.output.is_empty() {
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
