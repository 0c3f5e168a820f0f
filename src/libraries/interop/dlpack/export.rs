//! Tensors as managed tensors for others.

use super::abi::{self, CPU, CUDA, Legacy, READ_ONLY, VERSION, Versioned};
use super::managed::{Dlpack, DlpackForm};
use super::types;
use crate::core::buffer::{AnyBuffer, AnyIn, GpuRef};
use crate::core::device_info::DeviceKind;
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Rejected, Result};
use crate::core::op::contained;
use crate::device::Device;
use crate::device::external::{First, ForeignStream};
use crate::device::tensor::{AnyTensor, Layout, TensorRef};
use std::any::Any;
use std::ffi::c_void;
use std::ptr::NonNull;

/// What a managed tensor of ours keeps: the struct, what it points to, and the memory.
struct Exported<M> {
    managed: M,
    extents: Vec<i64>,
    strides: Vec<i64>,
    #[expect(dead_code, reason = "owned")]
    owner: Box<dyn Any + Send>,
}

/// Memory that went out and is freed behind what the consumer has on its stream by then.
struct Out {
    device: Device,
    buffer: Option<AnyBuffer>,
    stream: ForeignStream,
}

impl Drop for Out {
    fn drop(&mut self) {
        if let (Some(buffer), ForeignStream::Cuda(_)) = (self.buffer.take(), self.stream) {
            // If the device is gone, so is the memory.
            let _ = self.device.synchronize_with(buffer, self.stream, First::Foreign);
        }
    }
}

/// The same for memory that others here may still read: whoever writes it next follows what the consumer has read.
struct OutShared<T: Element> {
    device: Device,
    stream: ForeignStream,
    shared: GpuRef<T>,
}

impl<T: Element> Drop for OutShared<T> {
    fn drop(&mut self) {
        if let ForeignStream::Cuda(_) = self.stream {
            let _ = self.device.synchronize_reading_with(self.shared.as_in().into(), self.stream, First::Foreign);
        }
    }
}

/// Exchange without a copy: DLPack.
impl Device {
    /// A tensor for another library, in place of a copy. It is moved in: the consumer may write it, and frees it. What it submits
    /// to `to` from now on follows all work on the tensor; with [`ForeignStream::Idle`] this waits until that is complete. See
    /// [`dlpack`](crate::dlpack).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when its contents are undefined, a program has captured its memory, or the stream is none of this device's;
    /// [`Error::Unsupported`] on an isolated device and while a program is recorded; a failure of the work on it. The tensor
    /// comes back.
    pub fn dlpack(
        &self,
        tensor: impl Into<AnyTensor>,
        form: DlpackForm,
        to: ForeignStream,
    ) -> Result<Dlpack, Rejected<AnyTensor>> {
        let (buffer, layout) = tensor.into().into_parts();
        let again = |rejected: Rejected<AnyBuffer>| {
            let layout = layout.clone();
            let back = rejected.back.and_then(|buffer| AnyTensor::from_buffer(buffer, layout).ok());
            Rejected { error: rejected.error, back }
        };
        let buffer = self.synchronize_with(buffer, to, First::Ours).map_err(again)?;
        let (view, dtype) = (self.view_of(buffer.as_in(), &layout), buffer.dtype());
        let owner = Out { device: self.clone(), buffer: Some(buffer), stream: to };
        Ok(managed(form, view, dtype, &layout, 0, Box::new(owner)))
    }

    /// A shared view for another library, read only. As [`dlpack`](Self::dlpack); the memory is freed when all handles here and
    /// the consumer's are gone. [`TensorRef::try_unique`] makes no writable tensor of it before.
    ///
    /// # Errors
    /// As there; [`Error::InvalidArgument`] for a view that borrows: share the tensor first ([`Tensor::share`](crate::Tensor::share)).
    pub fn dlpack_shared<T: Element>(&self, view: &TensorRef<'static, T>, to: ForeignStream) -> Result<Dlpack> {
        let shared = view.shared_handle().ok_or_else(|| {
            Error::invalid("view", "it borrows its elements: share the tensor first (`Tensor::share`)")
        })?;
        let part: AnyIn<'_> = view.buffer().into();
        self.synchronize_reading_with(part, to, First::Ours)?;
        let place = self.view_of(part, view.layout());
        // While others read, the handle keeps its memory from being written.
        let owner = Box::new(OutShared { device: self.clone(), stream: to, shared });
        Ok(managed(DlpackForm::Versioned, place, T::DTYPE, view.layout(), READ_ONLY, owner))
    }

