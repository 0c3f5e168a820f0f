//! The versions of the libraries that a device uses.

use super::Device;
use crate::core::error::Result;
use crate::device::engine::Engine;
use crate::engines::cuda::api::LoadError;
use crate::engines::loader::{self, Library, Version};
#[cfg(target_os = "linux")]
use crate::engines::worker::Question;

/// Libraries.
impl Device {
    /// The version of a CUDA library that the device uses, as the library itself reports it.
    ///
    /// Loads the library if nothing has used it yet. An isolated GPU uses the libraries of its worker process, which
    /// may find other files than this process would. NVRTC and nvJitLink need no device and run in this process for
    /// every kind of device, so their answer is the same for all devices.
    ///
    /// A host device, isolated or not, returns `None` for all other libraries: it does not use them, what it computes
    /// with is compiled into the program. Also `None` for a library that does not report its version (NVML, NVTX).
    ///
    /// # Errors
    /// [`Error::LibraryMissing`](crate::Error::LibraryMissing) with every place that was searched, when the library
    /// cannot be found, or this build lacks its feature; the device's own error, when it is lost or the worker does not
    /// answer.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Error, loader::Library};
    /// let device = Device::host()?;
    /// assert_eq!(device.library_version(Library::Cublas)?, None); // the host needs no cuBLAS
    /// match device.library_version(Library::Nvrtc) {
    ///     Ok(Some(version)) => println!("kernels are compiled by NVRTC {version}"),
    ///     Ok(None) => println!("this NVRTC does not tell its version"),
    ///     Err(Error::LibraryMissing { help, .. }) => println!("no kernels can be compiled here: {help}"),
    ///     Err(error) => return Err(error),
    /// }
    /// # Ok(()) }
    /// ```
    pub fn library_version(&self, library: Library) -> Result<Option<Version>> {
        if library.needs_no_device() {
            return here(library);
        }
        let epoch = self.asked();
        epoch.admit()?;
        match Engine::for_epoch(&epoch) {
            #[cfg(feature = "host")]
            Engine::Host(_) => Ok(None),
            Engine::Cuda(_) => here(library),
            #[cfg(target_os = "linux")]
            Engine::Worker(engine) if engine.is_gpu() => engine.ask(&epoch, Question::Version(library)),
            #[cfg(target_os = "linux")]
            Engine::Worker(_) => Ok(None),
            Engine::Tape(_) => Ok(None),
        }
        .map_err(|error| self.refusal(&epoch, error))
    }
}

/// The version of the library in this process.
pub(crate) fn here(library: Library) -> Result<Option<Version>> {
    Ok(Version::query(loader::open(library).map_err(LoadError::from)?))
}
