//! The worker's modules, by the client's numbers. Answers questions about them, and finds them for launches.

use super::memory::Memory;
#[cfg(feature = "cuda")]
use crate::core::arena::Lent;
#[cfg(feature = "cuda")]
use crate::core::buffer::DeviceBuffer;
#[cfg(feature = "cuda")]
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
#[cfg(feature = "cuda")]
use crate::core::launch::Found;
use crate::core::op::Incoming;
use crate::core::op::wire;
use crate::core::sync::{Arc, Mutex};
#[cfg(feature = "cuda")]
use crate::device::Device;
use crate::device::program::Arrived;
#[cfg(feature = "cuda")]
use crate::engines::cuda::{CudaEngine, Function, LoadedModule};
#[cfg(feature = "host")]
use crate::engines::ptx::PtxModule;
#[cfg(feature = "cuda")]
use crate::engines::worker::parent::Question;
use std::collections::HashMap;
#[cfg(feature = "cuda")]
use std::ffi::CString;

/// What is loaded. The order that frees a module's number removes it; launches in flight keep what they need of it.
#[derive(Default)]
pub(crate) struct Modules {
    /// Recorded programs, by their numbers.
    pub(super) programs: Mutex<HashMap<u64, Arc<Arrived>>>,
    /// PTX that a host device runs.
    #[cfg(feature = "host")]
    pub(super) texts: Mutex<HashMap<u64, Arc<PtxModule>>>,
    #[cfg(feature = "cuda")]
    all: Mutex<HashMap<u64, KeptModule>>,
}

#[cfg(feature = "cuda")]
struct KeptModule {
    module: Arc<LoadedModule>,
    /// The kernels that were asked for. A kernel's index here is its number.
    kernels: Vec<(CString, Arc<Function>)>,
}

impl Incoming<'_> {
    /// What is loaded in this worker.
    pub(crate) fn loaded(&self) -> Result<&Modules> {
        self.modules
            .downcast_ref()
            .ok_or_else(|| Error::library("internal error: the order came without what is loaded"))
    }
}

impl Modules {
    /// A recorded program, for an order that names it.
    pub(crate) fn program(&self, id: u64) -> Result<Arc<Arrived>> {
        let program = self.programs.lock().get(&id).cloned();
        program.ok_or_else(|| Error::library("an order names a recorded program that the worker does not have"))
    }

    /// PTX that a host device runs, for a launch that names it.
    #[cfg(feature = "host")]
    pub(crate) fn text(&self, id: u64) -> Result<Arc<PtxModule>> {
        let text = self.texts.lock().get(&id).cloned();
        text.ok_or_else(|| Error::library("an order names PTX that the worker does not have"))
    }

    /// The client's last handle was dropped. Replays in flight keep what they need of a program. A module is unloaded
    /// when nothing of it is in flight any more.
    pub(crate) fn remove(&self, id: u64) {
        let program = self.programs.lock().remove(&id);
        #[cfg(feature = "host")]
        let text = self.texts.lock().remove(&id);
        #[cfg(feature = "cuda")]
        let module = self.all.lock().remove(&id);
        drop(program); // each without a lock
        #[cfg(feature = "host")]
        drop(text);
        #[cfg(feature = "cuda")]
        drop(module);
    }
}

