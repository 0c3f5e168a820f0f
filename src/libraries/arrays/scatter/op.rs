//! The operation: slices of a tensor that get elements, by sorted numbers of slices.

use super::front::Combine;
use crate::core::buffer::{AnyBuffers, AnySpan, Dyn};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, Spans, Wire};
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Prepare, Slices, SlicesMut};
use serde::{Deserialize, Serialize};

/// Puts slices. All is plain data, and admitted by [`Op::check`], wherever it comes from. Reads the numbers of slices in order, their
/// places before they were sorted, and the slices of elements; updates the target. All of it lies without gaps.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::libraries::arrays) struct Put {
    pub(super) dtype: DType,
    pub(super) combine: Combine,
    /// The slices of the target; a number that is not below is out of range.
    pub(super) slots: usize,
    /// The elements of a slice.
    pub(super) width: usize,
    /// How many numbers there are.
    pub(super) count: usize,
}

impl Put {
    pub(super) const OP: &'static str = "put";
    pub(super) const LIBRARY: &'static str = "arrays";

    pub(super) fn check_data(&self) -> Result<()> {
        let adds = self.combine != Combine::Replace;
        if adds && (self.dtype.is_complex() || self.dtype == DType::Bool) {
            let what = format!("{:?} of {} is not there: replace, or cast the elements", self.combine, self.dtype);
            return Err(Error::invalid("combine", what));
        }
        Ok(())
    }

    fn check_operands(&self, reads: &[AnySpan], writes: &[AnySpan]) -> Result<()> {
        let ([keys, places, updates], [target]) = (reads, writes) else {
            return Err(Error::invalid("updates", format!("{} read and {} written", reads.len(), writes.len())));
        };
        let wanted = [
            ("numbers", keys, DType::I64, Some(self.count)),
            ("places", places, DType::I64, Some(self.count)),
            ("updates", updates, self.dtype, self.count.checked_mul(self.width)),
            ("x", target, self.dtype, self.slots.checked_mul(self.width)),
        ];
        for (name, span, dtype, len) in wanted {
            if span.dtype() != dtype || Some(span.len()) != len {
                let what = format!("{} elements of {}, not {len:?} of {dtype}", span.len(), span.dtype());
                return Err(Error::invalid(name, what));
            }
        }
        match reads.iter().any(|read| read.overlaps(target)) {
            true => Err(Error::invalid("x", "it lies in the memory of an operand that is read")),
            false => Ok(()),
        }
    }
}

impl Op for Put {
    const NAME: &'static str = Put::OP;
    const LIBRARY: &'static str = Put::LIBRARY;
    const PREPARED: bool = true;
    type Reads = Dyn;
    type Output = AnyBuffers;
    /// 0, or the complement of the place of the first number that is out of range.
    type Raw = u64;

    fn check(&self, reads: &Spans<Dyn>, writes: &Spans<Dyn>) -> Result<()> {
        self.check_data()?;
        self.check_operands(reads, writes)
    }

    fn dtypes(&self) -> (&'static [DType], &'static [DType]) {
        let reads = [DType::I64, DType::I64, self.dtype];
        (crate::core::intern::types(&reads), crate::core::intern::types(&[self.dtype]))
    }

    fn operand_name(&self, index: usize, _: usize) -> Option<String> {
        ["numbers", "places", "updates", "x"].get(index).map(|name| (*name).to_owned())
    }

    fn cost(&self) -> Cost {
        let row = (self.width as u64).saturating_mul(3 * self.dtype.size() as u64).saturating_add(16);
        Cost { flops: 0, bytes: row.saturating_mul(self.count as u64) }
    }

    #[cfg(feature = "host")]
    fn host(&self, reads: Slices<'_, Self>, writes: SlicesMut<'_, Self>) -> Result<u64> {
        let missing = || Error::library("internal error: an operand is missing");
        let mut reads = reads.into_iter();
        let mut numbers = || reads.next().and_then(|slice| slice.downcast::<i64>()).ok_or_else(missing);
        let (keys, places) = (numbers()?, numbers()?);
        let updates = reads.next().ok_or_else(missing)?;
        let (target, len) = writes.into_iter().next().ok_or_else(missing)?.into_raw();
        let size = self.dtype.size();
        let all = |n: usize| n.checked_mul(self.width);
        let fit = keys.len() == self.count
            && places.len() == self.count
            && all(self.count).and_then(|n| n.checked_mul(size)) == Some(updates.bytes().len())
            && all(self.slots) == Some(len);
        // The check of the operation has said so already. What follows is sound only if it is true.
        if !fit {
            return Err(Error::library("internal error: unchecked sizes"));
        }
        // SAFETY: the operands have their sizes (above), and the target is exclusively ours.
        unsafe { super::host::put(self, keys, places, updates.bytes().as_ptr(), target) }
    }

    #[cfg(not(feature = "host"))]
    fn host(&self, _: Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<u64> {
        Err(Error::unsupported("this build has no host engine (feature `host`)"))
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, _: &Spans<Dyn>, _: &Spans<Dyn>, plans: &mut Prepare<'_>) {
        plans.plan(&super::kernel::Key::new(self));
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        queue.zero_result()?;
        if self.count.saturating_mul(self.width) == 0 {
            return Ok(());
        }
        let (all, blocks) = super::kernel::Key::new(self).launch(self);
        let address = |span: Option<&AnySpan>| span.map_or(0, |span| span.address());
        let mut words = vec![all as u64, address(queue.writes().first()), queue.result()?];
        words.extend(queue.reads().iter().map(|span| span.address()));
        words.extend([self.width as u64, self.slots as u64, self.count as u64]);
        let loaded = queue.plan::<super::kernel::Key>(0)?;
        // SAFETY: the words are the kernel's. It reads the three operands, whose sizes were checked; the places are below their
        // number, or counted as out of range. It writes slices whose numbers are below those of the target, and the result.
        unsafe { loaded.launch(queue, blocks, &mut words) }
    }

    #[cfg(not(feature = "cuda"))]
    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Err(Error::unsupported("this build has no CUDA engine (feature `cuda`)"))
    }

    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }

    fn finish(&self, raw: u64) -> Result<()> {
        match raw {
            0 => Ok(()),
            bad => Err(Error::invalid("indices", format!("number {} of them is out of range", !bad))),
        }
    }
}
