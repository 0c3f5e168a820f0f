//! The operation: for each value, how many elements of a sorted vector come before it, or how many values lie between its neighbours.

use crate::core::buffer::{AnyBuffers, AnySpan, Dyn};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, Spans, Wire};
use crate::device::tensor::{Layout, fused};
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Prepare, Slices, SlicesMut};
use crate::libraries::arrays::sort::order::Order;
use serde::{Deserialize, Serialize};

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::libraries::arrays) enum Answer {
    /// The place of each value.
    Places,
    /// How many values lie between neighbours of the vector, the last bin with its end. On the CPU only.
    Bins,
    /// How often each number below this one is a value, then how many values are negative; there is no vector. On the CPU only.
    Numbers(usize),
}

/// Searches values. All is plain data, and admitted by [`Op::check`], wherever it comes from. What is written is row-major, `i64`.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::libraries::arrays) struct Search {
    pub(super) dtype: DType,
    /// A vector.
    pub(super) sorted: Layout,
    pub(super) values: Layout,
    /// Whether equal elements count as before a value.
    pub(super) right: bool,
    pub(super) answer: Answer,
}

impl Search {
    pub(super) const OP: &'static str = "searchsorted";

    pub(super) fn order(&self) -> Result<Order> {
        let none = || Error::invalid("sorted", format!("elements of {} have no order", self.dtype));
        Order::new(self.dtype, false).ok_or_else(none)
    }

    /// The loops over values: of the result, and of the values.
    pub(super) fn loops(&self) -> Result<Vec<Layout>> {
        Ok(fused(&[&Layout::row_major(self.values.extents())?, &self.values]))
    }

    /// The extents of what is written.
    pub(super) fn output(&self) -> Result<Layout> {
        match self.answer {
            Answer::Places => Layout::row_major(self.values.extents()),
            Answer::Bins => Layout::row_major([self.sorted.len().saturating_sub(1)]),
            Answer::Numbers(bins) => Layout::row_major([bins.saturating_add(1)]),
        }
    }

    fn check_operands(&self, reads: &[AnySpan], writes: &[AnySpan]) -> Result<()> {
        let counted = matches!(self.answer, Answer::Numbers(_));
        let (sorted, values, places) = match (reads, writes) {
            ([sorted, values], [places]) if !counted => (Some(sorted), values, places),
            ([values], [places]) if counted => (None, values, places),
            _ => return Err(Error::invalid("values", format!("{} read and {} written", reads.len(), writes.len()))),
        };
        self.order()?;
        if let Some(sorted) = sorted {
            if self.sorted.rank() != 1 {
                return Err(Error::invalid("sorted", format!("{} axes, but it is a vector", self.sorted.rank())));
            }
            self.sorted.check_operand("sorted", sorted, self.dtype)?;
        }
        self.values.check_operand("values", values, self.dtype)?;
        let output = self.output()?;
        output.check_operand("places", places, DType::I64)?;
        if output.len() != places.len() || reads.iter().any(|read| read.overlaps(places)) {
            return Err(Error::invalid("places", "another number of elements, or in the memory of what is read"));
        }
        let is_number = matches!(self.dtype, DType::I32 | DType::I64 | DType::U32 | DType::U64);
        if counted && !is_number {
            return Err(Error::invalid("values", format!("numbers of {}", self.dtype)));
        }
        Ok(())
    }
}

impl Op for Search {
    const NAME: &'static str = Search::OP;
    const LIBRARY: &'static str = "arrays";
    const PREPARED: bool = true;
    type Reads = Dyn;
    type Output = AnyBuffers;
    type Raw = ();

    fn check(&self, reads: &Spans<Dyn>, writes: &Spans<Dyn>) -> Result<()> {
        self.check_operands(reads, writes)
    }

    fn overwrites(&self, _: &Spans<Dyn>) -> bool {
        true
    }

    fn dtypes(&self) -> (&'static [DType], &'static [DType]) {
        let read = [self.dtype; 2];
        let read = if matches!(self.answer, Answer::Numbers(_)) { &read[..1] } else { &read };
        (crate::core::intern::types(read), &[DType::I64])
    }

    fn operand_name(&self, index: usize, _: usize) -> Option<String> {
        let first = usize::from(matches!(self.answer, Answer::Numbers(_)));
        ["sorted", "values", "places"].get(first + index).map(|name| (*name).to_owned())
    }

    fn cost(&self) -> Cost {
        let size = self.dtype.size() as u64;
        Cost { flops: 0, bytes: (self.values.len() as u64).saturating_mul(size + 8) }
    }

    #[cfg(feature = "host")]
    fn host(&self, reads: Slices<'_, Self>, writes: SlicesMut<'_, Self>) -> Result<()> {
        let missing = || Error::library("internal error: an operand is missing");
        let mut reads = reads.iter().map(|slice| slice.bytes());
        let mut next = || reads.next().ok_or_else(missing);
        let sorted = if matches!(self.answer, Answer::Numbers(_)) { &[] } else { next()? };
        let values = next()?;
        let places = writes.into_iter().next().and_then(|slice| slice.downcast::<i64>()).ok_or_else(missing)?;
        let inside = |layout: &Layout, bytes: &[u8]| layout.is_inside(bytes.len() / self.dtype.size());
        let is_vector =
            matches!(self.answer, Answer::Numbers(_)) || self.sorted.rank() == 1 && inside(&self.sorted, sorted);
        if !is_vector || !inside(&self.values, values) || places.len() != self.output()?.len() {
            return Err(Error::library("internal error: unchecked layouts"));
        }
        super::host::answer(self, (sorted, values), places)
    }

    #[cfg(not(feature = "host"))]
    fn host(&self, _: Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<()> {
        Err(Error::unsupported("this build has no host engine (feature `host`)"))
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, _: &Spans<Dyn>, _: &Spans<Dyn>, plans: &mut Prepare<'_>) {
        if let Ok(Some((key, ..))) = super::kernel::launch(self, [0; 3]) {
            plans.plan(&key);
        }
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        if self.answer != Answer::Places {
            return Err(Error::unsupported("counts in one pass on a GPU"));
        }
        let address = |span: Option<&AnySpan>| span.map_or(0, |span| span.address());
        let (reads, writes) = (queue.reads(), queue.writes());
        let at = [address(writes.first()), address(reads.first()), address(reads.get(1))];
        let Some((_, grid, mut words)) = super::kernel::launch(self, at)? else { return Ok(()) };
        let loaded = queue.plan::<super::kernel::Key>(0)?;
        // SAFETY: the words are the kernel's; it reads what the layouts reach, which lies inside the operands, and writes each place.
        unsafe { loaded.launch(queue, (grid, crate::libraries::kernel::BLOCK), &mut words) }
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
