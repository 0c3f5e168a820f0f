//! Functions that open a device.

use super::{Config, Device, Inner, Kind};
use crate::Result;

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

    /// Opens the first GPU that can be opened, else the CPU.
    ///
    /// # Errors
    /// Only when neither can be opened.
    pub fn best() -> Result<Self> {
        Self::builder().best().open()
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
        return crate::cuda::device_count();
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
            let gpus: Vec<Self> = (0..crate::cuda::device_count()).filter_map(|n| Self::cuda(n).ok()).collect();
            if !gpus.is_empty() {
                return Ok(gpus);
            }
        }
        Ok(vec![Self::host()?])
    }

    pub(super) fn open(mut config: Config) -> Result<Self> {
        if config.kind == Kind::Best {
            #[cfg(feature = "cuda")]
            for ordinal in 0..crate::cuda::device_count() {
                let attempt = Config { kind: Kind::Cuda(ordinal), ..config.clone() };
                if let Ok(inner) = Inner::open(attempt) {
                    return Ok(Self::from_inner(inner));
                }
            }
            config.kind = Kind::Host;
        }
        Inner::open(config).map(Self::from_inner)
    }
}
