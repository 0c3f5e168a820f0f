//! How an operation's CUDA half calls libraries.

use super::contract::{ApiHandle, CudaLibrary, Listed, Seat, WORKSPACE, unlisted};
use super::{Code, Object, Placement, status};
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::process;
use crate::core::sync::Arc;
use crate::engines::cuda::{Core, Queue, SlotState};
use cudarc::driver::sys::CUstream;
use std::any::Any;

impl<'q> Queue<'q> {
    /// The library's functions and this slot's handle, created if necessary, for calls that enqueue work.
    ///
    /// # Errors
    /// The library is missing, or creates no handle. Then nothing was enqueued.
    pub(crate) fn library<L: Listed>(&mut self) -> Result<(&'static L::Api, &mut L::Handle)> {
        self.hold::<L>()?;
        self.touch();
        self.held::<L>()
    }

    /// The same for calls that enqueue nothing: descriptors, plans, sizes, modes. If an operation has made only such
    /// calls and runs out of memory, it is tried again after memory was freed.
    pub(crate) fn consult<L: Listed>(&mut self) -> Result<(&'static L::Api, &mut L::Handle)> {
        self.hold::<L>()?;
        self.held::<L>()
    }

    fn held<L: Listed>(&mut self) -> Result<(&'static L::Api, &mut L::Handle)> {
        self.state.handles.get::<ApiHandle<L>>(L::ID).map(|held| (held.api, &mut held.handle)).ok_or_else(unlisted)
    }

    fn hold<L: Listed>(&mut self) -> Result<()> {
        match self.state.handles.get::<ApiHandle<L>>(L::ID) {
            Some(_) => Ok(()),
            None => {
                self.not_in_a_graph("a library's handle that is not created yet")?;
                self.core.make_handle::<L>(self.epoch, self.state)
            }
        }
    }

    /// The functions of a library that has no handles.
    ///
    /// # Errors
    /// The library is missing.
    pub(crate) fn api<L: Listed>(&self) -> Result<&'static L::Api> {
        crate::engines::worker::shared::first_use::begin();
        Ok(L::load()?)
    }

    /// The state of the library that the slots of the epoch share.
    pub(crate) fn shared<L: Listed>(&self) -> Result<&'q L::Shared> {
        self.core.shared::<L>()
    }

    /// Converts a status into a result. After a failure the stream is queried: a sticky code takes precedence over the
    /// library's own code.
    pub(crate) fn status<L: CudaLibrary>(&self, call: &str, code: Code) -> Result<()> {
        if code.is_success() { Ok(()) } else { Err(self.failure::<L>(call, code)) }
    }

    /// The error of a failed call.
    #[cold]
    pub(crate) fn failure<L: CudaLibrary>(&self, call: &str, code: Code) -> Error {
        self.core.failure(self.epoch, self.state, L::STATUS, call, code)
    }

    /// The slot's workspace of [`WORKSPACE`] bytes, if there is memory for it. All libraries of the slot share it:
    /// their work is on one stream, so each kernel is done with it before the next one begins. Its contents do not last
    /// from one call to the next.
    pub(crate) fn slot_workspace(&mut self) -> Option<u64> {
        if self.state.workspace.is_none() && self.not_in_a_graph("a workspace that is not allocated yet").is_err() {
            return None;
        }
        self.core.slot_workspace(self.state)
    }

    /// Device memory for the work of one library call, at least 256-byte aligned: the slot's workspace if it is large
    /// enough, otherwise scratch memory of this dispatch. 0 for no bytes. The next library call may be given the same
    /// memory.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] with the number of bytes requested.
    pub(crate) fn workspace(&mut self, bytes: usize) -> Result<u64> {
        match bytes {
            0 => Ok(0),
            1..=WORKSPACE => match self.slot_workspace() {
                Some(address) => Ok(address),
                None => self.scratch(bytes),
            },
            _ => self.scratch(bytes),
        }
    }

    /// Device memory that lasts as long as the slot, or until [`release`](Self::release): for data that the slot's
    /// handle keeps from one dispatch to the next. Used only by work of this slot.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] with the number of bytes requested.
    pub(crate) fn lasting(&mut self, bytes: usize) -> Result<u64> {
        let address = self.stream_memory(bytes.max(1))?;
        self.state.kept.push(address);
        Ok(address)
    }

    /// Frees such memory after the work of this dispatch.
    pub(crate) fn release(&mut self, address: u64) {
        if let Some(place) = self.state.kept.iter().position(|kept| *kept == address) {
            self.left.scratch.push(self.state.kept.swap_remove(place));
        }
    }

    /// Keeps a value until the work of this dispatch is complete; then it is dropped, with no lease held. For host
    /// memory that the device or the library still reads, or a plan that a cache has evicted.
    pub(crate) fn keep(&mut self, value: impl Any + Send + Sync) {
        self.left.keep_value(Arc::new(value));
    }

    /// Zeroed host memory of `bytes` bytes that lives until the work of this dispatch is complete: a host workspace
    /// that a library still reads after the call. Aligned to 16 bytes.
    pub(crate) fn keep_host(&mut self, bytes: usize) -> *mut std::ffi::c_void {
        let mut memory = vec![0u128; bytes.div_ceil(size_of::<u128>())];
        let address = memory.as_mut_ptr();
        self.keep(memory);
        address.cast()
    }

    /// The contents of `N` bytes of device memory after everything enqueued so far is complete. Waits for that, so use
    /// it only in halves whose calls wait anyway: [`OpKind::Blocking`](crate::op::OpKind::Blocking).
    ///
    /// # Safety
    /// As for [`copy`](Self::copy), for the memory that is read.
    pub(crate) unsafe fn look<const N: usize>(&mut self, from: u64) -> Result<[u8; N]> {
        const { assert!(N <= crate::engines::cuda::SLOT, "`look` reads a few bytes only") };
        self.not_in_a_graph("a read of device memory")?;
        // Pinned memory, as for every copy. Allocating it may wait for the GPU, as this method does.
        let slot = match self.core.memory.pinned().slot() {
            Ok(slot) => slot,
            Err(code) => return Err(crate::engines::cuda::classify(self.epoch, code, "cuMemHostAlloc")),
        };
        let to = slot.at.0;
        // Kept in any case: the copy may have been enqueued even if this method returns early.
        self.keep(slot);
        let (stream, api) = (self.stream(), self.core.context.api);
        // SAFETY: the caller vouches for the memory that is read; the target has `N` bytes and is kept until the work
        // is complete.
        let code = unsafe { api.memcpy_dtoh_async(to.cast(), from, N, stream) };
        self.check("cuMemcpyDtoHAsync", code)?;
        self.wait()?;
        // SAFETY: the copy is complete; the memory holds `N` bytes.
        Ok(unsafe { to.cast::<[u8; N]>().read_volatile() })
    }

    /// Waits for everything enqueued so far: for halves whose calls wait anyway
    /// ([`OpKind::Blocking`](crate::op::OpKind::Blocking)), before a call that reads device memory from the host and does not
    /// wait itself.
    pub(crate) fn wait(&mut self) -> Result<()> {
        self.not_in_a_graph("a wait for the device")?;
        // SAFETY: the stream is this slot's, under its lease.
        let code = unsafe { self.core.context.api.stream_synchronize(self.stream()) };
        self.check("cuStreamSynchronize", code)
    }

    /// Waits for what a call that failed may have left on the stream, for halves whose calls wait anyway. Unlike after
    /// [`wait`](Self::wait), an operation that has only run out of memory is tried again.
    pub(crate) fn settle(&mut self) -> Result<()> {
        // SAFETY: the stream is this slot's, under its lease.
        let code = unsafe { self.core.context.api.stream_synchronize(self.state.stream.0) };
        self.check("cuStreamSynchronize", code)
    }

    /// Makes the epoch the owner of a native object; `destroy` destroys it when its last user is gone, with the context current.
    pub(crate) fn object<T: Copy + Send + 'static>(
        &self,
        raw: T,
        destroy: impl FnOnce(T) -> Code + Send + 'static,
    ) -> Object<T> {
        self.core.object(raw, destroy)
    }

    /// Whether everything enqueued so far is complete: for halves whose calls wait anyway, and for more than the device.
    pub(crate) fn is_complete(&mut self) -> Result<bool> {
        self.not_in_a_graph("a wait for the device")?;
        // SAFETY: the stream is this slot's, under its lease.
        let code = unsafe { self.core.context.api.stream_query(self.stream()) };
        if code == Code::NOT_READY { Ok(false) } else { self.check("cuStreamQuery", code).map(|()| true) }
    }

    /// The stream, for calls that take it as an argument. The caller must also call [`touch`](Self::touch).
    pub(crate) fn stream_of_handles(&self) -> CUstream {
        self.state.stream.0
    }

    /// Counts a plan for the statistics: `asked` if the library was asked for it, otherwise it was found in a cache.
    pub(crate) fn count_plan(&self, asked: bool) {
        self.shared.plans.count(asked);
    }
}

