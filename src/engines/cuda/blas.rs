//! A slot's cuBLAS handle.
//!
//! One a slot, made by the first operation that needs it (15 ms for the first of a process, 0.2 to 0.3 ms and 64 MiB
//! for each further one on an H200). The stream is set once, **then** the workspace: setting a stream drops it.

use super::Native;
use super::api::{Called, Code, Cublas, CublasTyped};
use super::enqueue::Enqueue;
use super::library::WORKSPACE;
use super::warm::op;
use crate::blas::Modes;
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

/// The handle and what is set on it; `None` where that is not known, after a call that failed.
pub(crate) struct BlasHandle {
    raw: Native<cublasHandle_t>,
    api: &'static Cublas,
    typed: &'static CublasTyped,
    pointer: Option<PointerMode>,
    math: Option<u32>,
    atomics: Option<u32>,
}

/// What an operation calls the library with.
#[derive(Clone, Copy)]
pub(crate) struct BlasCall {
    pub(crate) api: &'static Cublas,
    pub(crate) typed: &'static CublasTyped,
    pub(crate) handle: cublasHandle_t,
}

impl BlasHandle {
    /// Only at the end of an epoch: it synchronizes the device.
    pub(crate) fn destroy(self) -> Code {
        // SAFETY: made by `create`, destroyed once, idle.
        unsafe { self.api.destroy(self.raw.0) }
    }
}

/// Sets what is not so already. While the call is made, and after one that failed, the state is unknown.
fn set<V: Copy + PartialEq>(known: &mut Option<V>, value: V, call: impl FnOnce(V) -> Code) -> Code {
    if *known == Some(value) {
        return Code::SUCCESS;
    }
    *known = None;
    let code = call(value);
    if code.is_success() {
        *known = Some(value);
    }
    code
}

op!("blas", |queue| queue.blas(PointerMode::Host, Modes::DEFAULT).map(drop));

impl<O: Op> Enqueue<'_, O> {
    /// The slot's handle, with scalars where `pointer` says and in these modes, each set only where the handle is in
    /// another or in one that is not known.
    pub(crate) fn blas(&mut self, pointer: PointerMode, modes: Modes) -> Result<BlasCall> {
        if self.state.blas.is_none() {
            let made = self.make_blas();
            self.untouched &= made.is_err();
            self.state.blas = Some(made?);
        }
        self.untouched = false;
        let Some(handle) = self.state.blas.as_mut() else {
            return Err(Error::library("a cuBLAS handle vanished"));
        };
        let call = BlasCall { api: handle.api, typed: handle.typed, handle: handle.raw.0 };
        let (math, atomics) = (modes.math_code(), modes.atomics_code());
        // SAFETY: the handle is this slot's, which is leased.
        let code = set(&mut handle.pointer, pointer, |p| unsafe { call.api.set_pointer_mode(call.handle, p as u32) });
        if !code.is_success() {
            return self.blas_status("cublasSetPointerMode", code).map(|()| call);
        }
        // SAFETY: as above.
        let code = set(&mut handle.math, math, |math| unsafe { call.api.set_math_mode(call.handle, math) });
        if !code.is_success() {
            return self.math_status(modes, code).map(|()| call);
        }
        // SAFETY: as above.
        let code = set(&mut handle.atomics, atomics, |a| unsafe { call.api.set_atomics_mode(call.handle, a) });
        self.blas_status("cublasSetAtomicsMode", code).map(|()| call)
    }

    /// What the status of setting a math mode means: one that the library does not know is not supported.
    #[cold]
    fn math_status(&self, modes: Modes, code: Code) -> Result<()> {
        const INVALID_VALUE: i32 = 7;
        self.blas_status("cublasSetMathMode", code).map_err(|error| match (code.0, error) {
            (INVALID_VALUE, Error::LibraryError { .. }) => {
                Error::unsupported(format!("this cuBLAS has no math mode {:?}", modes.math))
            }
            (_, error) => error,
        })
    }

    fn make_blas(&mut self) -> Result<BlasHandle> {
        crate::worker::first_use();
        let (api, typed) = (Cublas::load()?, CublasTyped::load()?);
        let mut raw: cublasHandle_t = std::ptr::null_mut();
        // SAFETY: `raw` is valid for the write; the context is current.
        let code = unsafe { api.create(&mut raw) };
        self.blas_status("cublasCreate", code)?;
        // Before the handlers that the library has registered by now.
        static FIRST: std::sync::Once = std::sync::Once::new();
        crate::engine::process::watch_exit_after(&FIRST);
        let handle = BlasHandle {
            raw: Native(raw),
            api,
            typed,
            pointer: Some(PointerMode::Host),
            math: Some(0),
            atomics: Some(0),
        };
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

    /// One call of a typed routine. Where the library lacks it nothing was touched.
    pub(crate) fn blas_typed(
        &mut self,
        pointer: PointerMode,
        modes: Modes,
        call: impl FnOnce(&CublasTyped, cublasHandle_t) -> Called,
    ) -> Result<()> {
        let untouched = self.untouched;
        let blas = self.blas(pointer, modes)?;
        let called = call(blas.typed, blas.handle);
        if called.code.is_none() {
            self.untouched = untouched;
        }
        self.blas_called(called)
    }

    /// What a call of a function came to that not every cuBLAS has.
    pub(crate) fn blas_called(&self, called: Called) -> Result<()> {
        match called.code {
            Some(code) => self.blas_status(called.name, code),
            None if called.name.is_empty() => Err(Error::unsupported("cuBLAS has no such routine for this type")),
            None => Err(Error::unsupported(format!("the cuBLAS of this machine has no function {}", called.name))),
        }
    }

    /// What a status means.
    pub(crate) fn blas_status(&self, call: &str, code: Code) -> Result<()> {
        self.library_status(call, code)
    }
}
