//! Kernels from PTX text, for ops that bring their own.
//!
//! A [`Ptx`] is loaded into each epoch when it is first launched there, so it needs no care across rebuilds. A slot
//! remembers the functions it has launched; looking one up again takes no lock and hashes nothing.

use super::api::{Code, Driver};
use super::enqueue::Enqueue;
use super::{Core, Native, fault};
use crate::op::Op;
use crate::sync::{AtomicU64, Mutex, Ordering};
use crate::{Element, Error, Result, Span};
use cudarc::driver::sys::{CUfunction, CUmodule};
use std::ffi::{CStr, CString, c_void};
use std::sync::OnceLock;

/// PTX source text of one or several kernels; usually a `static`.
#[derive(Debug)]
pub struct Ptx {
    text: &'static str,
    id: OnceLock<u64>,
}

impl Ptx {
    /// The text of a PTX module.
    pub const fn new(text: &'static str) -> Self {
        Ptx { text, id: OnceLock::new() }
    }

    fn id(&self) -> u64 {
        static IDS: AtomicU64 = AtomicU64::new(0);
        *self.id.get_or_init(|| IDS.fetch_add(1, Ordering::Relaxed))
    }
}

/// Grid, block and dynamic shared memory of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchDims {
    /// Blocks along x, y, z.
    pub grid: (u32, u32, u32),
    /// Threads of a block along x, y, z.
    pub block: (u32, u32, u32),
    /// Bytes of dynamic shared memory of a block.
    pub shared: u32,
}

impl LaunchDims {
    /// One thread an element, in blocks of 256.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when there are more elements than a grid has threads.
    pub fn for_elements(n: usize) -> Result<Self> {
        let blocks = u32::try_from(n.div_ceil(256)).ok().filter(|b| *b <= i32::MAX as u32);
        let blocks = blocks.ok_or_else(|| Error::invalid("n", format!("{n} elements, a grid has 2^39 threads")))?;
        Ok(LaunchDims { grid: (blocks.max(1), 1, 1), block: (256, 1, 1), shared: 0 })
    }
}

/// One kernel argument: a scalar or an operand's address.
#[derive(Clone, Copy, Debug)]
pub struct KernelArg {
    bytes: [u8; 16],
}

impl<T: Element> From<T> for KernelArg {
    fn from(value: T) -> Self {
        let mut bytes = [0; 16];
        for (to, from) in bytes.iter_mut().zip(bytemuck::bytes_of(&value)) {
            *to = *from;
        }
        KernelArg { bytes }
    }
}

impl<T: Element> From<Span<T>> for KernelArg {
    fn from(span: Span<T>) -> Self {
        span.address().into()
    }
}

impl From<usize> for KernelArg {
    fn from(value: usize) -> Self {
        (value as u64).into()
    }
}

/// A function that a slot has launched before.
pub(crate) struct Cached {
    module: u64,
    name: *const std::ffi::c_char,
    function: Native<CUfunction>,
}

// SAFETY: `name` is the address of a `'static` string, only compared.
unsafe impl Send for Cached {}

/// The modules and functions of one epoch.
#[derive(Default)]
pub(crate) struct Modules {
    loaded: Mutex<Vec<(u64, Native<CUmodule>)>>,
}

impl Modules {
    /// Modules loaded.
    pub(crate) fn held(&self) -> usize {
        self.loaded.lock().len()
    }

    /// For the end of the epoch.
    pub(crate) fn unload(&self, api: &Driver, gone: &mut dyn FnMut(Code)) {
        for (_, module) in std::mem::take(&mut *self.loaded.lock()) {
            // SAFETY: loaded by this epoch; idle.
            gone(unsafe { api.module_unload(module.0) });
        }
    }
}

impl Core {
    fn module(&self, epoch: &std::sync::Arc<crate::engine::Epoch>, ptx: &Ptx) -> Result<CUmodule> {
        let id = ptx.id();
        let known = |list: &[(u64, Native<CUmodule>)]| list.iter().find(|(i, _)| *i == id).map(|(_, m)| m.0);
        if let Some(module) = known(&self.modules.loaded.lock()) {
            return Ok(module);
        }
        let text = CString::new(ptx.text).map_err(|_| Error::invalid("ptx", "the text holds a zero byte"))?;
        let mut module: CUmodule = std::ptr::null_mut();
        // SAFETY: `text` is a zero-terminated image; the context is current.
        let code = unsafe { self.context.api.module_load_data(&mut module, text.as_ptr().cast()) };
        code.ok().map_err(|code| fault::classify(epoch, code, "cuModuleLoadData"))?;
        let mut loaded = self.modules.loaded.lock();
        match known(&loaded) {
            Some(first) => {
                drop(loaded);
                // SAFETY: just loaded, never used: another thread was first.
                let _ = unsafe { self.context.api.module_unload(module) };
                Ok(first)
            }
            None => {
                loaded.push((id, Native(module)));
                Ok(module)
            }
        }
    }
}

impl<O: Op> Enqueue<'_, O> {
    fn function(&mut self, ptx: &Ptx, name: &'static CStr) -> Result<CUfunction> {
        let id = ptx.id();
        let same = |c: &&Cached| c.module == id && std::ptr::eq(c.name, name.as_ptr());
        if let Some(cached) = self.state.functions.iter().find(same) {
            return Ok(cached.function.0);
        }
        let module = self.core.module(self.epoch, ptx)?;
        let mut function: CUfunction = std::ptr::null_mut();
        // SAFETY: the module is loaded until the epoch's end; the name is zero-terminated.
        let code = unsafe { self.core.context.api.module_get_function(&mut function, module, name.as_ptr()) };
        self.check("cuModuleGetFunction", code)?;
        self.state.functions.push(Cached { module: id, name: name.as_ptr(), function: Native(function) });
        Ok(function)
    }

    /// Launches the kernel `name` of `ptx` on the dispatch's stream.
    ///
    /// # Errors
    /// PTX that the driver refuses, a kernel that is not in it, dimensions or shared memory past the device's limits.
    ///
    /// # Safety
    /// `args` are the kernel's parameters in number, order and size, and the kernel reads and writes only the dispatch's
    /// operands (writing none that is only read) and its [`scratch`](Self::scratch) and [`result`](Self::result).
    pub unsafe fn launch(
        &mut self,
        ptx: &'static Ptx,
        name: &'static CStr,
        dims: LaunchDims,
        args: &[KernelArg],
    ) -> Result<()> {
        let function = self.function(ptx, name)?;
        let mut pointers: smallvec::SmallVec<[*mut c_void; 16]> =
            args.iter().map(|a| a.bytes.as_ptr().cast_mut().cast()).collect();
        let ((gx, gy, gz), (bx, by, bz)) = (dims.grid, dims.block);
        let stream = self.stream();
        // SAFETY: the function and stream are alive under the lease; the driver copies the parameters before it returns;
        // the caller vouches for the kernel.
        let code = unsafe {
            self.core.context.api.launch_kernel(
                function,
                gx,
                gy,
                gz,
                bx,
                by,
                bz,
                dims.shared,
                stream,
                pointers.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        self.check("cuLaunchKernel", code)
    }
}
