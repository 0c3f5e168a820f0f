//! Systems without worker processes: what the rest names of them.

use crate::core::error::Result;

/// Worker processes exist on Linux only.
pub(crate) enum Relay {}

impl Relay {
    #[cfg(feature = "host")]
    pub(crate) fn begin(&self) -> Result<()> {
        match *self {}
    }

    #[cfg(feature = "cuda")]
    pub(crate) fn inject_fault(&self) -> Result<()> {
        match *self {}
    }
}

/// No watchdog counts it.
#[cfg(feature = "cuda")]
pub(crate) fn first_use() {}
