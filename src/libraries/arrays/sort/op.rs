//! The operation: the first elements of each line in order, where they were, or both.

use super::order::Order;
use crate::device::tensor::Layout;
use crate::libraries::tensor_routine::prelude::*;

/// Sorts along an axis. All is plain data, and admitted by [`TensorRoutine::check`], wherever it comes from. What is written is row-major.
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
    /// What is written.
    pub(super) fn output(&self) -> Result<Layout> {
        let mut extents = self.x.shape().to_vec();
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
}

impl TensorRoutine for Sort {
    const NAME: &'static str = "sort";
    const LIBRARY: &'static str = "arrays";
    const OVERWRITES: bool = true;
    type Raw = ();

    fn operands(&self) -> Operands<'_> {
        let extents = self.x.shape().iter().enumerate();
        let kept = extents.map(|(axis, n)| if axis == self.axis { self.keep } else { *n });
        let len = kept.fold(1, usize::saturating_mul);
        let written = self.written().map(|(name, dtype)| Operand::exactly(name, dtype, len));
        Operands::new([Operand::inside("x", self.dtype, &self.x)], written)
    }

    fn check_data(&self) -> Result<()> {
        self.order()?;
        let rank = self.x.rank();
        let missing = || Error::invalid("axis", format!("axis {}, but the rank is {rank}", self.axis));
        let n = self.x.shape().get(self.axis).copied().ok_or_else(missing)?;
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

    fn is_prompt(&self) -> bool {
        // Less than what it takes to wake a thread.
        const FEW: usize = 1 << 10;
        self.x.len() <= FEW
    }

    fn cost(&self) -> Cost {
        let len = self.x.len() as u64;
        let written: usize = self.written().map(|(_, dtype)| dtype.size()).sum();
        Cost { flops: 0, bytes: len.saturating_mul((self.dtype.size() + written) as u64) }
    }

    #[cfg(feature = "host")]
    fn host(&self, operands: Checked<'_, '_>) -> Result<()> {
        let (reads, written) = operands.starts();
        let mut written = written.into_iter();
        let mut next = |there: bool| if there { written.next() } else { None }.unwrap_or(std::ptr::null_mut());
        let (values, indices) = (next(self.values), next(self.indices));
        let x = *reads.first().ok_or_else(missing)?;
        // SAFETY: the operands were checked: the layouts lie inside them, and they are aligned for their types. Those that are
        // written are exclusively ours.
        unsafe { super::host::sort(self, x, values, indices.cast()) }
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, _: &[AnySpan], _: &[AnySpan], plans: &mut Prepare<'_>) {
        super::cuda::keys(self).unwrap_or_default().iter().for_each(|key| plans.plan(key));
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        super::cuda::enqueue(self, queue)
    }
}

tensor_routines!(Sort);
