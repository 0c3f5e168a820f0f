//! Modules: the code of kernels, loaded into an epoch's context.
//!
//! An epoch has one list, for [`Ptx`](crate::engines::cuda::Ptx) and for the modules of `nvrtc` alike. Each loaded module is on it and
//! is unloaded once. A [`LoadedModule`] is held by its handles and by every launch in flight, so it is dropped when
//! nothing of it can run any more. Its `Drop` only queues it. The housekeeping thread unloads it while **nothing is in
//! flight on any stream**: unloading may wait for the whole context, and then there is nothing to wait for. Modules of
//! a dead context are left alone.
//!
//! Loading may wait for the context as well. The thread that asks for it does it, outside any lease. On a device that
//! is never idle, at most [`MOST_LEAVING`] modules wait to be unloaded. Beyond that, a thread that loads a module first
//! unloads those, since it waits for the context anyway. So a program that loads and drops modules for ever under
//! continuous load keeps a bounded number of them.

use super::LoadedCode;
use super::limits::Limits;
use crate::core::epoch::Epoch;
use crate::core::error::{Diagnostic, Error, PTX_INPUT, Result, Site, Stale};
use crate::core::sync::{Arc, AtomicBool, Mutex, Ordering};
use crate::engines::cuda::api::{Code, Driver, codes};
use crate::engines::cuda::context::fault;
use crate::engines::cuda::housekeeping::Nudge;
use crate::engines::cuda::streams::Streams;
use crate::engines::cuda::{Core, Native, Queue};
use crossbeam_queue::SegQueue;
use cudarc::driver::sys::{CUfunction, CUmodule};
use std::ffi::{CStr, c_void};
use std::sync::OnceLock;

/// How many modules may wait for an idle moment of the device.
const MOST_LEAVING: usize = 16;

/// The modules of one epoch.
pub(crate) struct Modules {
    /// All loaded modules.
    loaded: Mutex<Vec<Native<CUmodule>>>,
    /// Those that stay loaded until the epoch's end, by the number of their [`Ptx`](crate::engines::cuda::Ptx).
    lasting: Mutex<Vec<(u64, Native<CUmodule>)>>,
    /// Those whose last handle was dropped; they wait to be unloaded.
    leaving: SegQueue<Native<CUmodule>>,
    /// The epoch is over.
    closed: AtomicBool,
    pub(crate) limits: OnceLock<Limits>,
    nudge: Arc<Nudge>,
}

/// A module that is unloaded after its last use. It does not hold the epoch, because launches in flight hold it.
pub(crate) struct LoadedModule {
    raw: Native<CUmodule>,
    generation: u64,
    modules: Arc<Modules>,
}

impl LoadedModule {
    /// Fails if the module is of another epoch. Call under the lease of a slot of an epoch that is alive.
    pub(crate) fn admit(&self, queue: &Queue<'_>) -> Result<()> {
        if Arc::ptr_eq(&self.modules, &queue.core.code.modules) {
            return Ok(());
        }
        let reason = Stale::Generation { made: self.generation, now: queue.epoch.generation };
        Err(Error::GpuRefStale { reason, site: Site::none() })
    }
}

impl Drop for LoadedModule {
    /// Makes no driver call: see the top of this file.
    fn drop(&mut self) {
        if !self.modules.closed.load(Ordering::Acquire) {
            self.modules.leaving.push(self.raw);
            self.modules.nudge.nudge();
        }
    }
}

impl Modules {
    pub(crate) fn new(nudge: Arc<Nudge>) -> Self {
        Modules {
            loaded: Mutex::default(),
            lasting: Mutex::default(),
            leaving: SegQueue::new(),
            closed: AtomicBool::new(false),
            limits: OnceLock::new(),
            nudge,
        }
    }

    /// The number of loaded modules.
    pub(crate) fn held(&self) -> usize {
        self.loaded.lock().len()
    }

    /// Whether some wait to be unloaded.
    pub(crate) fn has_leaving(&self) -> bool {
        !self.leaving.is_empty() && !self.closed.load(Ordering::Acquire)
    }

    /// From now on the modules are left alone.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// Unloads all, at the end of the epoch.
    pub(crate) fn unload(&self, api: &Driver, gone: &mut dyn FnMut(Code)) {
        self.close();
        self.lasting.lock().clear();
        for module in std::mem::take(&mut *self.loaded.lock()) {
            // SAFETY: loaded by this epoch, and on the list until now. Nothing of it runs.
            gone(unsafe { api.module_unload(module.0) });
        }
    }