#[cfg(feature = "cuda")]
impl Modules {
    pub(super) fn answer(
        &self,
        (device, engine, epoch): (&Device, &CudaEngine, &Arc<Epoch>),
        memory: &Memory,
        what: Question,
        lent: Option<Lent>,
    ) -> Result<Vec<u8>> {
        let core = &engine.core;
        match what {
            Question::Load { id, is_text } => {
                let lent = lent.ok_or_else(|| Error::library("the image did not arrive"))?;
                let mut image = lent.bytes().to_vec();
                image.push(0); // PTX ends with a zero byte; a binary knows its own length
                let module = Arc::new(core.code.load_module(epoch, &image, is_text)?);
                memory.add(id, 0, Ok(DeviceBuffer::<u8>::token(epoch).region.clone()));
                self.all.lock().insert(id, KeptModule { module, kernels: Vec::new() });
                encoded(&())
            }
            Question::Kernel { id, name, with_parameters } => {
                let Some((number, function)) = self.find(engine, epoch, id, text(name)?)? else {
                    return encoded(&None::<Found>);
                };
                let parameters = if with_parameters { function.parameters(core, epoch)? } else { None };
                let (attributes, limits) = (function.attributes, function.limits);
                encoded(&Some(Found { number, attributes, limits, parameters }))
            }
            Question::Variable { id, name } => {
                let found = self.module(id)?.global(core, epoch, &text(name)?)?;
                encoded(&found.map(|(address, bytes)| (address, bytes as u64)))
            }
            Question::ActiveBlocks { id, kernel, threads, shared } => {
                encoded(&self.kernel(id, kernel)?.active_blocks(core, epoch, threads, shared)?)
            }
            Question::BestBlock { id, kernel, shared } => {
                encoded(&self.kernel(id, kernel)?.best_block(core, epoch, shared)?.0)
            }
            Question::Limits => encoded(&core.code.inside(epoch, || core.code.limits(epoch))?),
            Question::Version(library) => {
                crate::engines::worker::shared::first_use::begin(); // this may load the library
                encoded(&crate::device::library_here(library)?)
            }
            Question::Library { name, question } => {
                encoded(&crate::engines::library::answer_here(core, epoch, &name, &question)?)
            }
            Question::Warm { library } => crate::device::library::warm(device, &library).and_then(|()| encoded(&())),
            Question::Program { .. } | Question::Grow { .. } | Question::Shrink { .. } => {
                Err(Error::library("internal error: a question about something else was sent to the modules"))
            }
        }
    }

    /// A kernel and its number; `None` if the module has none of this name. Calls the driver with no lock held.
    fn find(
        &self,
        engine: &CudaEngine,
        epoch: &Arc<Epoch>,
        id: u64,
        name: CString,
    ) -> Result<Option<(u32, Arc<Function>)>> {
        let known = |held: &KeptModule| {
            let place = held.kernels.iter().position(|(known, _)| *known == name)?;
            Some((place as u32, held.kernels.get(place)?.1.clone()))
        };
        if let Some(known) = self.all.lock().get(&id).and_then(known) {
            return Ok(Some(known));
        }
        let module = self.module(id)?;
        let Some(function) = Function::find(&engine.core, epoch, &module, &name)? else { return Ok(None) };
        let mut all = self.all.lock();
        let held = all.get_mut(&id).ok_or_else(unknown)?;
        if let Some(known) = known(held) {
            return Ok(Some(known));
        }
        held.kernels.push((name, Arc::new(function)));
        Ok(held.kernels.last().map(|(_, function)| (held.kernels.len() as u32 - 1, function.clone())))
    }

    /// A module, for an order that names it.
    pub(crate) fn module(&self, id: u64) -> Result<Arc<LoadedModule>> {
        self.all.lock().get(&id).map(|held| held.module.clone()).ok_or_else(unknown)
    }

    /// A kernel, for a launch that names it.
    pub(crate) fn kernel(&self, id: u64, number: u32) -> Result<Arc<Function>> {
        let all = self.all.lock();
        let found = all.get(&id).and_then(|held| held.kernels.get(number as usize));
        found.map(|(_, function)| function.clone()).ok_or_else(unknown)
    }
}

#[cfg(feature = "cuda")]
fn unknown() -> Error {
    Error::library("an order names a module that the worker does not have")
}

pub(super) fn encoded(answer: &impl serde::Serialize) -> Result<Vec<u8>> {
    postcard::to_stdvec(answer).map_err(wire::garbled)
}

#[cfg(feature = "cuda")]
fn text(name: String) -> Result<CString> {
    CString::new(name).map_err(|_| Error::library("a name contains a zero byte"))
}
