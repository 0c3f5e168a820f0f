//! The ways to a device.

use super::{Config, Device, Inner, Kind};
use crate::Result;

impl Device {
    /// The CPU.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) when this build has no host engine; a thread pool that cannot be started.
    pub fn host() -> Result<Self> {
        Self::builder().host().open()
    }

    /// The GPU with this ordinal.
    ///
    /// # Errors
    /// [`Error::LibraryMissing`](crate::Error::LibraryMissing) when there is no driver;
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) when there is no such GPU; the driver's own errors.
    pub fn cuda(ordinal: usize) -> Result<Self> {
        Self::builder().cuda(ordinal).open()
    }

    /// The first GPU that opens, else the CPU.
    ///
    /// # Errors
    /// Only when there is neither.
    pub fn best() -> Result<Self> {
        Self::builder().best().open()
    }

    /// The device that the environment names: `WINDLASS_DEVICE=host`, `cuda`, `cuda:N` or `best`, also with `:isolated` or
    /// `:isolated:standby` behind it; [`best`](Self::best) when it is not set.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for any other text; else as the device named.
    pub fn from_env() -> Result<Self> {
        Self::builder().from_env()?.open()
    }

    /// The device that `text` names, as [`DeviceBuilder::named`](crate::DeviceBuilder::named) has it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for any other text; else as the device named.
    pub fn named(text: &str) -> Result<Self> {
        Self::builder().named(text)?.open()
    }

    /// How many GPUs the driver shows to this process: 0 also where there is no driver.
    pub fn cuda_count() -> usize {
        #[cfg(feature = "cuda")]
        return crate::cuda::device_count();
        #[cfg(not(feature = "cuda"))]
        0
    }

    /// Every GPU that opens; the CPU alone where there is none. Why one does not, [`cuda`](Self::cuda) says.
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