impl Core {
    /// The state of a library that the slots share.
    pub(crate) fn shared<L: Listed>(&self) -> Result<&L::Shared> {
        self.code.shared_of_libraries().get(L::ID).ok_or_else(unlisted)
    }

    /// Creates the handle of a slot. The slot is leased, and the context current.
    #[cold]
    pub(crate) fn make_handle<L: Listed>(&self, epoch: &Arc<Epoch>, state: &mut SlotState) -> Result<()> {
        if matches!(L::HANDLES, Placement::None) {
            return Err(Error::library("internal error: the library has no handles"));
        }
        crate::engines::worker::shared::first_use::begin();
        let api = L::load()?;
        let native = self.code.libraries().get(L::ID).and_then(|entry| entry.native.as_ref()).ok_or_else(unlisted)?;
        let made = L::create(api, &mut Seat { core: self, state });
        // Our exit handler then runs before the handlers that the library has registered so far.
        process::watch_exit_after(&native.first);
        let handle = made.map_err(|(call, code)| self.failure(epoch, state, L::STATUS, call, code))?;
        state.handles.put(L::ID, ApiHandle::<L> { api, handle });
        Ok(())
    }

    pub(crate) fn slot_workspace(&self, state: &mut SlotState) -> Option<u64> {
        if state.workspace.is_none() {
            state.workspace = self.memory.raw_alloc(state, WORKSPACE).ok();
        }
        state.workspace
    }

    /// The error of a failed library call. The caller holds the slot's lease.
    #[cold]
    pub(crate) fn failure(
        &self,
        epoch: &Arc<Epoch>,
        state: &SlotState,
        table: &'static [super::Status],
        call: &str,
        code: Code,
    ) -> Error {
        // SAFETY: the stream is this slot's, which is leased.
        let stream = unsafe { self.context.api.stream_query(state.stream.0) };
        if !stream.is_success() && stream != Code::NOT_READY {
            crate::engines::cuda::report(epoch, stream, call);
            if epoch.dead() {
                return epoch.verdict();
            }
        }
        status::error(table, call, code)
    }
}
