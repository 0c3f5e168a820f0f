//! A module's code on a GPU: loaded in this process, or in a worker process.
//!
//! In a worker a module is a number (`worker/ask.rs`), and a kernel is a number in its module. The limits and
//! parameters that launches are checked against are requested once, when the kernel is looked up; so a launch does not
//! wait for an answer.

use super::{Image, ImageKind};
#[cfg(target_os = "linux")]
use crate::core::buffer::Allocation;
use crate::core::buffer::DeviceBuffer;
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::launch::{DeviceLimits, KernelAttributes, Parameter};
use crate::core::sync::Arc;
#[cfg(target_os = "linux")]
use crate::core::sync::Mutex;
use crate::engines::cuda::LoadedModule;
#[cfg(target_os = "linux")]
use crate::engines::worker::{Question, WorkerEngine};
use std::ffi::CString;

/// A module. It holds no epoch, so work in flight can hold it.
#[derive(Clone)]
pub(super) enum Loaded {
    Here(Arc<LoadedModule>),
    /// Unloaded when the allocation is dropped.
    #[cfg(target_os = "linux")]
    There(Arc<Allocation>),
}

/// A kernel of a module. It holds no epoch either.
#[derive(Clone)]
pub(super) enum Function {
    Here(Arc<crate::engines::cuda::Function>),
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
    /// The number of resident blocks per multiprocessor, by block size and shared memory. Cooperative launches are
    /// checked against it, so each value is requested only once.
    blocks: Mutex<Vec<((u32, u32), u32)>>,
}

/// The worker, if it serves a GPU.
#[cfg(target_os = "linux")]
pub(super) fn distant(epoch: &Epoch) -> Option<&WorkerEngine> {
    epoch.engine.as_worker().filter(|engine| engine.is_gpu())
}

fn elsewhere() -> Error {
    Error::library("internal error: a module of another engine")
}

fn text(name: &str) -> Result<CString> {
    CString::new(name).map_err(|_| Error::invalid("name", format!("{name:?} contains a zero byte")))
}

/// The device's limits; `None` if it is not a GPU.
pub(super) fn limits(epoch: &Arc<Epoch>) -> Result<Option<DeviceLimits>> {
    if let Some(engine) = epoch.engine.as_cuda() {
        return engine.core.code.inside(epoch, || engine.core.code.limits(epoch)).map(Some);
    }
    #[cfg(target_os = "linux")]
    if let Some(engine) = distant(epoch) {
        return engine.ask(epoch, Question::Limits).map(Some);
    }
    Ok(None)
}

impl Loaded {
    /// Whether the device of this epoch is a GPU, which loads modules.
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
        bytes.push(0); // the terminating zero of PTX; a binary contains its own length
        engine.core.code.load_module(epoch, &bytes, is_text).map(|module| Loaded::Here(Arc::new(module)))
    }

    /// The buffer that stands for the module's variables when operations are ordered.
    pub(super) fn token(&self, epoch: &Arc<Epoch>) -> DeviceBuffer<u8> {
        match self {
            Loaded::Here(_) => DeviceBuffer::token(epoch),
            #[cfg(target_os = "linux")]
            Loaded::There(module) => DeviceBuffer::token_of(module.clone(), epoch),
        }
    }

    /// The kernel with this name in the image. Also its parameters, if they are wanted and the driver reports them.
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
                let Some(function) = crate::engines::cuda::Function::find(core, epoch, module, &name)? else {
                    return Ok(None);
                };
                let parameters = if with_parameters { function.parameters(core, epoch)? } else { None };
                Ok(Some((Function::Here(Arc::new(function)), parameters)))
            }
            #[cfg(target_os = "linux")]
            Loaded::There(module) => {
                let name = name.to_string_lossy().into_owned();
                let question = Question::Kernel { id: module.address, name, with_parameters };
                let found: Option<crate::core::launch::Found> =
                    distant(epoch).ok_or_else(elsewhere)?.ask(epoch, question)?;
                let Some(crate::core::launch::Found { number, attributes, limits, parameters }) = found else {
                    return Ok(None);
                };
                let module = module.clone();
                let distant = Distant { module, number, attributes, limits, blocks: Mutex::default() };
                Ok(Some((Function::There(Arc::new(distant)), parameters)))
            }
        }
    }

    /// The address and size in bytes of the variable with this name in the image.
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

    /// The limits of its device for a launch.
    pub(super) fn limits(&self) -> &DeviceLimits {
        match self {
            Function::Here(function) => &function.limits,
            #[cfg(target_os = "linux")]
            Function::There(distant) => &distant.limits,
        }
    }

    /// The number of blocks of `threads` threads, with `shared` bytes of dynamic shared memory each, that one
    /// multiprocessor can hold.
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

    /// The block size with the best occupancy.
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
        /// The number of block shapes that are remembered; a kernel is seldom launched with more.
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
