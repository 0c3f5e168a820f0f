//! The operation: an expression over the elements of its operands.

use super::formula::Shared;
use super::nest::Nest;
use super::scalar::Scalar;
use crate::core::buffer::{AnyBuffers, AnySpan, Dyn};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, Spans, Wire};
use crate::device::tensor::Layout;
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Prepare, Slices, SlicesMut};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::sync::OnceLock;

/// Computes an expression for each element of its operands. All is plain data, and admitted by [`Op::check`], wherever it comes
/// from.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Map {
    pub(super) formula: Shared,
    pub(super) scalars: Vec<Scalar>,
    /// Of the operands that are written, in their order.
    pub(super) outputs: Vec<Layout>,
    /// Of the operands that are read.
    pub(super) inputs: Vec<Layout>,
    /// The first inputs of the expression are the outputs, each read and written at its own place; the operands that are read
    /// follow.
    pub(super) in_place: bool,
    #[serde(skip)]
    pub(super) nest: OnceLock<Nest>,
}

impl Map {
    pub(super) const OP: &'static str = "map";
    pub(super) const LIBRARY: &'static str = "expressions";

    /// How many of the expression's inputs are outputs.
    fn updated(&self) -> usize {
        if self.in_place { self.outputs.len() } else { 0 }
    }

    /// The layouts of the expression's inputs.
    fn input_layouts(&self) -> SmallVec<[&Layout; 8]> {
        let updated = self.outputs.iter().take(self.updated());
        updated.chain(&self.inputs).collect()
    }

    /// The loops over the operands; call after [`Op::check`].
    pub(super) fn nest(&self) -> Result<&Nest> {
        if let Some(nest) = self.nest.get() {
            return Ok(nest);
        }
        let nest = Nest::new(&self.formula.0.expr, &self.outputs, &self.input_layouts())?;
        Ok(self.nest.get_or_init(|| nest))
    }

    /// The error's name of an input of the expression.
    fn input_name(&self, k: usize) -> String {
        match k.checked_sub(self.updated()) {
            Some(k) => format!("input {k}"),
            None => format!("output {k}"),
        }
    }

    /// Everything but the operands.
    pub(super) fn check_layouts(&self) -> Result<()> {
        let expr = &self.formula.0.expr;
        count("outputs", self.outputs.len(), expr.outputs().len())?;
        count("inputs", self.updated() + self.inputs.len(), expr.inputs().len())?;
        count("scalars", self.scalars.len(), expr.parameters().len())?;
        for (k, (scalar, dtype)) in self.scalars.iter().zip(expr.parameters()).enumerate() {
            if scalar.dtype() != *dtype || !scalar.is_well_formed() {
                return Err(Error::invalid("scalars", format!("number {k} is {}, not {dtype}", scalar.dtype())));
            }
        }
        let extents = self.outputs.first().map(Layout::extents).unwrap_or_default();
        let outputs = self.outputs.iter().enumerate().map(|operand| ("output", operand));
        let inputs = self.inputs.iter().enumerate().map(|operand| ("input", operand));
        for (kind, (k, layout)) in outputs.clone().chain(inputs) {
            if layout.extents() != extents {
                let what = format!("{}: broadcast it", apart(layout.extents(), extents));
                return Err(Error::invalid(format!("{kind} {k}"), what));
            }
        }
        for (k, (input, output)) in expr.inputs().iter().zip(expr.output_types()).take(self.updated()).enumerate() {
            if *input != output {
                return Err(Error::invalid(
                    format!("output {k}"),
                    format!("it is {input}, but gets {output}: cast it"),
                ));
            }
        }
        for (kind, (k, layout)) in outputs {
            if !layout.is_distinct() {
                let what = format!("{layout:?}: different indices lie at one place, so it cannot be written");
                return Err(Error::invalid(format!("{kind} {k}"), what));
            }
        }
        if expr.axes() > extents.len() {
            let (axes, rank) = (expr.axes() - 1, extents.len());
            return Err(Error::invalid("formula", format!("it takes a position along axis {axes} of {rank} axes")));
        }
        Ok(())
    }

    /// The operands, after the layouts.
    fn check_operands(&self, reads: &[AnySpan], writes: &[AnySpan]) -> Result<()> {
        let expr = &self.formula.0.expr;
        count("outputs", writes.len(), self.outputs.len())?;
        count("inputs", reads.len(), self.inputs.len())?;
        let inputs = expr.inputs().iter().skip(self.updated()).copied();
        let inputs = self.inputs.iter().zip(inputs).zip(reads).enumerate().map(|operand| ("input", operand));
        let outputs =
            self.outputs.iter().zip(expr.output_types()).zip(writes).enumerate().map(|operand| ("output", operand));
        for (kind, (k, ((layout, dtype), span))) in outputs.chain(inputs) {
            let invalid = |what: String| Error::invalid(format!("{kind} {k}"), what);
            if span.dtype() != dtype {
                return Err(invalid(format!("its elements are {}, but the formula has {dtype}", span.dtype())));
            }
            if let Some((_, highest)) = layout.reach()
                && highest >= span.len()
            {
                return Err(invalid(format!("{layout:?} reaches element {highest} of {}", span.len())));
            }
        }
        self.check_overlaps(reads, writes)
    }

    /// Names the plans that it needs.
    #[cfg(feature = "cuda")]
    pub(super) fn plans(&self, plans: &mut Prepare<'_>) {
        if let Some(key) = super::cuda::Key::of(self) {
            plans.plan(&key);
        }
    }

