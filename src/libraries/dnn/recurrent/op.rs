//! The forward pass as an op.

use super::net::{Scene, Wanted};
use crate::core::buffer::{AnyBuffers, AnySpan, Dyn};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, Spans, Wire};
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Prepare, Slices, SlicesMut};
use serde::{Deserialize, Serialize};

/// A recurrent net. Reads the input and the parameters, then the initial states and cells if there are any; writes the states of all
/// steps, the last states and the last cells, then the reserve if a backward pass follows.
#[derive(Debug, Serialize, Deserialize)]
pub(in super::super) struct Recur(pub(in super::super) Scene);

pub(super) const LIBRARY: &str = "dnn";
/// Why an op cannot be captured.
pub(super) const LENGTHS: &str = "cuDNN copies the lengths of the sequences from host memory";

impl Recur {
    pub(super) const OP: &'static str = "recur";
}

/// All operands of an op.
pub(super) type Operands = (Vec<Wanted>, Vec<Wanted>);

/// Checks the operands of a pass.
pub(super) fn check_all((wanted, written): &Operands, reads: &[AnySpan], writes: &[AnySpan]) -> Result<()> {
    if reads.len() != wanted.len() || writes.len() != written.len() {
        return Err(Error::invalid("operands", format!("{} read and {} written", reads.len(), writes.len())));
    }
    for (span, (name, dtype, len)) in reads.iter().zip(wanted).chain(writes.iter().zip(written)) {
        if span.dtype() != *dtype {
            return Err(Error::invalid(*name, format!("its elements are {}, not {dtype}", span.dtype())));
        }
        if span.len() != *len {
            return Err(Error::invalid(*name, format!("{} elements where {len} are needed", span.len())));
        }
    }
    for (span, (name, ..)) in writes.iter().zip(written) {
        if let Some((_, (other, ..))) = reads.iter().zip(wanted).find(|(read, _)| read.overlaps(span)) {
            return Err(Error::invalid(*name, format!("it lies in the memory of `{other}`")));
        }
    }
    Ok(())
}

/// The types of operands.
pub(super) fn types((reads, writes): Operands) -> (&'static [DType], &'static [DType]) {
    let of =
        |all: Vec<Wanted>| crate::core::intern::types(&all.into_iter().map(|(_, dtype, _)| dtype).collect::<Vec<_>>());
    (of(reads), of(writes))
}

/// The name of an operand.
pub(super) fn name((reads, writes): Operands, index: usize, read_count: usize) -> Option<String> {
    let one = match index.checked_sub(read_count) {
        None => reads.get(index),
        Some(place) => writes.get(place),
    };
    one.map(|(name, ..)| (*name).to_owned())
}

/// The bytes of all operands.
pub(super) fn bytes((reads, writes): &Operands) -> u64 {
    let one = |(_, dtype, len): &Wanted| (*len as u64).saturating_mul(dtype.size() as u64);
    reads.iter().chain(writes).map(one).fold(0, u64::saturating_add)
}

impl Op for Recur {
    const NAME: &'static str = Recur::OP;
    const LIBRARY: &'static str = LIBRARY;
    const PREPARED: bool = true;
    type Reads = Dyn;
    type Output = AnyBuffers;
    type Raw = ();

    fn check(&self, reads: &Spans<Dyn>, writes: &Spans<Dyn>) -> Result<()> {
        self.0.check()?;
        check_all(&self.0.forward(), reads, writes)
    }

    fn overwrites(&self, writes: &Spans<Dyn>) -> bool {
        let (_, written) = self.0.forward();
        writes.iter().zip(written).all(|(span, (_, _, len))| span.len() == len)
    }

    fn dtypes(&self) -> (&'static [DType], &'static [DType]) {
        types(self.0.forward())
    }

    fn operand_name(&self, index: usize, read_count: usize) -> Option<String> {
        name(self.0.forward(), index, read_count)
    }

    fn cost(&self) -> Cost {
        Cost { flops: self.0.work().saturating_mul(2), bytes: bytes(&self.0.forward()) }
    }

    fn capturable(&self) -> Result<(), &'static str> {
        Err(LENGTHS)
    }

    #[cfg(feature = "host")]
    fn host(&self, reads: Slices<'_, Self>, writes: SlicesMut<'_, Self>) -> Result<()> {
        super::host::forward(&self.0, &reads, writes)
    }

    #[cfg(not(feature = "host"))]
    fn host(&self, _: Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<()> {
        Err(Error::unsupported("this build has no host engine (feature `host`)"))
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, _: &Spans<Dyn>, _: &Spans<Dyn>, plans: &mut Prepare<'_>) {
        super::super::native::recurrent::prepare(&self.0, false, plans);
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        super::super::native::recurrent::forward(&self.0, queue)
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
