//! Functions that open a device.

use super::{Config, Device, Inner};
use crate::core::error::Result;
use crate::core::sync::Arc;
use crate::engines::config::Kind;
use crate::engines::loader::Library;

/// Opening a device.
impl Device {
    /// Opens the CPU.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) when this build has no host engine; a thread pool that cannot
    /// be started.
    pub fn host() -> Result<Self> {
        Self::builder().host().open()
    }

    /// Opens the GPU with this ordinal.
    ///
    /// # Errors
    /// [`Error::LibraryMissing`](crate::Error::LibraryMissing) when there is no driver;
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) when there is no such GPU; the driver's own errors.
    pub fn cuda(ordinal: usize) -> Result<Self> {
        Self::builder().cuda(ordinal).open()
    }

    /// Opens the first GPU that can be opened and has cuBLAS, else the CPU.
    ///
    /// It looks for the files of the library, and loads none. What it passes over, and why, is in
    /// [`DeviceInfo::passed_over`](crate::DeviceInfo::passed_over); if it falls back to the CPU, the feature `tracing` also
    /// reports a warning. (A library that only the run path of the program itself leads to is not seen.) [`cuda`](Self::cuda)
    /// opens a GPU whatever is missing: copies, fills and your own kernels need no library.
    ///
    /// # Errors
    /// Only when neither can be opened.
    ///
    /// ```
    /// # fn main() -> windlass::Result<()> {
    /// let device = windlass::Device::best()?;
    /// println!("on {}", device.name());
    /// for why in &device.info().passed_over {
    ///     println!("  {why}"); // "no GPU: the CUDA driver is missing: install the NVIDIA driver; .."
    /// }
    /// # Ok(()) }
    /// ```
    pub fn best() -> Result<Self> {
        Self::builder().best().open()
    }

    /// As [`best`](Self::best), for a program that needs these libraries: the GPUs are passed over if one of their files is
    /// not found. With an empty list any GPU will do.
    ///
    /// # Errors
    /// As [`best`](Self::best).
    ///
    /// ```
    /// # fn main() -> windlass::Result<()> {
    /// use windlass::{Device, Library};
    /// let device = Device::best_with(&[Library::Cublas, Library::Cusolver, Library::Nvrtc])?;
    /// # Ok(()) }
    /// ```
    pub fn best_with(libraries: &[Library]) -> Result<Self> {
        Self::builder().best_with(libraries).open()
    }

    /// Opens the device that the environment variable `WINDLASS_DEVICE` names: `host`, `cuda`, `cuda:N` or `best`,
    /// optionally followed by `:isolated` or `:isolated:standby`. [`best`](Self::best) when it is not set.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for any other text; otherwise the errors of opening
    /// the named device.
    pub fn from_env() -> Result<Self> {
        Self::builder().from_env()?.open()
    }

    /// Opens the device that `text` names; see [`DeviceBuilder::named`](crate::DeviceBuilder::named).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for any other text; otherwise the errors of opening
    /// the named device.
    pub fn named(text: &str) -> Result<Self> {
        Self::builder().named(text)?.open()
    }

    /// The number of GPUs that the driver shows to this process; 0 when there is no driver.
    pub fn cuda_count() -> usize {
        #[cfg(feature = "cuda")]
        return crate::engines::cuda::device_count();
        #[cfg(not(feature = "cuda"))]
        0
    }

    /// Opens every GPU that can be opened, or the CPU alone if there is none. For a GPU that is missing here, the error
    /// of [`cuda`](Self::cuda) tells why.
    ///
    /// # Errors
    /// As [`best`](Self::best).
    pub fn all() -> Result<Vec<Self>> {
        #[cfg(feature = "cuda")]
        {
            let gpus: Vec<Self> =
                (0..crate::engines::cuda::device_count()).filter_map(|n| Self::cuda(n).ok()).collect();
            if !gpus.is_empty() {
                return Ok(gpus);
            }
        }
        Ok(vec![Self::host()?])
    }

    pub(super) fn open(mut config: Config) -> Result<Self> {
        if config.engine.kind == Kind::Best {
            match first_gpu(&mut config) {
                Some(inner) => return Ok(Self::from_inner(inner)),
                None => config.engine.kind = Kind::Host,
            }
        }
        let inner = Inner::open(config)?;
        #[cfg(feature = "tracing")]
        crate::core::trace::tell_fallback(&inner.label, &inner.config.passed_over);
        Ok(Self::from_inner(inner))
    }
}

/// Opens the first GPU that has what is needed and can be opened. Tells the configuration what was passed over.
#[cfg(feature = "cuda")]
fn first_gpu(config: &mut Config) -> Option<Arc<Inner>> {
    let count = match crate::engines::cuda::known_count() {
        Ok(count) => count,
        Err(error) => {
            config.passed_over.push(format!("no GPU: {error}"));
            return None;
        }
    };
    if let Err(missing) = crate::engines::loader::look(&config.needs) {
        let (library, help) = (missing.library, missing.help);
        let gpus = if count == 1 { "the GPU was" } else { "the GPUs were" };
        config.passed_over.push(format!("{gpus} passed over: {library} is not found; {help}"));
        return None;
    }
    for ordinal in 0..count {
        let mut attempt = config.clone();
        attempt.engine.kind = Kind::Cuda(ordinal);
        match Inner::open(attempt) {
            Ok(inner) => return Some(inner),
            Err(error) => config.passed_over.push(format!("cuda:{ordinal} cannot be opened: {error}")),
        }
    }
    None
}

#[cfg(not(feature = "cuda"))]
fn first_gpu(config: &mut Config) -> Option<Arc<Inner>> {
    config.passed_over.push("no GPU: this build has no CUDA engine (feature `cuda`)".into());
    None
}
