//! cuDSS as a [`CudaLibrary`] of the core, and its handles.

use super::functions::{CudssFunctions, RawHandle};
use crate::core::element::DType;
use crate::core::sync::{Arc, Mutex};
use crate::engines::cuda::Native;
use crate::engines::library::{Class, Code, CudaLibrary, LoadError, Placement, Refusal, Seat, Status};
use cudarc::driver::sys::CUstream;

/// cuDSS: all its work goes to one stream, in order, since a system's memory is used by every call for it.
pub(crate) struct Cudss;

/// The handles, one for each value type: earlier releases mixed the kernels of two types on one handle up. Each is made when it
/// is first used, as it holds 66 MiB. The lock is held during each call of the library, which allows one at a time, and taken by
/// the destructors of systems.
#[derive(Default)]
pub(super) struct Handles(pub(super) Mutex<[Option<Native<RawHandle>>; 4]>);

/// What the slot has: the handles, and the stream of all their work.
pub(crate) struct Handle {
    pub(super) all: Arc<Handles>,
    pub(super) stream: Native<CUstream>,
}

/// The handle of a value type, of the current device. The caller has locked them.
pub(super) fn handle_of(
    held: &mut [Option<Native<RawHandle>>; 4],
    api: &'static CudssFunctions,
    stream: CUstream,
    dtype: DType,
) -> Result<RawHandle, Refusal> {
    let [single, double, complex, wide] = held;
    let place = match dtype {
        DType::F32 => single,
        DType::F64 => double,
        DType::C32 => complex,
        _ => wide,
    };
    if let Some(handle) = place {
        return Ok(handle.0);
    }
    let mut raw = RawHandle::NULL;
    // SAFETY: `raw` is valid for the write; the context is current.
    let made = unsafe { api.create(&mut raw) }.by("cudssCreate");
    // SAFETY: made above; the stream lives as long as its slot.
    let made = made.and_then(|()| unsafe { api.set_stream(raw, stream) }.by("cudssSetStream"));
    match made {
        Ok(()) => {
            *place = Some(Native(raw));
            Ok(raw)
        }
        Err(refusal) => {
            if raw != RawHandle::NULL {
                // SAFETY: written by the library, which wants it back even after a failure; not used yet.
                let _ = unsafe { api.destroy(raw) };
            }
            Err(refusal)
        }
    }
}

impl CudaLibrary for Cudss {
    const NAME: &'static str = "direct";
    const STATUS: &'static [Status] = &[
        (1, "CUDSS_STATUS_NOT_INITIALIZED", Class::NotInitialized),
        (2, "CUDSS_STATUS_ALLOC_FAILED", Class::OutOfMemory),
        (3, "CUDSS_STATUS_INVALID_VALUE", Class::InvalidValue),
        (4, "CUDSS_STATUS_NOT_SUPPORTED", Class::Unsupported),
        (5, "CUDSS_STATUS_EXECUTION_FAILED", Class::ExecutionFailed),
        (6, "CUDSS_STATUS_INTERNAL_ERROR", Class::Internal),
        (7, "CUDSS_STATUS_IR_FAILED", Class::Numerical),
    ];
    /// One: the work of a system is in order without events, and no handle changes its stream, whose workspace of cuBLAS is in use.
    const HANDLES: Placement = Placement::Pool(1);
    type Api = CudssFunctions;
    type Handle = Handle;
    type Shared = ();

    fn load() -> Result<&'static CudssFunctions, LoadError> {
        let api = CudssFunctions::load()?;
        let mut major = 0;
        // SAFETY: valid for the write of one number; it needs no device.
        let code = unsafe { api.property(0, &mut major) };
        if code.is_success() && major >= 1 { Ok(api) } else { Err(LoadError::old(api.library(), (1, 0))) }
    }

    fn create(_: &'static CudssFunctions, seat: &mut Seat<'_>) -> Result<Handle, Refusal> {
        Ok(Handle { all: Arc::default(), stream: Native(seat.stream()) })
    }

    fn destroy(api: &'static CudssFunctions, handle: Handle) -> Code {
        let held = std::mem::take(&mut *handle.all.0.lock());
        let mut first = Code::SUCCESS;
        for raw in held.into_iter().flatten() {
            // SAFETY: made by `handle_of`, destroyed once, idle; the systems that were made with it are gone.
            let code = unsafe { api.destroy(raw.0) };
            if first.is_success() {
                first = code;
            }
        }
        first
    }
}
