//! cuFFT as a [`CudaLibrary`] of the core.

use super::functions::CufftFunctions;
use crate::engines::library::{Class, Code, CudaLibrary, LoadError, Placement, Refusal, Seat, Status};

/// cuFFT: it has no handles; the device prepares its plans.
pub(crate) struct Cufft;

impl CudaLibrary for Cufft {
    const NAME: &'static str = "fft";
    // Valid for both major versions of CUDA: 13 has given no number a new meaning.
    const STATUS: &'static [Status] = &[
        (1, "CUFFT_INVALID_PLAN", Class::Internal),
        (2, "CUFFT_ALLOC_FAILED", Class::OutOfMemory),
        (3, "CUFFT_INVALID_TYPE", Class::Unsupported),
        (4, "CUFFT_INVALID_VALUE", Class::InvalidValue),
        (5, "CUFFT_INTERNAL_ERROR", Class::Internal),
        (6, "CUFFT_EXEC_FAILED", Class::ExecutionFailed),
        (7, "CUFFT_SETUP_FAILED", Class::NotInitialized),
        (8, "CUFFT_INVALID_SIZE", Class::Unsupported),
        (9, "CUFFT_UNALIGNED_DATA", Class::InvalidValue),
        (10, "CUFFT_INCOMPLETE_PARAMETER_LIST", Class::InvalidValue),
        (11, "CUFFT_INVALID_DEVICE", Class::Internal),
        (12, "CUFFT_PARSE_ERROR", Class::Internal),
        (13, "CUFFT_NO_WORKSPACE", Class::Internal),
        (14, "CUFFT_NOT_IMPLEMENTED", Class::Unsupported),
        (15, "CUFFT_LICENSE_ERROR", Class::Internal),
        (16, "CUFFT_NOT_SUPPORTED", Class::Unsupported),
        (17, "CUFFT_MISSING_DEPENDENCY", Class::Unsupported),
        (18, "CUFFT_NVRTC_FAILURE", Class::Internal),
        (19, "CUFFT_NVJITLINK_FAILURE", Class::Internal),
        (20, "CUFFT_NVSHMEM_FAILURE", Class::Internal),
    ];
    const HANDLES: Placement = Placement::None;
    type Api = CufftFunctions;
    type Handle = ();
    type Shared = ();

    fn load() -> Result<&'static CufftFunctions, LoadError> {
        CufftFunctions::load()
    }

    fn create(_: &'static CufftFunctions, _: &mut Seat<'_>) -> Result<(), Refusal> {
        Ok(())
    }

    fn destroy(_: &'static CufftFunctions, (): ()) -> Code {
        Code(0)
    }
}
