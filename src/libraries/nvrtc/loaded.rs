//! A module's code on a GPU: loaded in this process, or in a worker's.
//!
//! In a worker a module is a number (`worker/ask.rs`), and a kernel a number in it. What launches are checked against is
//! asked once, when the kernel is found; so a launch itself waits for no answer.

use super::{Image, ImageKind};
#[cfg(target_os = "linux")]
use crate::buffer::Allocation;
use crate::cuda::LoadedModule;
use crate::engine::Epoch;
use crate::launch::Parameter;
use crate::launch::{DeviceLimits, KernelAttributes};
use crate::sync::Arc;
#[cfg(target_os = "linux")]
use crate::sync::Mutex;
#[cfg(target_os = "linux")]
use crate::worker::{Question, WorkerEngine};
use crate::{DeviceBuffer, Error, Result};
use std::ffi::CString;

/// A module. Holds no epoch, so that work in flight may hold it.
#[derive(Clone)]
pub(super) enum Loaded {
    Here(Arc<LoadedModule>),
    /// Unloaded with the allocation.
    #[cfg(target_os = "linux")]
    There(Arc<Allocation>),
}

/// A kernel of it. Holds no epoch either.
#[derive(Clone)]
pub(super) enum Function {
    Here(Arc<crate::cuda::Function>),
    #[cfg(target_os = "linux")]
    There(Arc<Distant>),
}

/// A kernel in a worker.
#[cfg(target_os = "linux")]
pub(super) struct Distant {
    pub(super) module: Arc<Allocation>,
    pub(super) number: u32,
    attributes: KernelAttributes,
    limits: DeviceLimits,
    /// Blocks that a multiprocessor holds, of so many threads with so much shared memory: asked once each, since a
    /// cooperative launch is checked against it.
    blocks: Mutex<Vec<((u32, u32), u32)>>,
}

/// The worker, when it serves a GPU.
#[cfg(target_os = "linux")]
pub(super) fn distant(epoch: &Epoch) -> Option<&WorkerEngine> {
    epoch.engine.as_worker().filter(|engine| engine.is_gpu())
}

fn elsewhere() -> Error {
    Error::library("a module of another engine")
}

fn text(name: &str) -> Result<CString> {
    CString::new(name).map_err(|_| Error::invalid("name", format!("{name:?} holds a zero byte")))
}

/// The device's limits; `None` where it is no GPU.
pub(super) fn limits(epoch: &Arc<Epoch>) -> Result<Option<DeviceLimits>> {
    if let Some(engine) = epoch.engine.as_cuda() {
        return engine.core.inside(epoch, || engine.core.limits(epoch)).map(Some);
    }
    #[cfg(target_os = "linux")]
    if let Some(engine) = distant(epoch) {
        return engine.ask(epoch, Question::Limits).map(Some);
    }
    Ok(None)
}

impl Loaded {
    /// Whether the device of this epoch loads modules: it is a GPU.
    pub(super) fn is_for(epoch: &Epoch) -> bool {
        #[cfg(target_os = "linux")]
        if distant(epoch).is_some() {
            return true;
        }
        epoch.engine.as_cuda().is_some()
    }

    /// Loads an image on a GPU.
    pub(super) fn load(epoch: &Arc<Epoch>, image: &Image) -> Result<Self> {
        let is_text = image.kind() == ImageKind::Ptx;
        #[cfg(target_os = "linux")]
        if let Some(engine) = distant(epoch) {
            return engine.load_module(epoch, image.bytes(), is_text).map(Loaded::There);
        }
        let engine = epoch.engine.as_cuda().ok_or_else(elsewhere)?;
        let mut bytes = image.bytes().to_vec();
        bytes.push(0); // PTX ends with it; a binary knows its own length
        engine.core.load_module(epoch, &bytes, is_text).map(|module| Loaded::Here(Arc::new(module)))
    }

    /// What stands for the module's variables in the order of things.
    pub(super) fn token(&self, epoch: &Arc<Epoch>) -> DeviceBuffer<u8> {
        match self {
            Loaded::Here(_) => DeviceBuffer::token(epoch),
            #[cfg(target_os = "linux")]
            Loaded::There(module) => DeviceBuffer::token_of(module.clone(), epoch),
        }
    }

