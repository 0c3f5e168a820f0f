//! The backward pass as an op.

use super::op::{LIBRARY, check_all};
use super::scene::{Scene, Wanted, reach};
use crate::core::buffer::{AnyBuffers, Dyn};
use crate::core::element::DType;
use crate::core::error::Result;
use crate::core::op::{Cost, Spans, Wire};
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Prepare, Slices, SlicesMut};
use serde::{Deserialize, Serialize};

/// The gradients of queries, keys and values. Reads these, the result (over the factor of kept weights), its gradient, the logarithms of
/// the sums, then bias, mask and lengths if there are any. The gradients lie as what they are gradients of.
#[derive(Debug, Serialize, Deserialize)]
pub(in super::super) struct AttendBackward(pub(in super::super) Scene);

impl AttendBackward {
    pub(super) const OP: &'static str = "attend_backward";

    fn reads(&self) -> Vec<Wanted> {
        let scene = &self.0;
        let result = reach(scene.extents_of_o(), scene.of_o);
        let [q, k, v] = self.writes();
        let more =
            [("o", scene.dtype, result), ("dy", scene.dtype, result), ("log_sums", scene.sums(), Some(scene.rows()))];
        [("q", q.1, q.2), ("k", k.1, k.2), ("v", v.1, v.2)].into_iter().chain(more).chain(scene.others()).collect()
    }

    fn writes(&self) -> [Wanted; 3] {
        let scene = &self.0;
        [
            ("dq", scene.dtype, reach(scene.extents_of_q(), scene.of_q)),
            ("dk", scene.dtype, reach(scene.extents_of_k(), scene.of_k)),
            ("dv", scene.dtype, reach(scene.extents_of_v(), scene.of_v)),
        ]
    }
}

impl Op for AttendBackward {
    const NAME: &'static str = AttendBackward::OP;
    const LIBRARY: &'static str = LIBRARY;
    const PREPARED: bool = true;
    type Reads = Dyn;
    type Output = AnyBuffers;
    type Raw = ();

    fn check(&self, reads: &Spans<Dyn>, writes: &Spans<Dyn>) -> Result<()> {
        self.0.check()?;
        if self.0.pages.is_some() {
            return Err(crate::core::error::Error::invalid("pages", "keys and values in pages have no gradients"));
        }
        check_all((reads, &self.reads()), (writes, &self.writes()))
    }

    fn overwrites(&self, writes: &Spans<Dyn>) -> bool {
        writes.iter().zip(self.writes()).all(|(span, (_, _, len))| len == Some(span.len()))
    }

    fn dtypes(&self) -> (&'static [DType], &'static [DType]) {
        let types =
            |all: &[Wanted]| crate::core::intern::types(&all.iter().map(|(_, dtype, _)| *dtype).collect::<Vec<_>>());
        (types(&self.reads()), types(&self.writes()))
    }

    fn operand_name(&self, index: usize, read_count: usize) -> Option<String> {
        let (reads, writes) = (self.reads(), self.writes());
        let found = if index < read_count { reads.get(index) } else { writes.get(index - read_count) };
        found.map(|(name, ..)| (*name).to_owned())
    }

    fn cost(&self) -> Cost {
        let scene = &self.0;
        let products = (3 * scene.width as u64).saturating_add(2 * scene.value_width as u64).saturating_mul(2);
        let half = if scene.causal.is_some() { 2 } else { 1 };
        let flops = (scene.rows() as u64).saturating_mul(scene.keys as u64).saturating_mul(products) / half;
        let (reads, writes) = (self.reads(), self.writes());
        let all = reads
            .iter()
            .chain(&writes)
            .filter_map(|(_, dtype, len)| Some(((*len)? as u64).saturating_mul(dtype.size() as u64)));
        Cost { flops, bytes: all.fold(0, u64::saturating_add) }
    }

    #[cfg(feature = "host")]
    fn host(&self, reads: Slices<'_, Self>, writes: SlicesMut<'_, Self>) -> Result<()> {
        super::host::backward(&self.0, &reads, writes)
    }

    #[cfg(not(feature = "host"))]
    fn host(&self, _: Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<()> {
        Err(crate::core::error::Error::unsupported("this build has no host engine (feature `host`)"))
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, _: &Spans<Dyn>, _: &Spans<Dyn>, plans: &mut Prepare<'_>) {
        super::super::native::attend_backward::prepare(&self.0, plans);
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        super::super::native::attend_backward::enqueue(&self.0, queue)
    }

    #[cfg(not(feature = "cuda"))]
    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Err(crate::core::error::Error::unsupported("this build has no CUDA engine (feature `cuda`)"))
    }

    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}
