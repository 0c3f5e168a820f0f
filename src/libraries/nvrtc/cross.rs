//! How a launch is sent to a worker: the code, the configuration, and the arguments as bytes. The message itself names
//! the buffers.

#[cfg(feature = "host")]
use super::interpreted::{Interpreted, Sent};
use super::launch::{KernelCode, Launch};
#[cfg(feature = "cuda")]
use super::loaded::Function;
use super::packed::{PackedArguments, Slot, Slots, words_of};
use super::static_twin::Function as TwinFunction;
use crate::core::error::{Error, Result};
use crate::core::launch::LaunchConfig;
use crate::core::op::{Incoming, Outgoing, Wire, garbled};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// The header before the arguments. Behind it: each argument, then the words of their values.
#[derive(Serialize, Deserialize)]
struct Head<'k> {
    kernel: &'k str,
    #[serde(borrow)]
    what: What<'k>,
    config: LaunchConfig,
    /// Bytes moved, for traces.
    moved: u64,
    overwritten: u64,
    slots: u32,
}

/// The code to launch.
#[derive(Serialize, Deserialize)]
enum What<'k> {
    /// A twin, by its distances in the executable.
    Twin(u64, u64),
    /// A kernel, by its number in the module.
    Kernel { module: u64, number: u32 },
    /// A kernel as its PTX.
    #[cfg(feature = "host")]
    #[serde(borrow)]
    Text(Sent<'k>),
    #[cfg(not(feature = "host"))]
    None(std::marker::PhantomData<&'k ()>),
}

pub(super) fn wire() -> Option<Wire<Launch>> {
    Some(Wire { encode, decode })
}

fn encode(launch: &Launch, out: &mut Outgoing) -> Result<()> {
    let Launch { kernel, code, config, packed, bytes } = launch;
    let what = match code {
        KernelCode::Twin(twin) => {
            let (static_twin, function) = twin.distances(kernel)?;
            What::Twin(static_twin, function)
        }
        #[cfg(feature = "host")]
        KernelCode::Interpreted(code) => What::Text(code.sent()?),
        #[cfg(feature = "cuda")]
        KernelCode::Cuda(Function::There(distant)) => {
            What::Kernel { module: distant.module.address, number: distant.number }
        }
        _ => return Err(Error::library("internal error: a kernel of this process cannot be sent to a worker")),
    };
    out.bytes.reserve(64 + 8 * packed.slots.len() + 8 * packed.words.len());
    let slots = packed.slots.len() as u32;
    out.value(&Head { kernel, what, config: *config, moved: *bytes, overwritten: packed.overwritten, slots })?;
    for slot in &*packed.slots {
        out.value(slot)?;
    }
    out.bytes.extend_from_slice(bytemuck::cast_slice(&packed.words));
    Ok(())
}

fn decode(incoming: Incoming<'_>) -> Result<Launch> {
    let (head, mut rest) = postcard::take_from_bytes::<Head<'_>>(incoming.bytes).map_err(garbled)?;
    let mut slots = SmallVec::new();
    for _ in 0..head.slots {
        let slot;
        (slot, rest) = postcard::take_from_bytes::<Slot>(rest).map_err(garbled)?;
        slots.push(slot);
    }
    // The driver reads a value in place.
    let reaches = |slot: &Slot| match slot {
        Slot::Value { at, len, .. } => 8 * *at as usize + *len as usize <= rest.len(),
        _ => true,
    };
    if !slots.iter().all(reaches) {
        return Err(Error::library("internal error: the message is truncated: an argument value is missing"));
    }
    let code = match head.what {
        What::Twin(static_twin, function) => {
            // SAFETY: the parent runs the same file (compared in the handshake) and took both distances from such a
            // function; otherwise the mark does not match.
            let found = unsafe { TwinFunction::found(static_twin, function) };
            KernelCode::StaticTwin(
                found
                    .ok_or_else(|| Error::library("internal error: the worker did not find the twin in its program"))?,
            )
        }
        #[cfg(feature = "cuda")]
        What::Kernel { module, number } => KernelCode::Cuda(Function::Here(incoming.loaded()?.kernel(module, number)?)),
        #[cfg(feature = "host")]
        What::Text(sent) => {
            let module = incoming.loaded()?.text(sent.text())?;
            KernelCode::Interpreted(Interpreted::arrived(&sent, module, incoming.epoch.meter.clone()))
        }
        #[cfg(not(feature = "host"))]
        What::None(_) => return Err(Error::unsupported("this worker has no host engine")),
        #[cfg(not(feature = "cuda"))]
        What::Kernel { .. } => return Err(Error::unsupported("this worker has no CUDA engine")),
    };
    let mut packed =
        PackedArguments { slots: Slots::Found(slots), overwritten: head.overwritten, ..PackedArguments::default() };
    packed.words.extend(words_of(rest));
    let kernel = crate::core::intern::name(head.kernel);
    Ok(Launch { kernel, code, config: head.config, packed, bytes: head.moved })
}