    /// Loads a module and adds it to the list. The context must be current. The driver is given no length: the image is
    /// a text that ends with a zero byte, or the binary of an [`Image`](crate::nvrtc::Image), whose length is in its headers
    /// and was checked when the `Image` was made.
    fn load(&self, epoch: &Arc<Epoch>, api: &Driver, image: &[u8], is_text: bool) -> Result<Native<CUmodule>> {
        const ERROR_LOG: u32 = 5;
        const ERROR_LOG_BYTES: u32 = 6;
        const LOG_BYTES: usize = 16 << 10;
        crate::engines::worker::shared::first_use::begin();
        let mut log = vec![0u8; LOG_BYTES];
        let mut options = [ERROR_LOG, ERROR_LOG_BYTES];
        let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(LOG_BYTES - 1)];
        let mut module: CUmodule = std::ptr::null_mut();
        // SAFETY: the driver reads a text up to its zero byte, and of a binary what its headers cover. That is all
        // there: an `Image` whose headers cover more than it has is refused when it is made (`nvrtc/extent.rs`). The
        // counts of options and values are right, and the log has the length given. The context is current.
        let code = unsafe {
            let (count, image) = (options.len() as u32, image.as_ptr().cast());
            api.module_load_data_ex(&mut module, image, count, options.as_mut_ptr(), values.as_mut_ptr())
        };
        code.ok().map_err(|code| {
            let log = CStr::from_bytes_until_nul(&log).map_or("".into(), |log| log.to_string_lossy());
            refused(epoch, code, log.trim(), is_text.then_some(image))
        })?;
        self.loaded.lock().push(Native(module));
        Ok(Native(module))
    }
}

/// The error for a module that the driver did not load.
fn refused(epoch: &Arc<Epoch>, code: Code, log: &str, ptx: Option<&[u8]>) -> Error {
    const INVALID_PTX: i32 = 218;
    const UNSUPPORTED_PTX_VERSION: i32 = 222;
    let error = fault::classify(epoch, code, "cuModuleLoadDataEx");
    let is_source = ptx.is_some() && (!log.is_empty() || matches!(code.0, INVALID_PTX | UNSUPPORTED_PTX_VERSION));
    match error {
        Error::LibraryError { .. } if is_source => {
            let name = codes::driver_name(code.0).unwrap_or("an unknown status code");
            let text_of = |file: &str| ptx.filter(|_| file == PTX_INPUT).map(|ptx| String::from_utf8_lossy(ptx).into());
            let diagnostics = Diagnostic::read(log, text_of);
            Error::Compile {
                log: format!("the driver refused the PTX: {name}\n{log}").trim_end().to_owned(),
                diagnostics,
            }
        }
        Error::LibraryError { message, site } if !log.is_empty() => {
            Error::LibraryError { message: format!("{message}: {log}"), site }
        }
        error => error,
    }
}

impl LoadedCode {
    /// Runs `f` with the context current, counted as inside (`blocking_wait.rs`): the end of the epoch waits for it.
    pub(crate) fn inside<R>(&self, epoch: &Arc<Epoch>, f: impl FnOnce() -> Result<R>) -> Result<R> {
        let _inside = self.waits.enter();
        epoch.go_on()?;
        let _bound = self.context.bind_for(epoch)?;
        f()
    }

    /// Loads a module that is unloaded after its last use.
    pub(crate) fn load_module(&self, epoch: &Arc<Epoch>, image: &[u8], is_text: bool) -> Result<LoadedModule> {
        let load = || {
            if self.modules.leaving.len() >= MOST_LEAVING {
                self.unload_leaving(&|code, call| fault::report(epoch, code, call));
            }
            self.modules.load(epoch, self.context.api, image, is_text)
        };
        let raw = self.inside(epoch, load)?;
        Ok(LoadedModule { raw, generation: epoch.generation, modules: self.modules.clone() })
    }

    /// Finds the module `id`, or loads it to stay until the epoch's end. Call under a lease, with the context current.
    pub(crate) fn lasting_module(&self, epoch: &Arc<Epoch>, id: u64, text: &CStr) -> Result<CUmodule> {
        let known = |list: &[(u64, Native<CUmodule>)]| list.iter().find(|(i, _)| *i == id).map(|(_, m)| m.0);
        if let Some(module) = known(&self.modules.lasting.lock()) {
            return Ok(module);
        }
        let module = self.modules.load(epoch, self.context.api, text.to_bytes_with_nul(), true)?;
        let mut lasting = self.modules.lasting.lock();
        match known(&lasting) {
            Some(first) => {
                // Another thread was first: this copy is unloaded at the next opportunity.
                self.modules.leaving.push(module);
                Ok(first)
            }
            None => {
                lasting.push((id, module));
                Ok(module.0)
            }
        }
    }

