//! The operation: for each value, how many elements of a sorted vector come before it, or how many values lie between its neighbours.

use crate::device::tensor::{Layout, fused};
use crate::libraries::arrays::sort::order::Order;
use crate::libraries::tensor_routine::prelude::*;

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::libraries::arrays) enum Answer {
    /// The place of each value.
    Places,
    /// How many values lie between neighbours of the vector, the last bin with its end. On the CPU only.
    Bins,
    /// How often each number below this one is a value; there is no vector. The work fails where a value is negative. On the CPU only.
    Numbers(usize),
}

/// Searches values. All is plain data, and admitted by [`TensorRoutine::check`], wherever it comes from. What is written is row-major, `i64`.
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
    /// Whether it counts numbers, without a vector.
    fn counts(&self) -> bool {
        matches!(self.answer, Answer::Numbers(_))
    }

    pub(super) fn order(&self) -> Result<Order> {
        let none = || Error::invalid("sorted", format!("elements of {} have no order", self.dtype));
        Order::new(self.dtype, false).ok_or_else(none)
    }

    /// The loops over values: of the result, and of the values.
    pub(super) fn loops(&self) -> Result<Vec<Layout>> {
        Ok(fused(&[&Layout::row_major(self.values.shape())?, &self.values]))
    }

    /// The extents of what is written.
    pub(super) fn output(&self) -> Result<Layout> {
        match self.answer {
            Answer::Places => Layout::row_major(self.values.shape()),
            Answer::Bins => Layout::row_major([self.sorted.len().saturating_sub(1)]),
            Answer::Numbers(bins) => Layout::row_major([bins]),
        }
    }
}

impl TensorRoutine for Search {
    const NAME: &'static str = "searchsorted";
    const LIBRARY: &'static str = "arrays";
    const OVERWRITES: bool = true;
    type Raw = ();

    fn operands(&self) -> Operands<'_> {
        let len = match self.answer {
            Answer::Places => self.values.len(),
            Answer::Bins => self.sorted.len().saturating_sub(1),
            Answer::Numbers(bins) => bins,
        };
        let sorted = (!self.counts()).then(|| Operand::inside("sorted", self.dtype, &self.sorted));
        let values = Operand::inside("values", self.dtype, &self.values);
        Operands::new(sorted.into_iter().chain([values]), [Operand::exactly("places", DType::I64, len)])
    }

    fn check_data(&self) -> Result<()> {
        self.order()?;
        if !self.counts() && self.sorted.rank() != 1 {
            return Err(Error::invalid("sorted", format!("{} axes, but it is a vector", self.sorted.rank())));
        }
        if self.counts() && !matches!(self.dtype, DType::I32 | DType::I64 | DType::U32 | DType::U64) {
            return Err(Error::invalid("values", format!("numbers of {}", self.dtype)));
        }
        Ok(())
    }

    fn cost(&self) -> Cost {
        let size = self.dtype.size() as u64;
        Cost { flops: 0, bytes: (self.values.len() as u64).saturating_mul(size + 8) }
    }

    #[cfg(feature = "host")]
    fn host(&self, operands: Checked<'_, '_>) -> Result<()> {
        let Checked { reads, writes, .. } = operands;
        let mut reads = reads.iter().map(|slice| slice.bytes());
        let sorted = if self.counts() { &[] } else { reads.next().ok_or_else(missing)? };
        let places = writes.into_iter().next().and_then(|slice| slice.downcast::<i64>()).ok_or_else(missing)?;
        super::host::answer(self, (sorted, reads.next().ok_or_else(missing)?), places)
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, _: &[AnySpan], _: &[AnySpan], plans: &mut Prepare<'_>) {
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
}

tensor_routines!(Search);