    /// No output lies in memory that is another operand's.
    fn check_overlaps(&self, reads: &[AnySpan], writes: &[AnySpan]) -> Result<()> {
        let end = |span: &AnySpan| span.address().saturating_add(span.bytes() as u64);
        let meet =
            |a: &AnySpan, b: &AnySpan| !a.is_empty() && !b.is_empty() && a.address() < end(b) && b.address() < end(a);
        for (k, write) in writes.iter().enumerate() {
            let other =
                writes.iter().take(k).position(|other| meet(write, other)).map(|other| format!("output {other}"));
            let input =
                || reads.iter().position(|read| meet(write, read)).map(|read| self.input_name(self.updated() + read));
            if let Some(other) = other.or_else(input) {
                let what = format!("it lies in the memory of {other}: write another tensor, or update in place");
                return Err(Error::invalid(format!("output {k}"), what));
            }
        }
        Ok(())
    }
}

fn count(name: &'static str, got: usize, wanted: usize) -> Result<()> {
    if got == wanted {
        return Ok(());
    }
    Err(Error::invalid(name, format!("{got}, but the formula has {wanted}")))
}

/// How extents differ from those that are wanted.
fn apart(got: &[usize], wanted: &[usize]) -> String {
    if got.len() != wanted.len() {
        return format!("{} axes {got:?}, but the first output has {wanted:?}", got.len());
    }
    let axis = got.iter().zip(wanted).position(|(a, b)| a != b).unwrap_or(0);
    let at = |extents: &[usize]| extents.get(axis).copied().unwrap_or(0);
    format!("{} elements on axis {axis}, but the first output has {}", at(got), at(wanted))
}

impl Op for Map {
    const NAME: &'static str = Map::OP;
    const LIBRARY: &'static str = Map::LIBRARY;
    const PREPARED: bool = true;
    type Reads = Dyn;
    type Output = AnyBuffers;
    type Raw = ();

    fn check(&self, reads: &Spans<Dyn>, writes: &Spans<Dyn>) -> Result<()> {
        self.check_layouts()?;
        self.check_operands(reads, writes)
    }

    fn overwrites(&self, writes: &Spans<Dyn>) -> bool {
        (0..writes.len()).all(|index| self.overwrites_each(writes, index))
    }

    fn overwrites_each(&self, writes: &Spans<Dyn>, index: usize) -> bool {
        match (self.outputs.get(index), writes.get(index)) {
            (Some(layout), Some(span)) => !self.in_place && layout.len() == span.len() && layout.is_distinct(),
            _ => false,
        }
    }

    fn is_prompt(&self) -> bool {
        // Less than what it takes to wake a thread.
        const FEW: usize = 1 << 14;
        let len = self.outputs.first().map_or(0, Layout::len);
        len.saturating_mul(self.formula.0.expr.nodes().len()) <= FEW
    }

    fn dtypes(&self) -> (&'static [DType], &'static [DType]) {
        let expr = &self.formula.0.expr;
        let reads: SmallVec<[DType; 8]> = expr.inputs().iter().skip(self.updated()).copied().collect();
        let writes: SmallVec<[DType; 4]> = expr.output_types().collect();
        (crate::core::intern::types(&reads), crate::core::intern::types(&writes))
    }

    fn operand_name(&self, index: usize, read_count: usize) -> Option<String> {
        Some(match index.checked_sub(read_count) {
            None => format!("input {index}"),
            Some(output) => format!("output {output}"),
        })
    }

    fn cost(&self) -> Cost {
        let expr = &self.formula.0.expr;
        let len = self.outputs.first().map_or(0, Layout::len) as u64;
        let sizes = expr.inputs().iter().copied().chain(expr.output_types()).map(|dtype| dtype.size() as u64);
        let work = expr.nodes().len().saturating_sub(expr.inputs().len()) as u64;
        Cost { flops: len.saturating_mul(work), bytes: len.saturating_mul(sizes.sum()) }
    }

    #[cfg(feature = "host")]
    fn host(&self, reads: Slices<'_, Self>, writes: SlicesMut<'_, Self>) -> Result<()> {
        let kept = &self.formula.0;
        let nest = self.nest()?;
        let outputs: SmallVec<[(*mut u8, usize); 4]> = writes.into_iter().map(|slice| slice.into_raw()).collect();
        let inside = |layout: &Layout, len: usize| layout.reach().is_none_or(|(_, highest)| highest < len);
        let fit =
            self.outputs.iter().zip(&outputs).all(|(layout, (_, len))| inside(layout, *len) && layout.is_distinct());
        let fit = fit
            && self
                .inputs
                .iter()
                .zip(&reads)
                .all(|(layout, slice)| inside(layout, slice.bytes().len() / slice.dtype().size()));
        // The check of the operation has said so already. What follows is sound only if it is true.
        if !fit || outputs.len() != self.outputs.len() || reads.len() != self.inputs.len() {
            return Err(Error::library("internal error: unchecked layouts"));
        }
        let outputs: SmallVec<[*mut u8; 4]> = outputs.iter().map(|(base, _)| *base).collect();
        let updated = outputs.iter().take(self.updated()).map(|base| base.cast_const());
        let inputs: SmallVec<[*const u8; 8]> =
            updated.chain(reads.iter().map(|slice| slice.bytes().as_ptr())).collect();
        let bases = super::host::Bases { outputs: &outputs, inputs: &inputs };
        // SAFETY: the layouts lie inside the operands, whose memory is aligned for their types, and the elements of outputs are
        // distinct (above, and the check of the operation). Operands that are written are exclusively ours, and are read only
        // in place.
        unsafe { kept.program().run(&kept.expr, &self.scalars, nest, &bases, self.in_place) }
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