    /// Finds a kernel of a module. The context must be current.
    pub(crate) fn find_function(&self, epoch: &Arc<Epoch>, module: CUmodule, name: &CStr) -> Result<CUfunction> {
        let mut function: CUfunction = std::ptr::null_mut();
        // SAFETY: the module is loaded, the name is zero-terminated.
        let code = unsafe { self.context.api.module_get_function(&mut function, module, name.as_ptr()) };
        code.ok().map_err(|code| fault::classify(epoch, code, "cuModuleGetFunction"))?;
        Ok(function)
    }

    /// Unloads modules and destroys library objects that wait for it, if nothing is in flight. True if some are left.
    /// The caller must hold no lease.
    pub(in crate::engines::cuda) fn unload_some(&self, streams: &Streams) -> bool {
        if !self.modules.has_leaving() && !self.objects.has_leaving() {
            return false;
        }
        // Take all leases at once, so that no work can begin meanwhile. No thread waits for one lease while it holds
        // another.
        let mut leases = Vec::with_capacity(streams.len());
        for slot in streams.all() {
            let Some(lease) = slot.lease.try_lock() else { return true };
            if slot.shared.over() {
                return false;
            }
            if slot.stream.sequence.in_flight() > 0 {
                return true;
            }
            leases.push(lease);
        }
        let _bound = match self.context.bind() {
            Ok(bound) => bound,
            // The context was destroyed by other code, and the modules with it.
            Err(code) if fault::is_context_gone(code) => {
                self.modules.close();
                return false;
            }
            Err(_) => return true,
        };
        self.unload_leaving(&|code, call| {
            if let Some(slot) = streams.first() {
                slot.shared.report(code, call);
            }
        });
        self.destroy_leaving_objects();
        false
    }

    /// Unloads the modules that wait for it, even while other work is in flight. The context must be current, and the
    /// epoch must not end meanwhile.
    fn unload_leaving(&self, report: &dyn Fn(Code, &str)) {
        while let Some(module) = self.modules.leaving.pop() {
            let mut loaded = self.modules.loaded.lock();
            let Some(place) = loaded.iter().position(|m| *m == module) else { continue };
            loaded.swap_remove(place);
            drop(loaded);
            // SAFETY: taken off the list here, so unloaded once. Its last user is gone, so nothing of it runs.
            if let Err(code) = unsafe { self.context.api.module_unload(module.0) }.ok() {
                self.counters.leaked.fetch_add(1, Ordering::Relaxed);
                report(code, "cuModuleUnload");
            }
        }
    }
}

impl LoadedCode {
    /// Destroys the library objects that wait for it. The context must be current, and the epoch must not end
    /// meanwhile.
    pub(crate) fn destroy_leaving_objects(&self) {
        self.objects.destroy_leaving(&mut |code| {
            self.counters.leaked.fetch_add(u64::from(!code.is_success()), Ordering::Relaxed);
        });
    }
}

impl LoadedModule {
    /// The kernel `name`; `None` if the module has no such kernel. The context must be current.
    pub(crate) fn function(&self, core: &Core, epoch: &Arc<Epoch>, name: &CStr) -> Result<Option<CUfunction>> {
        const NOT_FOUND: i32 = 500;
        match core.code.find_function(epoch, self.raw.0, name) {
            Ok(function) => Ok(Some(function)),
            Err(error) if error.site().and_then(|site| site.code()) == Some(NOT_FOUND) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The address and size in bytes of the variable `name`; `None` if there is no such variable.
    pub(crate) fn global(&self, core: &Core, epoch: &Arc<Epoch>, name: &CStr) -> Result<Option<(u64, usize)>> {
        const NOT_FOUND: i32 = 500;
        let (mut address, mut bytes) = (0, 0);
        core.code.inside(epoch, || {
            // SAFETY: both pointers are valid for the writes, the module is loaded, the name is zero-terminated.
            let status =
                unsafe { core.context.api.module_get_global(&mut address, &mut bytes, self.raw.0, name.as_ptr()) };
            match status.ok() {
                Ok(()) => Ok(Some((address, bytes))),
                Err(Code(NOT_FOUND)) => Ok(None),
                Err(code) => Err(fault::classify(epoch, code, "cuModuleGetGlobal")),
            }
        })
    }
}