    /// The address of the first element, and where that is.
    fn view_of(&self, part: AnyIn<'_>, layout: &Layout) -> (u64, abi::Device) {
        let (region, offset, _) = part.place();
        let first = layout.offset() * part.dtype().size();
        let address = if layout.is_empty() { 0 } else { region.allocation.address + (offset + first) as u64 };
        let kind = if self.kind() == DeviceKind::Cuda { CUDA } else { CPU };
        (address, abi::Device { kind, id: self.ordinal().and_then(|n| i32::try_from(n).ok()).unwrap_or(0) })
    }
}

fn managed(
    form: DlpackForm,
    (address, device): (u64, abi::Device),
    dtype: DType,
    layout: &Layout,
    flags: u64,
    owner: Box<dyn Any + Send>,
) -> Dlpack {
    // A layout's extents and strides fit: they fit `isize`.
    let extents: Vec<i64> = layout.shape().iter().map(|n| *n as i64).collect();
    let strides: Vec<i64> = layout.strides().iter().map(|n| *n as i64).collect();
    let tensor = abi::Tensor {
        data: std::ptr::with_exposed_provenance_mut(address as usize),
        device,
        rank: extents.len() as i32,
        dtype: types::in_abi(dtype),
        extents: std::ptr::null_mut(),
        strides: std::ptr::null_mut(),
        byte_offset: 0,
    };
    let at = match form {
        DlpackForm::Versioned => {
            let (major, minor) = VERSION;
            let deleter = Some(delete::<Versioned> as unsafe extern "C" fn(*mut Versioned));
            let managed = Versioned { major, minor, context: std::ptr::null_mut(), deleter, flags, tensor };
            let at = Box::into_raw(Box::new(Exported { managed, extents, strides, owner }));
            // SAFETY: nobody else knows it yet.
            unsafe {
                ((*at).managed.context, (*at).managed.tensor.extents) = (at.cast(), (*at).extents.as_mut_ptr());
                (*at).managed.tensor.strides = (*at).strides.as_mut_ptr();
                (&raw mut (*at).managed).cast::<c_void>()
            }
        }
        DlpackForm::Legacy => {
            let deleter = Some(delete::<Legacy> as unsafe extern "C" fn(*mut Legacy));
            let managed = Legacy { tensor, context: std::ptr::null_mut(), deleter };
            let at = Box::into_raw(Box::new(Exported { managed, extents, strides, owner }));
            // SAFETY: as above.
            unsafe {
                ((*at).managed.context, (*at).managed.tensor.extents) = (at.cast(), (*at).extents.as_mut_ptr());
                (*at).managed.tensor.strides = (*at).strides.as_mut_ptr();
                (&raw mut (*at).managed).cast::<c_void>()
            }
        }
    };
    // SAFETY: the struct is filled in, nobody else owns it, and nobody here has the memory.
    unsafe { Dlpack::from_raw(form, NonNull::new_unchecked(at)) }
}

/// A managed tensor, as its deleter finds what keeps it.
trait Managed {
    fn context(&self) -> *mut c_void;
}

impl Managed for Versioned {
    fn context(&self) -> *mut c_void {
        self.context
    }
}

impl Managed for Legacy {
    fn context(&self) -> *mut c_void {
        self.context
    }
}

/// The deleter of managed tensors of ours. Whatever it drops, no panic leaves it.
unsafe extern "C" fn delete<M: Managed>(managed: *mut M) {
    if managed.is_null() {
        return;
    }
    let _ = contained(|| {
        // SAFETY: `managed` filled it in; its owner calls this once, so the box is alive and nobody else has it.
        drop(unsafe { Box::from_raw((*managed).context().cast::<Exported<M>>()) });
        Ok(())
    });
}
