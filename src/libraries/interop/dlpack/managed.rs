//! A managed tensor and who owns it.

use super::abi::{CPU, CUDA, CUDA_HOST, Legacy, READ_ONLY, Tensor, VERSION, Versioned};
use super::types;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::device::external::Place;
use crate::device::tensor::Layout;
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// The two structs that the ABI has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DlpackForm {
    /// `DLManagedTensorVersioned`, since version 1: a capsule named `dltensor_versioned`.
    Versioned,
    /// `DLManagedTensor`, before that: a capsule named `dltensor`.
    Legacy,
}

/// A managed tensor of DLPack, owned: its deleter is called when this is dropped. See [`dlpack`](crate::dlpack).
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::{Device, dlpack::{Dlpack, DlpackForm}, external::ForeignStream::Idle};
/// let device = Device::host()?;
/// let x = device.tensor([2, 2], [1.0f32, 2.0, 3.0, 4.0])?;
/// let out = device.dlpack(x, DlpackForm::Versioned, Idle)?.into_raw(); // for a capsule
/// // SAFETY: the pointer is a managed tensor that nobody else owns.
/// let back = unsafe { Dlpack::from_raw(DlpackForm::Versioned, out) };
/// let x = device.tensor_of_dlpack(back, Idle)?;
/// assert_eq!(device.show_any(&x.transpose())?.to_string(), "[[1. 3.]\n [2. 4.]]");
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Dlpack {
    form: DlpackForm,
    at: NonNull<c_void>,
}

// SAFETY: a managed tensor belongs to no thread, and the ABI lets its owner call the deleter on any.
unsafe impl Send for Dlpack {}

impl Dlpack {
    /// Takes a managed tensor over: the pointer in a capsule, which must be renamed (`used_dltensor`, `used_dltensor_versioned`)
    /// so that nobody else takes it.
    ///
    /// # Safety
    /// It points to a struct of this form that its producer has filled in as the ABI says, and nobody else calls its deleter. From
    /// the moment it becomes a tensor until its deleter is called, nobody else writes its elements; and if it is not read only, and
    /// written here, nobody else reads them.
    pub unsafe fn from_raw(form: DlpackForm, at: NonNull<c_void>) -> Self {
        Dlpack { form, at }
    }

    /// The pointer, for a capsule. Whoever has it calls the deleter, once.
    pub fn into_raw(self) -> NonNull<c_void> {
        ManuallyDrop::new(self).at
    }

    /// Which struct it is.
    pub fn form(&self) -> DlpackForm {
        self.form
    }

    /// Whether its producer forbids to write it.
    pub fn is_read_only(&self) -> bool {
        match self.form {
            // SAFETY: a struct of this form is alive until the deleter is called.
            DlpackForm::Versioned => unsafe {
                let at = self.at.cast::<Versioned>().as_ptr();
                (*at).major == VERSION.0 && (*at).flags & READ_ONLY != 0
            },
            DlpackForm::Legacy => false,
        }
    }

    /// What it describes, checked.
    pub(super) fn seen(&self) -> Result<Seen> {
        let tensor = match self.form {
            DlpackForm::Legacy => {
                // SAFETY: as in `is_read_only`.
                unsafe { &(*self.at.cast::<Legacy>().as_ptr()).tensor }
            }
            DlpackForm::Versioned => {
                let at = self.at.cast::<Versioned>().as_ptr();
                // SAFETY: the version comes first in all versions.
                let major = unsafe { (*at).major };
                if major != VERSION.0 {
                    let what = format!("the managed tensor has version {major} of the ABI; {} is known", VERSION.0);
                    return Err(Error::unsupported(what));
                }
                // SAFETY: the struct has this version.
                unsafe { &(*at).tensor }
            }
        };
        // SAFETY: the producer has filled it in.
        unsafe { Seen::of(tensor) }
    }
}

impl Drop for Dlpack {
    fn drop(&mut self) {
        match self.form {
            // SAFETY: we own the struct, so its deleter was not called; it may be called on any thread.
            DlpackForm::Versioned => unsafe {
                let at = self.at.cast::<Versioned>().as_ptr();
                if let Some(delete) = (*at).deleter {
                    delete(at);
                }
            },
            // SAFETY: as above.
            DlpackForm::Legacy => unsafe {
                let at = self.at.cast::<Legacy>().as_ptr();
                if let Some(delete) = (*at).deleter {
                    delete(at);
                }
            },
        }
    }
}

