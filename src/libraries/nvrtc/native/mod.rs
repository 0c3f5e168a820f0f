//! The bindings of NVRTC and nvJitLink: their functions, their status codes, one compilation and one link.
//!
//! Neither needs a device, so they have no handles and no state in an epoch.

mod compile;
mod functions;
mod link;
mod linker_functions;
mod status;

pub(super) use compile::{compile, header_folders, identity, unless_exiting};
pub(super) use link::{link, linker};

use crate::engines::library::{Code, CudaLibrary, LoadError, Placement, Refusal, Seat, Status};

/// NVRTC as a [`CudaLibrary`] of the core.
pub(crate) struct NvrtcLibrary;

impl CudaLibrary for NvrtcLibrary {
    const NAME: &'static str = "nvrtc";
    const STATUS: &'static [Status] = status::NVRTC;
    const HANDLES: Placement = Placement::None;
    type Api = functions::Nvrtc;
    type Handle = ();
    type Shared = ();

    fn load() -> Result<&'static Self::Api, LoadError> {
        functions::Nvrtc::load()
    }

    fn create(_: &'static Self::Api, _: &mut Seat<'_>) -> Result<(), Refusal> {
        Ok(())
    }

    fn destroy(_: &'static Self::Api, (): ()) -> Code {
        Code::SUCCESS
    }
}
