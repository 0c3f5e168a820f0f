//! The operation: the first elements of each line in order, where they were, or both.

use super::order::Order;
use crate::core::buffer::{AnyBuffers, AnySpan, Dyn};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, Spans, Wire};
use crate::device::tensor::Layout;
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Prepare, Slices, SlicesMut};
use serde::{Deserialize, Serialize};

/// Sorts along an axis. All is plain data, and admitted by [`Op::check`], wherever it comes from. What is written is row-major.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::libraries::arrays) struct Sort {
    pub(super) dtype: DType,
    pub(super) axis: usize,
    pub(super) x: Layout,
    /// How many of each line are written.
    pub(super) keep: usize,
    pub(super) descending: bool,
    /// Whether the elements are written.
    pub(super) values: bool,
    /// Whether their places are, as `i64`.
    pub(super) indices: bool,
    /// How many of the lowest bytes of elements can differ, if the caller knows it.
    pub(super) bytes: Option<usize>,
}

impl Sort {
    pub(super) const OP: &'static str = "sort";
    pub(super) const LIBRARY: &'static str = "arrays";

    /// What is written.
    pub(super) fn output(&self) -> Result<Layout> {
        let mut extents = self.x.extents().to_vec();
        extents.get_mut(self.axis).into_iter().for_each(|n| *n = self.keep);
        Layout::row_major(extents)
    }

    /// The order; there is one if the operation was checked.
    pub(super) fn order(&self) -> Result<Order> {
        let none = || {
            let what = format!("elements of {} have no order: sort their parts or magnitudes", self.dtype);
            Error::invalid("x", what)
        };
        let order = Order::new(self.dtype, self.descending).ok_or_else(none)?;
        let passes = self.bytes.unwrap_or(order.size).clamp(1, order.size);
        Ok(Order { passes, ..order })
    }

    fn written(&self) -> impl Iterator<Item = (&'static str, DType)> {
        let values = self.values.then_some(("values", self.dtype));
        values.into_iter().chain(self.indices.then_some(("indices", DType::I64)))
    }

    pub(super) fn check_data(&self) -> Result<()> {
        self.order()?;
        let rank = self.x.rank();
        let missing = || Error::invalid("axis", format!("axis {}, but there are {rank} axes", self.axis));
        let n = self.x.extents().get(self.axis).copied().ok_or_else(missing)?;
        if u32::try_from(n).is_err() {
            let what =
                format!("{n} elements along axis {}, but at most {} are sorted: sort parts", self.axis, u32::MAX);
            return Err(Error::invalid("x", what));
        }
        if self.keep > n {
            return Err(Error::invalid("k", format!("{} of {n} elements along axis {}", self.keep, self.axis)));
        }
        Ok(())
    }

    fn check_operands(&self, reads: &[AnySpan], writes: &[AnySpan]) -> Result<()> {
        let ([x], true) = (reads, writes.len() == self.written().count()) else {
            return Err(Error::invalid("x", format!("{} read and {} written", reads.len(), writes.len())));
        };
        self.x.check_operand("x", x, self.dtype)?;
        let output = self.output()?;
        for ((name, dtype), span) in self.written().zip(writes) {
            output.check_operand(name, span, dtype)?;
            if span.len() != output.len() {
                let what = format!("{} elements instead of {}", span.len(), output.len());
                return Err(Error::invalid(name, what));
            }
            if x.overlaps(span) {
                return Err(Error::invalid(name, "it lies in the memory of x"));
            }
        }
        match writes {
            [one, other] if one.overlaps(other) => {
                Err(Error::invalid("indices", "they lie in the memory of the values"))
            }
            _ => Ok(()),
        }
    }
}

impl Op for Sort {
    const NAME: &'static str = Sort::OP;
    const LIBRARY: &'static str = Sort::LIBRARY;
    const PREPARED: bool = true;
    type Reads = Dyn;
    type Output = AnyBuffers;
    type Raw = ();

    fn check(&self, reads: &Spans<Dyn>, writes: &Spans<Dyn>) -> Result<()> {
        self.check_data()?;
        self.check_operands(reads, writes)
    }

    fn overwrites(&self, _: &Spans<Dyn>) -> bool {
        true
    }

    fn is_prompt(&self) -> bool {
        // Less than what it takes to wake a thread.
        const FEW: usize = 1 << 10;
        self.x.len() <= FEW
    }

    fn dtypes(&self) -> (&'static [DType], &'static [DType]) {
        let written: Vec<DType> = self.written().map(|(_, dtype)| dtype).collect();
        (crate::core::intern::types(&[self.dtype]), crate::core::intern::types(&written))
    }

    fn operand_name(&self, index: usize, read_count: usize) -> Option<String> {
        let name = match index.checked_sub(read_count) {
            None => "x",
            Some(k) => self.written().nth(k).map_or("output", |(name, _)| name),
        };
        Some(name.to_owned())
    }

    fn cost(&self) -> Cost {
        let len = self.x.len() as u64;
        let written: usize = self.written().map(|(_, dtype)| dtype.size()).sum();
        Cost { flops: 0, bytes: len.saturating_mul((self.dtype.size() + written) as u64) }
    }

    #[cfg(feature = "host")]
    fn host(&self, reads: Slices<'_, Self>, writes: SlicesMut<'_, Self>) -> Result<()> {
        let missing = || Error::library("internal error: an operand is missing");
        let x = reads.first().ok_or_else(missing)?;
        self.check_data()?;
        let output = self.output()?;
        let mut written = writes.into_iter().map(|slice| slice.into_raw());
        let mut next = |there: bool| match there {
            true => written.next().ok_or_else(missing).map(|(start, len)| (start, len == output.len())),
            false => Ok((std::ptr::null_mut(), true)),
        };
        let (values, indices) = (next(self.values)?, next(self.indices)?);
        let fit = self.x.is_inside(x.bytes().len() / self.dtype.size()) && x.dtype() == self.dtype;
        // The check of the operation has said so already. What follows is sound only if it is true.
        if !fit || !values.1 || !indices.1 {
            return Err(Error::library("internal error: unchecked layouts"));
        }
        // SAFETY: the layouts lie inside the operands, whose memory is aligned for their types (above). The operands that are written
        // are exclusively ours.
        unsafe { super::host::sort(self, x.bytes().as_ptr(), values.0, indices.0.cast()) }
    }

    #[cfg(not(feature = "host"))]
    fn host(&self, _: Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<()> {
        Err(Error::unsupported("this build has no host engine (feature `host`)"))
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, _: &Spans<Dyn>, _: &Spans<Dyn>, plans: &mut Prepare<'_>) {
        super::cuda::keys(self).unwrap_or_default().iter().for_each(|key| plans.plan(key));
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
