//! The operation: slices of a tensor that get elements, by sorted numbers of slices.

use super::front::Combine;
use crate::libraries::moves::Told;
use crate::libraries::tensor_routine::prelude::*;

/// Puts slices. All is plain data, and admitted by [`TensorRoutine::check`], wherever it comes from. Reads the numbers of slices in order, their
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
    /// What is told of one that is out of range.
    pub(super) told: Told,
}

impl TensorRoutine for Put {
    const NAME: &'static str = "put";
    const LIBRARY: &'static str = "arrays";
    /// 0, or the complement of the place of the first number that is out of range.
    type Raw = u64;

    fn operands(&self) -> Operands<'_> {
        let elements = |slices: usize| slices.saturating_mul(self.width);
        let numbers = |name| Operand::exactly(name, DType::I64, self.count);
        let updates = Operand::exactly("updates", self.dtype, elements(self.count));
        let target = Operand::exactly("x", self.dtype, elements(self.slots));
        Operands::new([numbers("numbers"), numbers("places"), updates], [target])
    }

    fn check_data(&self) -> Result<()> {
        let adds = self.combine != Combine::Replace;
        if adds && (self.dtype.is_complex() || self.dtype == DType::Bool) {
            let what = format!("{:?} of {} is not there: replace, or cast the elements", self.combine, self.dtype);
            return Err(Error::invalid("combine", what));
        }
        Ok(())
    }

    fn cost(&self) -> Cost {
        let row = (self.width as u64).saturating_mul(3 * self.dtype.size() as u64).saturating_add(16);
        Cost { flops: 0, bytes: row.saturating_mul(self.count as u64) }
    }

    #[cfg(feature = "host")]
    fn host(&self, operands: Checked<'_, '_>) -> Result<u64> {
        let (keys, places) = (operands.elements(0)?, operands.elements(1)?);
        let ([_, _, updates], [target]) = operands.places()?;
        // SAFETY: the operands were checked: they have their sizes, and the target is exclusively ours.
        unsafe { super::host::put(self, keys, places, updates, target) }
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, _: &[AnySpan], _: &[AnySpan], plans: &mut Prepare<'_>) {
        plans.plan(&super::kernel::Key::new(self));
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        let verdict = queue.verdict()?;
        if self.count.saturating_mul(self.width) == 0 {
            return Ok(());
        }
        let (all, blocks) = super::kernel::Key::new(self).launch(self);
        let address = |span: Option<&AnySpan>| span.map_or(0, |span| span.address());
        let mut words = vec![all as u64, address(queue.writes().first()), verdict];
        words.extend(queue.reads().iter().map(|span| span.address()));
        words.extend([self.width as u64, self.slots as u64, self.count as u64]);
        let loaded = queue.plan::<super::kernel::Key>(0)?;
        // SAFETY: the words are the kernel's. It reads the three operands, whose sizes were checked; the places are below their
        // number, or counted as out of range. It writes slices whose numbers are below those of the target, and the result.
        unsafe { loaded.launch(queue, blocks, &mut words) }
    }

    fn finish(&self, raw: u64) -> Result<()> {
        match raw {
            0 => Ok(()),
            bad => {
                let (name, what) = self.told.reason(!bad);
                Err(Error::invalid(name, what))
            }
        }
    }
}

tensor_routines!(Put);
