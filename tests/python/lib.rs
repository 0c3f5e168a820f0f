//! What `dlpack.py` calls by `ctypes`: a device, tensors to and from managed tensors, and the number of allocations.
#![allow(clippy::missing_safety_doc, missing_docs, unreachable_pub, reason = "a library for one script")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_void};
use std::ptr::{NonNull, null, null_mut};
use windlass::dlpack::{Dlpack, DlpackForm};
use windlass::external::ForeignStream;
use windlass::{Device, Error, TensorRef, tensor::AnyTensor};

thread_local! { static LAST: RefCell<CString> = RefCell::default(); }

/// The value at an address of its own; null after an error, which is kept.
fn given<T>(answer: Result<T, impl Into<Error>>) -> *mut T {
    match answer {
        Ok(value) => Box::into_raw(Box::new(value)),
        Err(error) => {
            let text = CString::new(error.into().to_string()).unwrap_or_default();
            LAST.with(|last| *last.borrow_mut() = text);
            null_mut()
        }
    }
}

/// `-1`: no stream.
unsafe fn stream(of: isize) -> ForeignStream {
    match of {
        -1 => ForeignStream::Idle,
        // SAFETY: the script passes streams of PyTorch and CuPy, which live as long as the process.
        of => unsafe { ForeignStream::cuda(std::ptr::with_exposed_provenance_mut(of as usize)) },
    }
}

fn form(versioned: bool) -> DlpackForm {
    if versioned { DlpackForm::Versioned } else { DlpackForm::Legacy }
}

#[unsafe(no_mangle)]
pub extern "C" fn wl_error() -> *const c_char {
    LAST.with(|last| last.borrow().as_ptr())
}

/// `-1`: the CPU.
#[unsafe(no_mangle)]
pub extern "C" fn wl_open(ordinal: i32) -> *mut Device {
    given(if ordinal < 0 { Device::host() } else { Device::cuda(ordinal as usize) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_close(device: *mut Device) {
    // SAFETY: of `wl_open`, and not closed yet.
    drop(unsafe { Box::from_raw(device) });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_allocations(device: *const Device) -> u64 {
    // SAFETY: of `wl_open`.
    unsafe { &*device }.stats().allocations
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_take(device: *const Device, at: *mut c_void, versioned: bool, of: isize) -> *mut AnyTensor {
    // SAFETY: the script hands over the pointer of a capsule, which it renames.
    let (device, dlpack) =
        unsafe { (&*device, Dlpack::from_raw(form(versioned), NonNull::new(at).expect("a pointer"))) };
    // SAFETY: as in `stream`.
    let answer = device.tensor_of_dlpack(dlpack, unsafe { stream(of) });
    if let Err(rejected) = answer {
        let (error, back) = (rejected.error, rejected.back);
        // It stays the script's.
        back.map(Dlpack::into_raw);
        return given::<AnyTensor>(Err(error));
    }
    given(answer)
}

/// A read-only view of f32.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_share(device: *const Device, at: *mut c_void, of: isize) -> *mut TensorRef<'static, f32> {
    // SAFETY: as in `wl_take`.
    let (device, dlpack) =
        unsafe { (&*device, Dlpack::from_raw(DlpackForm::Versioned, NonNull::new(at).expect("a pointer"))) };
    // SAFETY: as in `stream`.
    given(device.shared_of_dlpack::<f32>(dlpack, unsafe { stream(of) }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_drop_shared(view: *mut TensorRef<'static, f32>) {
    // SAFETY: of `wl_share`, once.
    drop(unsafe { Box::from_raw(view) });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_give_shared(
    device: *const Device,
    view: *const TensorRef<'static, f32>,
    of: isize,
) -> *const c_void {
    // SAFETY: of `wl_open` and `wl_share`.
    let answer = unsafe { (&*device).dlpack_shared(&*view, stream(of)) };
    answer.map_or_else(
        |error| {
            given::<()>(Err(error));
            null()
        },
        |dlpack| dlpack.into_raw().as_ptr(),
    )
}

/// The tensor's bytes, row by row.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_bytes(device: *const Device, tensor: *const AnyTensor, out: *mut u8, len: usize) -> i32 {
    // SAFETY: of `wl_open` and `wl_take`.
    let answer = unsafe { (&*device).bytes_any(&*tensor) };
    match answer {
        Ok(bytes) if bytes.len() == len => {
            // SAFETY: the script has made `out` this long.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), out, len) };
            0
        }
        Ok(bytes) => bytes.len() as i32 + 1,
        Err(error) => {
            given::<()>(Err(error));
            -1
        }
    }
}

/// Doubles a vector of f32 that lies without gaps, many times, without waiting.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_double(device: *const Device, tensor: *mut AnyTensor, times: u32) -> *mut AnyTensor {
    // SAFETY: of `wl_open` and `wl_take`; the tensor is taken.
    let (device, tensor) = unsafe { (&*device, *Box::from_raw(tensor)) };
    let twice = || -> Result<AnyTensor, Error> {
        let tensor = tensor.downcast::<f32>().map_err(|_| Error::invalid("tensor", "not f32"))?;
        let layout = tensor.layout().clone();
        let mut buffer = tensor.into_buffer();
        for _ in 0..times {
            buffer = device.blas().scal(2.0, buffer)?.into_buffer();
        }
        Ok(AnyTensor::from_buffer(buffer, layout)?)
    };
    given(twice())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_drop(tensor: *mut AnyTensor) {
    // SAFETY: of this library, once.
    drop(unsafe { Box::from_raw(tensor) });
}

/// Hands the tensor over: the pointer of a capsule. It is taken in any case.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_give(
    device: *const Device,
    tensor: *mut AnyTensor,
    versioned: bool,
    of: isize,
) -> *const c_void {
    // SAFETY: of this library; the tensor is taken.
    let (device, tensor) = unsafe { (&*device, *Box::from_raw(tensor)) };
    // SAFETY: as in `stream`.
    match device.dlpack(tensor, form(versioned), unsafe { stream(of) }) {
        Ok(dlpack) => dlpack.into_raw().as_ptr(),
        Err(rejected) => {
            given::<()>(Err(rejected));
            null()
        }
    }
}