/// Where the memory of a managed tensor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    Process,
    Gpu(i32),
    Pinned,
}

/// What a managed tensor describes.
pub(super) struct Seen {
    pub(super) memory: Memory,
    /// From the element with the lowest address to that with the highest.
    pub(super) place: Place,
    /// In that place.
    pub(super) layout: Layout,
}

fn wrong(what: impl Into<String>) -> Error {
    Error::invalid("dlpack", what)
}

impl Seen {
    /// # Safety
    /// Extents and strides point to as many numbers as there are axes.
    unsafe fn of(tensor: &Tensor) -> Result<Self> {
        let memory = match tensor.device.kind {
            CPU => Memory::Process,
            CUDA => Memory::Gpu(tensor.device.id),
            CUDA_HOST => Memory::Pinned,
            kind => return Err(Error::unsupported(format!("memory of a device of kind {kind} of DLPack"))),
        };
        let dtype = types::of_abi(tensor.dtype).ok_or_else(|| {
            Error::unsupported(format!("elements of {:?} of DLPack: no element type of a tensor", tensor.dtype))
        })?;
        let rank = usize::try_from(tensor.rank).ok().filter(|rank| *rank <= Layout::MAX_RANK);
        let rank =
            rank.ok_or_else(|| wrong(format!("{} axes, but a tensor has 0 to {}", tensor.rank, Layout::MAX_RANK)))?;
        // SAFETY: the caller's promise.
        let (extents, strides) = unsafe { (numbers(tensor.extents, rank), numbers(tensor.strides, rank)) };
        let extents: Option<Vec<usize>> =
            extents.ok_or_else(|| wrong("no extents"))?.iter().map(|n| usize::try_from(*n).ok()).collect();
        let extents = extents.ok_or_else(|| wrong("an extent is negative"))?;
        Self::at(memory, tensor, dtype, &extents, strides)
    }

    fn at(memory: Memory, tensor: &Tensor, dtype: DType, extents: &[usize], strides: Option<&[i64]>) -> Result<Self> {
        let refused = |error: Error| match error {
            Error::InvalidArgument { argument, reason, .. } => wrong(format!("{argument}: {reason}")),
            other => other,
        };
        let layout = match strides {
            None => Layout::row_major(extents).map_err(refused)?,
            Some(strides) => {
                let strides: Option<Vec<isize>> = strides.iter().map(|n| isize::try_from(*n).ok()).collect();
                let strides = strides.ok_or_else(|| wrong("a stride overflows"))?;
                // How far the elements lie before the first one.
                let before = extents.iter().zip(&strides).filter(|(_, stride)| **stride < 0);
                let far = |(n, stride): (&usize, &isize)| n.saturating_sub(1).checked_mul(stride.unsigned_abs());
                let before = match extents.contains(&0) {
                    true => Some(0),
                    false => before.map(far).try_fold(0usize, |sum, far| sum.checked_add(far?)),
                };
                let before = before.ok_or_else(|| wrong("its strides overflow"))?;
                Layout::new(extents, strides, before).map_err(refused)?
            }
        };
        let (_, len) = layout.span();
        let before = (layout.offset() as u64).checked_mul(dtype.size() as u64);
        let first = (tensor.data.expose_provenance() as u64).checked_add(tensor.byte_offset);
        let address = first.zip(before).and_then(|(first, before)| first.checked_sub(before));
        let address = match len {
            0 => 0,
            _ if tensor.data.is_null() => return Err(wrong(format!("its data is null, for extents {extents:?}"))),
            _ => address.ok_or_else(|| wrong("its data, offset and strides overflow an address"))?,
        };
        let place = Place { address, len, dtype };
        place.check().map_err(refused)?;
        Ok(Seen { memory, place, layout })
    }
}

/// # Safety
/// `at` is null, or points to `count` numbers that live as long as the caller uses them.
unsafe fn numbers<'a>(at: *const i64, count: usize) -> Option<&'a [i64]> {
    match (count, at.is_null()) {
        (0, _) => Some(&[]),
        (_, true) => None,
        // SAFETY: the caller's promise; the ABI aligns them.
        _ => Some(unsafe { std::slice::from_raw_parts(at, count) }),
    }
}
