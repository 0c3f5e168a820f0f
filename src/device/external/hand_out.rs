//! A buffer, for others to use for a while.

use super::ForeignStream;
use super::synchronize::First;
use crate::core::buffer::{AnyBuffer, DeviceBuffer};
use crate::core::element::Element;
use crate::core::error::{Error, Rejected, Result};
use crate::device::Device;

/// A buffer that another library uses: made by [`Device::hand_out`]. Nothing of this crate reads or writes it until it is taken
/// back. If it is dropped instead, the memory is freed, whoever uses it.
#[derive(Debug)]
pub struct HandedOut<T: Element> {
    device: Device,
    buffer: DeviceBuffer<T>,
}

/// Memory of other libraries: lent to them.
impl Device {
    /// Lends a buffer to another library, as an address: what is submitted to `stream` from now on follows all work on the
    /// buffer. With [`ForeignStream::Idle`] waits until that work is complete.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when its contents are undefined, a program has captured its memory, or the stream is none of this device's;
    /// [`Error::Unsupported`] on an isolated device and while a program is recorded; a failure of the work on it. The buffer comes
    /// back.
    pub fn hand_out<T: Element>(
        &self,
        buffer: DeviceBuffer<T>,
        stream: ForeignStream,
    ) -> Result<HandedOut<T>, Rejected<DeviceBuffer<T>>> {
        let buffer = self.synchronize_with(buffer.into(), stream, First::Ours).map_err(typed)?;
        match buffer.downcast() {
            Ok(buffer) => Ok(HandedOut { device: self.clone(), buffer }),
            Err(_) => Err(Error::library("internal error: elements of another type").into()),
        }
    }
}

impl<T: Element> HandedOut<T> {
    /// The address of the first element of its window.
    pub fn address(&self) -> u64 {
        self.buffer.region.allocation.address + (self.buffer.offset * size_of::<T>()) as u64
    }

    /// The number of elements in its window.
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Takes the buffer back: what this crate does with it from now on follows what is on `stream`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the stream is none of this device's; an error of the driver. The buffer comes back.
    ///
    /// # Safety
    /// All that uses the memory is on `stream`, or complete.
    pub unsafe fn take_back(self, stream: ForeignStream) -> Result<DeviceBuffer<T>, Rejected<DeviceBuffer<T>>> {
        match stream {
            ForeignStream::Idle => Ok(self.buffer),
            ForeignStream::Cuda(_) => {
                let buffer = self.device.synchronize_with(self.buffer.into(), stream, First::Foreign).map_err(typed)?;
                buffer.downcast().map_err(|_| Error::library("internal error: elements of another type").into())
            }
        }
    }
}

fn typed<T: Element>(rejected: Rejected<AnyBuffer>) -> Rejected<DeviceBuffer<T>> {
    Rejected { error: rejected.error, back: rejected.back.and_then(|buffer| buffer.downcast().ok()) }
}
