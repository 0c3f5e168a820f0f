//! Which libraries a device works with.

use super::Device;
use crate::Result;
use crate::cuda::api::LoadError;
use crate::engine::Engine;
use crate::loader::{self, Library, Version};
#[cfg(target_os = "linux")]
use crate::worker::Question;

impl Device {
    /// The version of a library of CUDA that the device works with, as the library itself tells it.
    ///
    /// Loads the library where nothing has used it yet. An isolated GPU's libraries are those of its worker process, which may
    /// find other files than this process would. NVRTC
    /// and nvJitLink need no device and work in this process for every kind of device, so of them the answer is the same
    /// for all.
    ///
    /// `None` from the host, isolated or not, which works without the others: what it computes with is compiled into the
    /// program. `None` also of a library that does not tell its version (NVML, NVTX).
    ///
    /// # Errors
    /// [`Error::LibraryMissing`](crate::Error::LibraryMissing) with every place that was searched, when the library cannot
    /// be found, or this build lacks its feature; the device's own error, when it is lost or the worker does not answer.
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
        match &epoch.engine {
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

/// That of the library in this process.
pub(crate) fn here(library: Library) -> Result<Option<Version>> {
    Ok(Version::of(loader::open(library).map_err(LoadError::from)?))
}
