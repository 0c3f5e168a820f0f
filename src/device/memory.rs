//! Making buffers.

use super::Device;
use crate::buffer::{Allocation, Content, Region, Track};
use crate::engine::{Engine, Epoch};
use crate::error::Site;
use crate::sync::Arc;
use crate::{DeviceBuffer, Element, Error, Result};

impl Device {
    /// A buffer of `len` zeros.
    ///
    /// A buffer rather than a pending: nothing is left to report, and whatever uses it follows on the device.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] with what was requested, free and allowed; [`Error::InvalidArgument`] when the size
    /// overflows; the device's own error when it cannot be used.
    pub fn zeros<T: Element>(&self, len: usize) -> Result<DeviceBuffer<T>> {
        let buffer = self.uninit(len)?;
        match self.kind() {
            // The host engine's memory comes zeroed.
            super::DeviceKind::Host => {
                buffer.region.worth.set(Content::Valid);
                Ok(buffer)
            }
            _ => Ok(self.fill(buffer, T::zeroed())?.into_output()),
        }
    }

    /// A buffer of `len` elements that were never written.
    ///
    /// Checked: only an operation that overwrites all of it may be given it first (an upload, a fill, a GEMM with
    /// `beta == 0` into a matrix without gaps); reading it answers [`Error::InvalidArgument`].
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros).
    pub fn uninit<T: Element>(&self, len: usize) -> Result<DeviceBuffer<T>> {
        let bytes = len
            .checked_mul(size_of::<T>())
            .filter(|&bytes| isize::try_from(bytes).is_ok())
            .ok_or_else(|| Error::invalid("len", format!("{len} elements of {} overflow", T::DTYPE)))?;
        let epoch = self.epoch();
        let located = |error: Error| {
            let error = error.locate(|s| {
                s.set_device(epoch.label.to_string(), epoch.generation);
            });
            self.inner.counters.count_error(&error);
            error
        };
        let (allocation, track) = self.allocate(&epoch, bytes).map_err(located)?;
        let content = if len == 0 { Content::Valid } else { Content::Uninit };
        let region = Region::new(Arc::new(allocation), epoch, content, track, 0..len);
        Ok(DeviceBuffer::new(region, 0, len))
    }

    fn allocate(&self, epoch: &Arc<Epoch>, bytes: usize) -> Result<(Allocation, Track)> {
        epoch.admit()?;
        match &epoch.engine {
            #[cfg(feature = "host")]
            Engine::Host(engine) => {
                if engine.plan().is_some_and(|plan| plan.next_allocation_fails()) {
                    let (used, limit) = (epoch.meter.used(), epoch.meter.limit());
                    let free = limit.saturating_sub(used);
                    return Err(Error::OutOfMemory {
                        requested: bytes as u64,
                        free,
                        total: limit,
                        limit,
                        site: Site::none(),
                    });
                }
                Ok((Allocation::host(bytes, epoch.meter.clone())?, Track::default()))
            }
            #[cfg(feature = "cuda")]
            Engine::Cuda(engine) => engine.allocate(epoch, bytes, &self.inner.config),
        }
    }
}
