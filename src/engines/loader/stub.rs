//! Distinguishes a toolkit's stub of `libcuda` from a driver.
//!
//! A toolkit ships a `libcuda` to link against on machines without a driver. If the toolkit's `stubs` folder is on the
//! library path, the stub is found before the real one, and each of its functions returns 34.

use std::ffi::{c_int, c_uint};

use crate::system::shared_library::SharedLibrary;

/// `CUDA_ERROR_STUB_LIBRARY`.
const STUB_LIBRARY: i32 = 34;

/// Returns an error with the reason if `handle` is not a driver. Other results of `cuInit` are left to its caller.
pub(crate) fn refuse(handle: &SharedLibrary) -> Result<(), String> {
    type Version = unsafe extern "C" fn(*mut c_int) -> i32;
    type Init = unsafe extern "C" fn(c_uint) -> i32;
    // SAFETY: the signature is cuda.h's, with the status code as an integer; the handle is open during the call.
    let init = unsafe { handle.symbol::<Init>(c"cuInit") };
    let Some(init) = init else {
        return Err("it has no cuInit".to_owned());
    };
    let mut version = 0;
    // SAFETY: as above.
    let code = match unsafe { handle.symbol::<Version>(c"cuDriverGetVersion") } {
        // SAFETY: writes one int through a valid pointer; may be called before cuInit.
        Some(ask) => unsafe { ask(&raw mut version) },
        None => 0,
    };
    if code == STUB_LIBRARY {
        return Err(IS_STUB.to_owned());
    }
    // SAFETY: zero is the only value of the flags; the call may be made any number of times, from any thread.
    match unsafe { init(0) } {
        STUB_LIBRARY => Err(IS_STUB.to_owned()),
        _ => Ok(()),
    }
}

const IS_STUB: &str = "it is a toolkit's stub, not a driver (it returns 34, CUDA_ERROR_STUB_LIBRARY)";
