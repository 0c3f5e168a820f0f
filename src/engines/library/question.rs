//! Questions to a library: plain data in, plain data out, answered in the process where the context lives. In this
//! process that is a call. For a GPU in a worker the question is sent there, under the library's name; the code in
//! between does not know its contents.

#[cfg(feature = "cuda")]
use super::contract::{CudaLibrary, Listed};
#[cfg(feature = "cuda")]
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
#[cfg(feature = "cuda")]
use crate::core::sync::Arc;
use crate::device::Device;
#[cfg(feature = "cuda")]
use crate::engines::cuda::Core;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What a library has to answer a question.
#[cfg(feature = "cuda")]
pub(crate) struct Site<'e, L: CudaLibrary> {
    /// The state that the slots of the epoch share.
    pub(crate) shared: &'e L::Shared,
}

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

/// Answers a question to the library `name` in this process.
#[cfg(feature = "cuda")]
pub(crate) fn answer_here(core: &Arc<Core>, epoch: &Arc<Epoch>, name: &str, question: &[u8]) -> Result<Vec<u8>> {
    let entry = core.libraries.iter().find(|entry| entry.name == name);
    let native = entry.and_then(|entry| entry.native.as_ref());
    let native = native.ok_or_else(|| Error::unsupported(format!("this build has no library `{name}`")))?;
    epoch.admit()?;
    (native.ask)(core, question)
}

#[cfg(feature = "cuda")]
pub(super) fn answer<L: Listed>(core: &Core, question: &[u8]) -> Result<Vec<u8>> {
    L::answer(&Site { shared: core.shared::<L>()? }, question)
}

/// Serializes a question or an answer.
#[cfg(feature = "cuda")]
pub(crate) fn encode(data: &impl Serialize) -> Result<Vec<u8>> {
    postcard::to_stdvec(data).map_err(|error| {
        Error::library(format!("the query to the library, or its result, could not be serialised: {error}"))
    })
}

/// The reverse of [`encode`].
#[cfg(feature = "cuda")]
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    postcard::from_bytes(bytes)
        .map_err(|error| Error::library(format!("the query to the library, or its result, could not be read: {error}")))
}
