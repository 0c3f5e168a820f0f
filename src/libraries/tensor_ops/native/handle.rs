//! cuTENSOR as a [`CudaLibrary`] of the core, and the handle of an epoch.

use super::functions::{CutensorFunctions, RawHandle};
use crate::core::sync::{Arc, Mutex};
use crate::engines::cuda::Native;
use crate::engines::library::{Class, Code, CudaLibrary, LoadError, Placement, Refusal, Seat, Status};
use std::sync::Weak;

/// cuTENSOR: its slots have no handles; the device prepares its plans.
pub(crate) struct Cutensor;

/// A handle, which is destroyed with the last plan that was made with it.
pub(super) struct Handle(pub(super) Native<RawHandle>);

/// The handle that new plans are made with.
#[derive(Default)]
pub(crate) struct Shared(Mutex<Weak<Handle>>);

impl Shared {
    /// The handle, made if there is none. The context is current.
    pub(super) fn handle(&self, api: &'static CutensorFunctions) -> Result<Arc<Handle>, Refusal> {
        // Held while a handle is made: builders are helper threads, which wait for such things.
        let mut known = self.0.lock();
        if let Some(handle) = known.upgrade() {
            return Ok(handle);
        }
        let mut raw = RawHandle::NULL;
        // SAFETY: `raw` is valid for the write; the context is current.
        unsafe { api.create(&mut raw) }.by("cutensorCreate")?;
        let handle = Arc::new(Handle(Native(raw)));
        *known = Arc::downgrade(&handle);
        Ok(handle)
    }
}

impl Handle {
    /// Gives up a share; the last one destroys the handle. The context is current.
    pub(super) fn leave(handle: Arc<Self>, api: &'static CutensorFunctions) -> Code {
        match Arc::into_inner(handle) {
            // SAFETY: made by `create`, and nobody has it any more.
            Some(Handle(Native(raw))) => unsafe { api.destroy(raw) },
            None => Code::SUCCESS,
        }
    }
}

impl CudaLibrary for Cutensor {
    const NAME: &'static str = "tensor";
    const STATUS: &'static [Status] = &[
        (1, "CUTENSOR_STATUS_NOT_INITIALIZED", Class::NotInitialized),
        (3, "CUTENSOR_STATUS_ALLOC_FAILED", Class::OutOfMemory),
        (7, "CUTENSOR_STATUS_INVALID_VALUE", Class::InvalidValue),
        (8, "CUTENSOR_STATUS_ARCH_MISMATCH", Class::Unsupported),
        (11, "CUTENSOR_STATUS_MAPPING_ERROR", Class::Internal),
        (13, "CUTENSOR_STATUS_EXECUTION_FAILED", Class::ExecutionFailed),
        (14, "CUTENSOR_STATUS_INTERNAL_ERROR", Class::Internal),
        (15, "CUTENSOR_STATUS_NOT_SUPPORTED", Class::Unsupported),
        (16, "CUTENSOR_STATUS_LICENSE_ERROR", Class::Internal),
        (17, "CUTENSOR_STATUS_CUBLAS_ERROR", Class::Internal),
        (18, "CUTENSOR_STATUS_CUDA_ERROR", Class::Internal),
        (19, "CUTENSOR_STATUS_INSUFFICIENT_WORKSPACE", Class::Internal),
        (20, "CUTENSOR_STATUS_INSUFFICIENT_DRIVER", Class::Unsupported),
        (21, "CUTENSOR_STATUS_IO_ERROR", Class::Internal),
    ];
    const HANDLES: Placement = Placement::None;
    type Api = CutensorFunctions;
    type Handle = ();
    type Shared = Shared;

    fn load() -> Result<&'static CutensorFunctions, LoadError> {
        CutensorFunctions::load()
    }

    fn create(_: &'static CutensorFunctions, _: &mut Seat<'_>) -> Result<(), Refusal> {
        Ok(())
    }

    fn destroy(_: &'static CutensorFunctions, (): ()) -> Code {
        Code(0)
    }
}