    /// The kernel of this name in the image, and its parameters where the driver tells them and they are wanted.
    pub(super) fn function(
        &self,
        epoch: &Arc<Epoch>,
        name: &str,
        with_parameters: bool,
    ) -> Result<Option<(Function, Option<Vec<Parameter>>)>> {
        let name = text(name)?;
        match self {
            Loaded::Here(module) => {
                let core = &epoch.engine.as_cuda().ok_or_else(elsewhere)?.core;
                let Some(function) = crate::cuda::Function::find(core, epoch, module, &name)? else { return Ok(None) };
                let parameters = if with_parameters { function.parameters(core, epoch)? } else { None };
                Ok(Some((Function::Here(Arc::new(function)), parameters)))
            }
            #[cfg(target_os = "linux")]
            Loaded::There(module) => {
                let name = name.to_string_lossy().into_owned();
                let question = Question::Kernel { id: module.address, name, with_parameters };
                let found: Option<crate::launch::Found> = distant(epoch).ok_or_else(elsewhere)?.ask(epoch, question)?;
                let Some(crate::launch::Found { number, attributes, limits, parameters }) = found else {
                    return Ok(None);
                };
                let module = module.clone();
                let distant = Distant { module, number, attributes, limits, blocks: Mutex::default() };
                Ok(Some((Function::There(Arc::new(distant)), parameters)))
            }
        }
    }

    /// The address and the bytes of the variable of this name in the image.
    pub(super) fn variable(&self, epoch: &Arc<Epoch>, name: &str) -> Result<Option<(u64, usize)>> {
        let name = text(name)?;
        match self {
            Loaded::Here(module) => module.global(&epoch.engine.as_cuda().ok_or_else(elsewhere)?.core, epoch, &name),
            #[cfg(target_os = "linux")]
            Loaded::There(module) => {
                let name = name.to_string_lossy().into_owned();
                let question = Question::Variable { id: module.address, name };
                let found: Option<(u64, u64)> = distant(epoch).ok_or_else(elsewhere)?.ask(epoch, question)?;
                Ok(found.and_then(|(address, bytes)| Some((address, usize::try_from(bytes).ok()?))))
            }
        }
    }
}

impl Function {
    pub(super) fn attributes(&self) -> &KernelAttributes {
        match self {
            Function::Here(function) => &function.attributes,
            #[cfg(target_os = "linux")]
            Function::There(distant) => &distant.attributes,
        }
    }

    /// What its device allows of a launch.
    pub(super) fn limits(&self) -> &DeviceLimits {
        match self {
            Function::Here(function) => &function.limits,
            #[cfg(target_os = "linux")]
            Function::There(distant) => &distant.limits,
        }
    }

    /// Blocks of that many threads, with that much dynamic shared memory, that one multiprocessor holds at a time.
    pub(super) fn active_blocks(&self, epoch: &Arc<Epoch>, threads: u32, shared: u32) -> Result<u32> {
        match self {
            Function::Here(function) => {
                let core = &epoch.engine.as_cuda().ok_or_else(elsewhere)?.core;
                function.active_blocks(core, epoch, threads, shared)
            }
            #[cfg(target_os = "linux")]
            Function::There(it) => it.active_blocks(epoch, threads, shared),
        }
    }

    /// The block size that fills the device best.
    pub(super) fn best_block(&self, epoch: &Arc<Epoch>, shared: u32) -> Result<u32> {
        match self {
            Function::Here(function) => {
                let core = &epoch.engine.as_cuda().ok_or_else(elsewhere)?.core;
                Ok(function.best_block(core, epoch, shared)?.0)
            }
            #[cfg(target_os = "linux")]
            Function::There(it) => {
                let question = Question::BestBlock { id: it.module.address, kernel: it.number, shared };
                distant(epoch).ok_or_else(elsewhere)?.ask(epoch, question)
            }
        }
    }
}

#[cfg(target_os = "linux")]
impl Distant {
    fn active_blocks(&self, epoch: &Arc<Epoch>, threads: u32, shared: u32) -> Result<u32> {
        /// Kinds of blocks that are remembered; a kernel is seldom launched with more.
        const MOST: usize = 16;
        epoch.admit()?;
        let asked = (threads, shared);
        if let Some((_, blocks)) = self.blocks.lock().iter().find(|(known, _)| *known == asked) {
            return Ok(*blocks);
        }
        let question = Question::ActiveBlocks { id: self.module.address, kernel: self.number, threads, shared };
        let blocks = distant(epoch).ok_or_else(elsewhere)?.ask(epoch, question)?;
        let mut known = self.blocks.lock();
        if known.len() >= MOST {
            known.clear();
        }
        known.push((asked, blocks));
        Ok(blocks)
    }
}
