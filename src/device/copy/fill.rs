//! Fills a buffer with one value.

use crate::core::buffer::DeviceBuffer;
use crate::core::element::Element;
use crate::core::error::Result;
use crate::core::op::{Cost, OperandNames, Spans, Wire};
use crate::device::Device;
use crate::device::dispatch::Submitted;
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Slices, SlicesMut};

/// Sets every element.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "T: Element")]
pub(super) struct Fill<T> {
    value: T,
    len: usize,
}

impl<T: Element> Op for Fill<T> {
    const NAME: &'static str = "fill";
    const OPERANDS: OperandNames = (&[], &["target"]);
    const LIBRARY: &'static str = "copy";
    type Reads = ();
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (): &Spans<()>, _: &Spans<(T,)>) -> Result<()> {
        Ok(())
    }

    fn overwrites(&self, _: &Spans<(T,)>) -> bool {
        true
    }

    fn cost(&self) -> Cost {
        Cost { flops: 0, bytes: (self.len * size_of::<T>()) as u64 }
    }

    fn host(&self, (): Slices<'_, Self>, (target,): SlicesMut<'_, Self>) -> Result<()> {
        target.fill(self.value);
        Ok(())
    }

    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        #[cfg(feature = "cuda")]
        {
            let (target,) = *queue.writes();
            // SAFETY: the range is exactly that of an operand.
            unsafe { queue.fill(target.address(), target.len(), bytemuck::bytes_of(&self.value)) }
        }
        #[cfg(not(feature = "cuda"))]
        {
            let _ = queue;
            Err(crate::core::error::Error::unsupported("this build has no CUDA engine"))
        }
    }

    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

impl Device {
    /// Sets every element of the buffer (or of its window) to `value`.
    pub(crate) fn filled<T: Element>(&self, target: DeviceBuffer<T>, value: T) -> Submitted<DeviceBuffer<T>> {
        let len = target.len();
        self.dispatch(Fill { value, len }, (), (target,))
    }
}
