//! Questions to a library: plain data in, plain data out, answered in the process where the context lives. In this
//! process that is a call. For a GPU in a worker the question is sent there, under the library's name; the code in
//! between does not know its contents.

use super::contract::{CudaLibrary, Listed, unlisted};
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::sync::Arc;
use crate::engines::cuda::Core;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What a library has to answer a question.
pub(crate) struct Site<'e, L: CudaLibrary> {
    /// The state that the slots of the epoch share.
    pub(crate) shared: &'e L::Shared,
    /// The engine of the epoch.
    #[allow(dead_code, reason = "for libraries that make plans for a question")]
    pub(crate) core: &'e Core,
}

/// Answers a question to the library `name` in this process.
pub(crate) fn answer_here(core: &Arc<Core>, epoch: &Arc<Epoch>, name: &str, question: &[u8]) -> Result<Vec<u8>> {
    let entry = core.code.libraries().iter().find(|entry| entry.name == name);
    let native = entry.and_then(|entry| entry.native.as_ref());
    let native = native.ok_or_else(|| Error::unsupported(format!("this build has no library `{name}`")))?;
    epoch.admit()?;
    (native.ask)(epoch, question)
}

pub(crate) fn answer<L: Listed>(epoch: &Epoch, question: &[u8]) -> Result<Vec<u8>> {
    let core = &epoch.engine.as_cuda().ok_or_else(unlisted)?.core;
    L::answer(&Site { shared: core.shared::<L>()?, core }, question)
}

/// Serializes a question or an answer.
pub(crate) fn encode(data: &impl Serialize) -> Result<Vec<u8>> {
    postcard::to_stdvec(data).map_err(|error| {
        Error::library(format!("the query to the library, or its result, could not be serialised: {error}"))
    })
}

/// The reverse of [`encode`].
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    postcard::from_bytes(bytes)
        .map_err(|error| Error::library(format!("the query to the library, or its result, could not be read: {error}")))
}
