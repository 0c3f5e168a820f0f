//! The forward pass as an op.

use super::scene::{Scene, Wanted, check_one, reach};
use crate::core::buffer::{AnyBuffers, AnySpan, Dyn};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, Spans, Wire};
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Prepare, Slices, SlicesMut};
use serde::{Deserialize, Serialize};

/// Attention. Reads queries, keys and values, then bias, mask, sink, pages and lengths if there are any; writes the result, and the
/// logarithms of the sums if they are wanted.
#[derive(Debug, Serialize, Deserialize)]
pub(in super::super) struct Attend(pub(in super::super) Scene);

pub(super) const LIBRARY: &str = "dnn";

impl Attend {
    pub(super) const OP: &'static str = "attend";

    fn writes(&self) -> Vec<Wanted> {
        let scene = &self.0;
        let mut all = vec![("o", scene.dtype, reach(scene.extents_of_o(), scene.of_o))];
        if scene.stats {
            all.push(("log_sums", scene.sums(), Some(scene.rows())));
        }
        all
    }
}

/// Checks the operands of a pass.
pub(super) fn check_all(
    (reads, wanted): (&[AnySpan], &[Wanted]),
    (writes, written): (&[AnySpan], &[Wanted]),
) -> Result<()> {
    if reads.len() != wanted.len() || writes.len() != written.len() {
        return Err(Error::invalid("operands", format!("{} read and {} written", reads.len(), writes.len())));
    }
    for (span, wanted) in reads.iter().zip(wanted).chain(writes.iter().zip(written)) {
        check_one(span, *wanted)?;
    }
    for (span, (name, _, exact)) in writes.iter().zip(written) {
        if *exact != Some(span.len()) {
            return Err(Error::invalid(*name, format!("{} elements, which are too many", span.len())));
        }
        if let Some((_, (other, ..))) = reads.iter().zip(wanted).find(|(read, _)| read.overlaps(span)) {
            return Err(Error::invalid(*name, format!("it lies in the memory of `{other}`")));
        }
    }
    Ok(())
}

impl Op for Attend {
    const NAME: &'static str = Attend::OP;
    const LIBRARY: &'static str = LIBRARY;
    const PREPARED: bool = true;
    type Reads = Dyn;
    type Output = AnyBuffers;
    type Raw = ();

    fn check(&self, reads: &Spans<Dyn>, writes: &Spans<Dyn>) -> Result<()> {
        self.0.check()?;
        check_all((reads, &self.0.reads()), (writes, &self.writes()))
    }

    fn overwrites(&self, writes: &Spans<Dyn>) -> bool {
        writes.iter().zip(self.writes()).all(|(span, (_, _, len))| len == Some(span.len()))
    }

    fn dtypes(&self) -> (&'static [DType], &'static [DType]) {
        let types = |all: Vec<Wanted>| {
            crate::core::intern::types(&all.into_iter().map(|(_, dtype, _)| dtype).collect::<Vec<_>>())
        };
        (types(self.0.reads()), types(self.writes()))
    }

    fn operand_name(&self, index: usize, read_count: usize) -> Option<String> {
        let all = if index < read_count { self.0.reads() } else { self.writes() };
        let place = index.checked_sub(read_count).unwrap_or(index);
        all.get(place).map(|(name, ..)| (*name).to_owned())
    }

    fn cost(&self) -> Cost {
        let scene = &self.0;
        let products = (scene.width as u64).saturating_add(scene.value_width as u64).saturating_mul(2);
        let half = if scene.causal.is_some() { 2 } else { 1 };
        let flops = (scene.rows() as u64).saturating_mul(scene.keys as u64).saturating_mul(products) / half;
        let elements = scene
            .reads()
            .into_iter()
            .chain(self.writes())
            .filter_map(|(_, dtype, len)| Some((len? as u64).saturating_mul(dtype.size() as u64)));
        Cost { flops, bytes: elements.fold(0, u64::saturating_add) }
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
        super::super::native::attend::prepare(&self.0, plans);
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        super::super::native::attend::enqueue(&self.0, queue)
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
