//! A slot's cuBLAS handle.
//!
//! One a slot, made by the first operation that needs it (15 ms for the first of a process, 0.2 to 0.3 ms and 64 MiB
//! for each further one on an H200). The stream is set once, **then** the workspace: setting a stream drops it.

use super::Native;
use super::api::{Code, Cublas};
use super::enqueue::Enqueue;
use super::library::WORKSPACE;
use crate::op::Op;
use crate::{Error, Result};
use cudarc::cublas::sys::cublasHandle_t;

/// Where scalars are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum PointerMode {
    /// Read from host memory before the call returns.
    Host = 0,
    /// Read from and written to device memory in stream order.
    Device = 1,
}

/// The handle and what is set on it.
pub(crate) struct BlasHandle {
    raw: Native<cublasHandle_t>,
    api: &'static Cublas,
    mode: PointerMode,
}

/// What an operation calls the library with.
#[derive(Clone, Copy)]
pub(crate) struct BlasCall {
    pub(crate) api: &'static Cublas,
    pub(crate) handle: cublasHandle_t,
}

impl BlasHandle {
    /// Only at the end of an epoch: it synchronizes the device.
    pub(crate) fn destroy(self) -> Code {
        // SAFETY: made by `create`, destroyed once, idle.
        unsafe { self.api.destroy(self.raw.0) }
    }
}

/// Does nothing but have the slot's handle made.
struct Warm;

impl Op for Warm {
    const NAME: &'static str = "warm";
    const LIBRARY: &'static str = "blas";
    type Reads = ();
    type Output = ();
    type Raw = ();
    fn check(&self, (): &(), (): &()) -> Result<()> {
        Ok(())
    }
    fn host(&self, (): (), (): ()) -> Result<()> {
        Ok(())
    }
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        queue.blas(PointerMode::Host).map(drop)
    }
    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// Makes the handle of every slot of `device`.
pub(crate) fn warm(device: &crate::Device) -> Result<()> {
    let epoch = device.epoch();
    let Some(engine) = epoch.engine.as_cuda() else { return Ok(()) };
    for index in 0..engine.core.slots.len() {
        engine.core.submit_on(index, device, &epoch, Warm)?;
    }
    Ok(())
}

impl<O: Op> Enqueue<'_, O> {
    /// The slot's handle, with scalars where `mode` says.
    pub(crate) fn blas(&mut self, mode: PointerMode) -> Result<BlasCall> {
        if self.state.blas.is_none() {
            let made = self.make_blas();
            self.untouched &= made.is_err();
            self.state.blas = Some(made?);
        }
        self.untouched = false;
        let Some(handle) = self.state.blas.as_mut() else {
            return Err(Error::library("a cuBLAS handle vanished"));
        };
        let call = BlasCall { api: handle.api, handle: handle.raw.0 };
        if handle.mode != mode {
            // SAFETY: the handle is this slot's, which is leased.
            let code = unsafe { call.api.set_pointer_mode(call.handle, mode as u32) };
            if code.is_success() {
                handle.mode = mode;
            }
            self.blas_status("cublasSetPointerMode", code)?;
        }
        Ok(call)
    }

    fn make_blas(&mut self) -> Result<BlasHandle> {
        let api = Cublas::load()?;
        let mut raw: cublasHandle_t = std::ptr::null_mut();
        // SAFETY: `raw` is valid for the write; the context is current.
        let code = unsafe { api.create(&mut raw) };
        self.blas_status("cublasCreate", code)?;
        let handle = BlasHandle { raw: Native(raw), api, mode: PointerMode::Host };
        // SAFETY: handle and stream are alive; the stream first, because it drops the workspace.
        let code = unsafe { api.set_stream(raw, self.state.stream.0) };
        if let Err(error) = self.blas_status("cublasSetStream", code) {
            let _ = handle.destroy();
            return Err(error);
        }
        // Without a workspace of its own the library uses its default pool: slower, not wrong.
        if let Some(address) = self.workspace() {
            // SAFETY: the workspace lives as long as the handle, and is used on this stream only.
            let code = unsafe { api.set_workspace(raw, address as *mut _, WORKSPACE) };
            if let Err(error) = self.blas_status("cublasSetWorkspace", code) {
                let _ = handle.destroy();
                return Err(error);
            }
        }
        Ok(handle)
    }

    /// What a status means.
    pub(crate) fn blas_status(&self, call: &str, code: Code) -> Result<()> {
        self.library_status(call, code)
    }
}
