//! A contraction of two tensors as one operation, which cuTENSOR computes on a GPU.
//!
//! `shape.rs` says what it is, `op.rs` is the operation, `host.rs` its loops on the CPU: programs that were recorded on a GPU run
//! there. The library's calls are in `native`. A plan has this operation only where the library was found to take it: see
//! [`Probe`].

#[cfg(feature = "host")]
mod host;
mod op;
mod shape;

pub(super) use op::{Contraction, Probe};
#[cfg(feature = "cuda")]
pub(super) use shape::Side;
pub(super) use shape::{Shape, has};

use crate::core::error::{Error, Result};
use crate::device::Device;

/// Whether a GPU's process has the library.
///
/// # Errors
/// [`Error::LibraryMissing`] with the places that were searched.
pub(super) fn is_there(device: &Device) -> Result<()> {
    #[cfg(feature = "cuda")]
    {
        use crate::engines::loader::{Library, look};
        // A device that records asks no library: the file is looked for.
        match device.library_version(Library::Cutensor)? {
            Some(version) if version.major < 2 => {
                Err(Error::unsupported(format!("cuTENSOR {version}: 2.0 is the oldest that is called")))
            }
            Some(_) => Ok(()),
            None => Ok(look(&[Library::Cutensor]).map_err(crate::engines::library::LoadError::from)?),
        }
    }
    #[cfg(not(feature = "cuda"))]
    {
        let _ = device;
        Err(Error::unsupported("this build has no CUDA engine (feature `cuda`)"))
    }
}
