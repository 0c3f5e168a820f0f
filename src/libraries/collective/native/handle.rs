//! NCCL as a [`CudaLibrary`] of the core.

use super::functions::NcclFunctions;
use crate::engines::library::{Class, Code, CudaLibrary, LoadError, Placement, Refusal, Seat, Status};

/// NCCL. Its communicators belong to several devices, so no stream has one ([`Group`](super::Group)); but each device has one
/// stream that all collectives of this process use, in one order.
pub(crate) struct Nccl;

pub(super) const STATUS: &[Status] = &[
    (1, "ncclUnhandledCudaError", Class::ExecutionFailed),
    (2, "ncclSystemError", Class::Internal),
    (3, "ncclInternalError", Class::Internal),
    (4, "ncclInvalidArgument", Class::InvalidValue),
    (5, "ncclInvalidUsage", Class::InvalidValue),
    (6, "ncclRemoteError", Class::Internal),
    (7, "ncclInProgress", Class::Internal),
    (8, "ncclTimeout", Class::Internal),
];

impl CudaLibrary for Nccl {
    const NAME: &'static str = "collective";
    const STATUS: &'static [Status] = STATUS;
    const HANDLES: Placement = Placement::Pool(1);
    type Api = NcclFunctions;
    type Handle = ();
    type Shared = ();

    fn load() -> Result<&'static NcclFunctions, LoadError> {
        NcclFunctions::load()
    }

    fn create(_: &'static NcclFunctions, _: &mut Seat<'_>) -> Result<(), Refusal> {
        Ok(())
    }

    fn destroy(_: &'static NcclFunctions, (): ()) -> Code {
        Code(0)
    }
}
