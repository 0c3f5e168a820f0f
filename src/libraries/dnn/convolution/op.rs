//! A convolution as an op.

use super::sizing::Sizing;
use crate::core::buffer::{AnyBuffers, AnySpan, Dyn};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, Retention, Spans, Wire};
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Prepare, Slices, SlicesMut};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// A convolution or a gradient of one. Reads two tensors, then the residual and the bias if there are any.
#[derive(Debug, Serialize, Deserialize)]
pub(in super::super) struct Convolve(pub(in super::super) Sizing);

impl Convolve {
    pub(super) const OP: &'static str = "convolve";
    pub(super) const LIBRARY: &'static str = "dnn";

    /// The lengths of the operands: those that are read, and the result.
    fn lengths(&self) -> (SmallVec<[(&'static str, usize); 4]>, usize) {
        let problem = &self.0;
        let [one, other, result] = problem.lens();
        let [name, other_name, _] = problem.direction.names();
        let mut reads = SmallVec::new();
        reads.push((name, one));
        reads.push((other_name, other));
        if problem.residual {
            reads.push(("residual", problem.count(problem.y())));
        }
        if problem.bias {
            reads.push(("bias", problem.filters));
        }
        (reads, result)
    }
}

impl super::Direction {
    /// The names of the operands: the two that are read, and the result.
    pub(super) fn names(self) -> [&'static str; 3] {
        match self {
            super::Direction::Forward => ["x", "w", "y"],
            super::Direction::Data => ["dy", "w", "dx"],
            super::Direction::Filter => ["x", "dy", "dw"],
        }
    }
}

fn check_one(name: &'static str, span: &AnySpan, dtype: DType, len: usize) -> Result<()> {
    if span.dtype() != dtype {
        return Err(Error::invalid(name, format!("its elements are {}, not {dtype}", span.dtype())));
    }
    if span.len() != len {
        return Err(Error::invalid(name, format!("{} elements where {len} are needed", span.len())));
    }
    Ok(())
}

impl Op for Convolve {
    const NAME: &'static str = Convolve::OP;
    const LIBRARY: &'static str = Convolve::LIBRARY;
    const PREPARED: bool = true;
    type Reads = Dyn;
    type Output = AnyBuffers;
    type Raw = ();

    fn check(&self, reads: &Spans<Dyn>, writes: &Spans<Dyn>) -> Result<()> {
        self.0.check()?;
        let (lengths, len) = self.lengths();
        let ([output], true) = (&writes[..], reads.len() == lengths.len()) else {
            let what = format!("{} read and {} written", reads.len(), writes.len());
            return Err(Error::invalid("operands", what));
        };
        let [.., result] = self.0.direction.names();
        for ((name, len), span) in lengths.into_iter().zip(reads) {
            check_one(name, span, self.0.dtype, len)?;
            if span.overlaps(output) {
                return Err(Error::invalid(result, format!("it lies in the memory of `{name}`")));
            }
        }
        check_one(result, output, self.0.dtype, len)
    }

    fn overwrites(&self, writes: &Spans<Dyn>) -> bool {
        let [.., result] = self.0.lens();
        writes.iter().all(|span| span.len() == result)
    }

    fn dtypes(&self) -> (&'static [DType], &'static [DType]) {
        let (reads, _) = self.lengths();
        let of = vec![self.0.dtype; reads.len()];
        (crate::core::intern::types(&of), crate::core::intern::types(&[self.0.dtype]))
    }

    fn operand_name(&self, index: usize, read_count: usize) -> Option<String> {
        let [.., result] = self.0.direction.names();
        let (reads, _) = self.lengths();
        let name = if index < read_count { reads.get(index)?.0 } else { result };
        Some(name.to_owned())
    }

    fn cost(&self) -> Cost {
        let (reads, len) = self.lengths();
        let bytes = reads.iter().map(|(_, len)| *len).chain([len]).fold(0usize, usize::saturating_add);
        Cost {
            flops: self.0.work().saturating_mul(2),
            bytes: (bytes as u64).saturating_mul(self.0.dtype.size() as u64),
        }
    }

    #[cfg(feature = "host")]
    fn host(&self, reads: Slices<'_, Self>, writes: SlicesMut<'_, Self>) -> Result<()> {
        super::host::run(&self.0, &reads, writes)
    }

    #[cfg(not(feature = "host"))]
    fn host(&self, _: Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<()> {
        Err(Error::unsupported("this build has no host engine (feature `host`)"))
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, _: &Spans<Dyn>, _: &Spans<Dyn>, plans: &mut Prepare<'_>) {
        // The library plans nothing that has no elements.
        if self.0.is_planned() {
            plans.plan(&self.0);
        }
    }

    /// The device needs the plan alone.
    fn keeps(&mut self) -> Retention {
        Retention::NOTHING
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        super::super::native::convolve::enqueue(self, queue)
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
