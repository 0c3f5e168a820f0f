//! Managed tensors of others as tensors.

use super::managed::{Dlpack, Memory, Seen};
use crate::core::device_info::DeviceKind;
use crate::core::element::Element;
use crate::core::error::{Error, Rejected, Result};
use crate::device::Device;
use crate::device::external::ForeignStream;
use crate::device::tensor::{AnyTensor, TensorRef};

/// Exchange without a copy: DLPack.
impl Device {
    /// The memory of a managed tensor as a tensor that may be written, without a copy. Its deleter is called when the tensor is
    /// gone and all work on it is complete. See [`dlpack`](crate::dlpack).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when it is read only ([`shared_of_dlpack`](Self::shared_of_dlpack) takes it), in memory of
    /// another device, not aligned, or what it says cannot be true; [`Error::Unsupported`] for element types and memories that
    /// tensors do not have, another major version, isolated devices, and while a program is recorded. It comes back then. An
    /// error of the driver, after which it does not.
    pub fn tensor_of_dlpack(&self, dlpack: Dlpack, follow: ForeignStream) -> Result<AnyTensor, Rejected<Dlpack>> {
        if dlpack.is_read_only() {
            let what = "its producer forbids to write it: take it as a shared view (`shared_of_dlpack`), or copy it";
            return Err(Rejected::new(Error::invalid("dlpack", what), dlpack));
        }
        self.of_dlpack(dlpack, follow)
    }

    /// The memory of a managed tensor as a shared view, which is only read. As [`tensor_of_dlpack`](Self::tensor_of_dlpack).
    ///
    /// # Errors
    /// As there, and [`Error::InvalidArgument`] when its elements are not of type `T`.
    pub fn shared_of_dlpack<T: Element>(
        &self,
        dlpack: Dlpack,
        follow: ForeignStream,
    ) -> Result<TensorRef<'static, T>, Rejected<Dlpack>> {
        match dlpack.seen() {
            Ok(seen) if seen.place.dtype != T::DTYPE => {
                let what = format!("its elements are {}, not {}", seen.place.dtype, T::DTYPE);
                return Err(Rejected::new(Error::invalid("dlpack", what), dlpack));
            }
            _ => {}
        }
        let read_only = dlpack.is_read_only();
        let tensor = self.of_dlpack(dlpack, follow)?;
        let tensor = tensor.downcast::<T>().map_err(|_| Error::library("internal error: elements of another type"))?;
        let shared = tensor.share();
        // A handle that is never dropped keeps `try_unique` from making it writable.
        if read_only { Ok(shared.never_unique()) } else { Ok(shared) }
    }

    fn of_dlpack(&self, dlpack: Dlpack, follow: ForeignStream) -> Result<AnyTensor, Rejected<Dlpack>> {
        let seen = match self.check_foreign(follow).and_then(|()| dlpack.seen()).and_then(|seen| self.near(seen)) {
            Ok(seen) => seen,
            Err(error) => return Err(Rejected::new(error, dlpack)),
        };
        let buffer = self.adopted(seen.place, Box::new(dlpack), follow)?;
        Ok(AnyTensor::from_buffer(buffer, seen.layout).map_err(Rejected::into_error)?)
    }

    /// Refuses memory that this device does not reach.
    fn near(&self, seen: Seen) -> Result<Seen> {
        let ordinal = self.ordinal();
        let is_near = match (self.kind(), seen.memory) {
            (DeviceKind::Host, Memory::Process | Memory::Pinned) | (DeviceKind::Cuda, Memory::Pinned) => true,
            (DeviceKind::Cuda, Memory::Gpu(id)) => ordinal.and_then(|n| i32::try_from(n).ok()) == Some(id),
            _ => false,
        };
        let other = match seen.memory {
            Memory::Gpu(id) => format!("GPU {id}: use `Device::cuda({id})`, or copy it there first"),
            _ => "the process: use `Device::host()`, or copy it first".to_owned(),
        };
        let what = || Error::invalid("dlpack", format!("it is in memory of {other}"));
        if is_near { Ok(seen) } else { Err(what()) }
    }
}
