//! Device to device.

use crate::core::buffer::{DeviceBuffer, In};
use crate::core::element::Element;
use crate::core::error::Result;
use crate::core::op::{Cost, OperandNames, Spans, Wire};
use crate::device::Device;
use crate::device::dispatch::Submitted;
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Slices, SlicesMut};
use std::marker::PhantomData;

/// Copies one buffer into another of the same device.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct DeviceCopy<T> {
    len: usize,
    _type: PhantomData<T>,
}

impl<T: Element> Op for DeviceCopy<T> {
    const NAME: &'static str = "copy";
    const OPERANDS: OperandNames = (&["source"], &["target"]);
    const LIBRARY: &'static str = "copy";
    type Reads = (T,);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (source,): &Spans<(T,)>, (target,): &Spans<(T,)>) -> Result<()> {
        super::check_target(target.len(), source.len(), "copied")
    }

    fn overwrites(&self, _: &Spans<(T,)>) -> bool {
        true
    }

    fn cost(&self) -> Cost {
        Cost { flops: 0, bytes: 2 * (self.len * size_of::<T>()) as u64 }
    }

    fn host(&self, (source,): Slices<'_, Self>, (target,): SlicesMut<'_, Self>) -> Result<()> {
        target.copy_from_slice(source);
        Ok(())
    }

    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        #[cfg(feature = "cuda")]
        {
            let ((source,), (target,)) = (*queue.reads(), *queue.writes());
            // SAFETY: two operands of the same length (checked).
            unsafe { queue.copy(target.address(), source.address(), source.bytes()) }
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
    /// Copies a buffer into one of the same length.
    pub(crate) fn copied_into<T: Element>(
        &self,
        source: In<'_, T>,
        target: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        self.dispatch(DeviceCopy { len: source.len(), _type: PhantomData }, (source,), (target,))
    }

    /// A new buffer with the same contents.
    #[allow(dead_code, reason = "a build may have no library that calls it")]
    pub(crate) fn duplicated<'a, T: Element>(&self, source: impl Into<In<'a, T>>) -> Result<DeviceBuffer<T>> {
        let source = source.into();
        Ok(self.copied_into(source, self.unwritten(source.len())?)?.into_output())
    }
}
