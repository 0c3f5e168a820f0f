//! What a device asks of one of its libraries, wherever its context lives.

use crate::core::error::{Error, Result};
use crate::device::Device;
#[cfg(feature = "cuda")]
use crate::engines::library::{answer_here, decode, encode};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Asks the library `name` of a device, and waits for the answer: for queries, never for work.
///
/// # Errors
/// [`Error::Unsupported`] for a host device, or if the answering process was built without the library; the library's
/// own errors.
pub(crate) fn ask<A: DeserializeOwned>(device: &Device, name: &str, question: &impl Serialize) -> Result<A> {
    let _ = (device, question);
    #[cfg(feature = "cuda")]
    {
        let question = encode(question)?;
        let epoch = device.asked();
        #[cfg(target_os = "linux")]
        if let Some(worker) = epoch.engine.as_worker().filter(|worker| worker.is_gpu()) {
            let what = crate::engines::worker::Question::Library { name: name.into(), question };
            return decode(&worker.ask::<Vec<u8>>(&epoch, what)?);
        }
        if let Some(engine) = epoch.engine.as_cuda() {
            return decode(&answer_here(&engine.core, &epoch, name, &question)?);
        }
    }
    Err(Error::unsupported(format!("{} does not use the library `{name}`", device.name())))
}

/// Creates the handles of the library `name` for every slot of `device`; if the library has no handles, only loads it.
/// A worker creates its own handles; a host device has none.
pub(crate) fn warm(device: &Device, name: &str) -> Result<()> {
    let _ = (device, name);
    #[cfg(feature = "cuda")]
    {
        let epoch = device.asked();
        #[cfg(target_os = "linux")]
        if let Some(worker) = epoch.engine.as_worker().filter(|worker| worker.is_gpu()) {
            return worker.ask(&epoch, crate::engines::worker::Question::Warm { library: name.into() });
        }
        if let Some(engine) = epoch.engine.as_cuda() {
            let entry = engine.core.code.libraries().iter().find(|entry| entry.name == name);
            let native = entry.and_then(|entry| entry.native.as_ref());
            let native = native.ok_or_else(|| Error::unsupported(format!("this build has no library `{name}`")))?;
            return (native.warm)(device.options(), &epoch);
        }
    }
    Ok(())
}
