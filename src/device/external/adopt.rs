//! Memory of others as a buffer.

use super::ForeignStream;
use super::synchronize::First;
use crate::core::buffer::{Allocation, AnyBuffer, DeviceBuffer, Home, InitState, Owner, Region};
use crate::core::element::{DType, Element};
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::order::AccessHistory;
use crate::core::sync::Arc;
use crate::device::Device;
use crate::device::engine::Engine;
use std::any::Any;

/// A place in memory.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) address: u64,
    pub(crate) len: usize,
    pub(crate) dtype: DType,
}

impl Place {
    /// Its size in bytes, if it can be memory at all.
    pub(crate) fn check(&self) -> Result<usize> {
        let Place { address, len, dtype } = *self;
        let bytes = len.checked_mul(dtype.size()).filter(|bytes| isize::try_from(*bytes).is_ok());
        let bytes =
            bytes.ok_or_else(|| Error::invalid("len", format!("the byte size of {len} {dtype} elements overflows")))?;
        // Complex numbers are aligned as their parts.
        let align = if dtype.is_complex() { dtype.size() / 2 } else { dtype.size() };
        let wrong = |what: String| Err(Error::invalid("address", what));
        match address {
            _ if bytes == 0 => Ok(0),
            0 => wrong(format!("null, for {len} elements")),
            _ if !address.is_multiple_of(align as u64) => {
                wrong(format!("{address:#x} is not a multiple of {align}, as the elements ({dtype}) need: copy them"))
            }
            _ if address.checked_add(bytes as u64).is_none() => {
                wrong(format!("{bytes} bytes from {address:#x} overflow"))
            }
            _ => Ok(bytes),
        }
    }
}

/// Memory of other libraries: taken over.
impl Device {
    /// Memory of others as a buffer, without a copy: `len` elements from `address` on, which are written. It begins with what is
    /// on `stream` by then. `owner` is dropped when the last handle is gone and all work on the memory is complete: on any thread,
    /// once. See [`external`](crate::external) for what holds for such buffers.
    ///
    /// On a GPU, memory of its own or pinned memory of the host; on a host device, memory of the process.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the address is null or not aligned for the elements, the size overflows, or the stream is
    /// none of this device's; [`Error::Unsupported`] on an isolated device and while a program is recorded; an error of the driver.
    /// `owner` is dropped then.
    ///
    /// # Safety
    /// Until `owner` is dropped, the elements are memory that the device can read and write; what is not on `stream` by then does
    /// not write it, and whoever shares it (`share` makes it read only here) does not write it meanwhile.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, external::ForeignStream};
    /// let device = Device::host()?;
    /// let mut data = vec![1.0f64; 100];
    /// let at = data.as_mut_ptr();
    /// // SAFETY: the vector owns the elements, and nobody else uses them.
    /// let x = unsafe { device.adopt(at, 100, data, ForeignStream::Idle) }?;
    /// assert_eq!(device.blas().asum(&x)?.await_result()?, 100.0);
    /// # Ok(()) }
    /// ```
    pub unsafe fn adopt<T: Element>(
        &self,
        address: *mut T,
        len: usize,
        owner: impl Send + 'static,
        stream: ForeignStream,
    ) -> Result<DeviceBuffer<T>> {
        let place = Place { address: address.expose_provenance() as u64, len, dtype: T::DTYPE };
        place.check()?;
        let buffer = self.adopted(place, Box::new(owner), stream)?;
        buffer.downcast().map_err(|_| Error::library("internal error: elements of another type"))
    }

    /// The same without the type. The place was checked.
    pub(crate) fn adopted(&self, place: Place, owner: Box<dyn Any + Send>, stream: ForeignStream) -> Result<AnyBuffer> {
        self.check_foreign(stream)?;
        let epoch = self.epoch();
        let bytes = place.check()?;
        let home = Self::home(&epoch, Owner::new(owner))?;
        epoch.admit()?;
        // Never dereferenced if there are no elements.
        let address = if bytes == 0 { 256 } else { place.address };
        let allocation = Arc::new(Allocation::lent(address, bytes as u64, home));
        let region = Region::new(allocation, epoch, InitState::Valid, AccessHistory::default(), 0..bytes);
        let buffer = AnyBuffer::whole(region, place.dtype);
        match stream {
            ForeignStream::Idle => Ok(buffer),
            ForeignStream::Cuda(_) => Ok(self.synchronize_with(buffer, stream, First::Foreign)?),
        }
    }

    fn home(epoch: &Epoch, owner: Owner) -> Result<Home> {
        match Engine::for_epoch(epoch) {
            #[cfg(feature = "cuda")]
            Engine::Cuda(engine) => engine.lent(owner).ok_or_else(|| Error::library("internal error: no stream")),
            _ => Ok(Home::Lent(owner)),
        }
    }
}
