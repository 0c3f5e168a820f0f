//! The operation: for each value, how many elements of a sorted vector come before it.

use crate::core::buffer::{AnyBuffers, AnySpan, Dyn};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, Spans, Wire};
use crate::device::tensor::{Layout, fused};
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Prepare, Slices, SlicesMut};
use crate::libraries::arrays::sort::order::Order;
use serde::{Deserialize, Serialize};

/// Searches values. All is plain data, and admitted by [`Op::check`], wherever it comes from. What is written is row-major, `i64`.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::libraries::arrays) struct Search {
    pub(super) dtype: DType,
    /// A vector.
    pub(super) sorted: Layout,
    pub(super) values: Layout,
    /// Whether equal elements count as before a value.
    pub(super) right: bool,
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

    fn check_operands(&self, reads: &[AnySpan], writes: &[AnySpan]) -> Result<()> {
        let ([sorted, values], [places]) = (reads, writes) else {
            return Err(Error::invalid("values", format!("{} read and {} written", reads.len(), writes.len())));
        };
        self.order()?;
        if self.sorted.rank() != 1 {
            return Err(Error::invalid("sorted", format!("{} axes, but it is a vector", self.sorted.rank())));
        }
        self.sorted.check_operand("sorted", sorted, self.dtype)?;
        self.values.check_operand("values", values, self.dtype)?;
        let output = Layout::row_major(self.values.extents())?;
        output.check_operand("places", places, DType::I64)?;
        if output.len() != places.len() || sorted.overlaps(places) || values.overlaps(places) {
            return Err(Error::invalid("places", "another number of elements, or in the memory of what is read"));
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
        (crate::core::intern::types(&[self.dtype; 2]), &[DType::I64])
    }

    fn operand_name(&self, index: usize, _: usize) -> Option<String> {
        ["sorted", "values", "places"].get(index).map(|name| (*name).to_owned())
    }

    fn cost(&self) -> Cost {
        let size = self.dtype.size() as u64;
        Cost { flops: 0, bytes: (self.values.len() as u64).saturating_mul(size + 8) }
    }

    #[cfg(feature = "host")]
    fn host(&self, reads: Slices<'_, Self>, writes: SlicesMut<'_, Self>) -> Result<()> {
        let missing = || Error::library("internal error: an operand is missing");
        let (sorted, values) = (reads.first().ok_or_else(missing)?, reads.get(1).ok_or_else(missing)?);
        let places = writes.into_iter().next().and_then(|slice| slice.downcast::<i64>()).ok_or_else(missing)?;
        let size = self.dtype.size();
        let fit =
            self.sorted.is_inside(sorted.bytes().len() / size) && self.values.is_inside(values.bytes().len() / size);
        if !fit || self.sorted.rank() != 1 || places.len() != self.values.len() {
            return Err(Error::library("internal error: unchecked layouts"));
        }
        halves::search(self, self.order()?, sorted.bytes(), values.bytes(), places)
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

#[cfg(feature = "host")]
pub(super) mod halves {
    use super::{Order, Result, Search};
    use crate::device::tensor::Layout;
    use crate::numerics::parallel::{self, Parts};

    /// The bits of an element; 0 if it is not there.
    fn bits(bytes: &[u8], size: usize, at: usize) -> u64 {
        let mut word = [0; 8];
        let from = bytes.get(at * size..).unwrap_or_default();
        word.iter_mut().zip(from.iter().take(size)).for_each(|(to, from)| *to = *from);
        u64::from_le_bytes(word)
    }

    fn offset(layout: &Layout, mut number: usize) -> usize {
        let mut offset = layout.offset() as isize;
        for (n, stride) in layout.extents().iter().zip(layout.strides()).rev() {
            offset += (number % n) as isize * stride;
            number /= n;
        }
        offset.unsigned_abs()
    }

    /// Values that a thread searches at least.
    const FEW: usize = 1 << 10;

    pub(in crate::libraries::arrays::search) fn search(
        search: &Search,
        order: Order,
        sorted: &[u8],
        values: &[u8],
        places: &mut [i64],
    ) -> Result<()> {
        let (n, size) = (search.sorted.len(), order.size);
        let step = search.sorted.strides().first().copied().unwrap_or(0);
        let (first, layout) = (search.sorted.offset() as isize, &search.values);
        let key = |i: usize| order.key(bits(sorted, size, (first + i as isize * step).unsigned_abs()));
        let place = |number: usize, place: &mut i64| {
            let own = order.key(bits(values, size, offset(layout, number)));
            let (mut low, mut high) = (0, n);
            while low < high {
                let middle = low + (high - low) / 2;
                let other = key(middle);
                if other < own || (search.right && other == own) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            *place = low as i64;
        };
        parallel::each_part(places, Parts::with_size(FEW), &|part, places| {
            (part * FEW..).zip(places).for_each(|(number, own)| place(number, own));
        });
        Ok(())
    }
}
