//! The primary context of one GPU.

use super::fault::{self, CONTEXT_IS_DESTROYED};
use crate::core::epoch::Epoch;
use crate::core::error::Error;
use crate::core::sync::Arc;
use crate::core::sync::Mutex;
use crate::engines::cuda::Native;
use crate::engines::cuda::api::{Code, Driver};
use crate::engines::cuda::graph::Inside;
use cudarc::driver::sys::CUcontext;

/// The name of the failed step in errors of [`Context::bind`].
pub(crate) const BINDING: &str = "making the context current";

/// A retained primary context. This crate never resets it: other code of the process may be using it.
pub(crate) struct Context {
    pub(crate) api: &'static Driver,
    pub(crate) device: i32,
    pub(crate) raw: Native<CUcontext>,
    held: Mutex<Users>,
}

/// Who needs the context. It is released when no further epoch will be made on it and the native objects of the last
/// epoch are gone.
#[derive(Default)]
struct Users {
    /// Epochs that have native objects on it.
    epochs: usize,
    /// No further epoch will be made on it.
    done: bool,
    released: bool,
    /// The process has lost the GPU: the context is not released.
    lost: bool,
}

impl Context {
    /// Retains the primary context of `device`.
    pub(crate) fn retain(api: &'static Driver, device: i32) -> Result<Self, Code> {
        let mut raw: CUcontext = std::ptr::null_mut();
        // SAFETY: `raw` is valid for the write.
        unsafe { api.device_primary_ctx_retain(&mut raw, device) }.ok()?;
        Ok(Context { api, device, raw: Native(raw), held: Mutex::default() })
    }

    /// As [`bind`](Self::bind); a failure ends the epoch if it must.
    #[inline]
    pub(crate) fn bind_for(&self, epoch: &Arc<Epoch>) -> Result<Bound<'_>, Error> {
        self.bind().map_err(|code| fault::classify(epoch, code, BINDING))
    }

    /// Counts an epoch that makes native objects on it.
    pub(crate) fn enter(&self) {
        self.held.lock().epochs += 1;
    }

    /// The native objects of one epoch are gone. Releases the context if it is no longer needed.
    pub(crate) fn leave(&self) -> Code {
        {
            let mut held = self.held.lock();
            // Already 0 if `forsake` was called meanwhile.
            held.epochs = held.epochs.saturating_sub(1);
        }
        self.release_unused()
    }

    /// Declares that no further epoch will be made on it. Makes no driver call.
    pub(crate) fn close(&self) {
        self.held.lock().done = true;
    }

    /// Whether no further epoch will be made on it.
    pub(crate) fn closed(&self) -> bool {
        self.held.lock().done
    }

    /// Closes it, and releases it unless an epoch still needs it.
    pub(crate) fn release(&self) -> Code {
        self.close();
        self.release_unused()
    }

    /// Records that a fault ended it.
    pub(crate) fn lose(&self) {
        self.held.lock().lost = true;
    }

    /// Whether a fault ended it.
    pub(crate) fn lost(&self) -> bool {
        self.held.lock().lost
    }

    /// Call when other code destroyed the context. A context that was reset still counts how often it was retained, so
    /// this releases it.
    pub(crate) fn forsake(&self) -> Code {
        let mut held = self.held.lock();
        (held.epochs, held.done) = (0, true);
        drop(held);
        self.release_unused()
    }

    /// Whether it was released.
    pub(crate) fn released(&self) -> bool {
        self.held.lock().released
    }

    /// Whether it is active: it was never reset, or it was created again since.
    pub(crate) fn active(&self) -> Result<bool, Code> {
        let (mut flags, mut active) = (0, 0);
        // SAFETY: both are valid for the write.
        unsafe { self.api.device_primary_ctx_get_state(self.device, &mut flags, &mut active) }.ok()?;
        Ok(active != 0)
    }

    /// Detects a reset as [`bind`](Self::bind) does, for calls that need no current context.
    #[inline]
    pub(crate) fn look(&self) -> Result<(), Code> {
        if self.active()? { Ok(()) } else { Err(Code(CONTEXT_IS_DESTROYED)) }
    }

    /// Releases it if it is closed and the last native objects are gone.
    pub(crate) fn release_unused(&self) -> Code {
        let mut held = self.held.lock();
        if held.released || held.lost || !held.done || held.epochs > 0 {
            return Code::SUCCESS;
        }
        held.released = true;
        drop(held);
        // SAFETY: retained once, released once; nothing of this crate uses it any more.
        unsafe { self.api.device_primary_ctx_release(self.device) }
    }

    /// Makes the context current for the calling thread. Dropping the guard restores the previous one.
    ///
    /// This also detects that other code has reset the context, before any call uses a handle that was destroyed with
    /// it. The driver refuses to make such a context current. If it is current already, nothing is set, so its state is
    /// queried instead. The driver's own calls would return [`CONTEXT_IS_DESTROYED`] as well, but a library need not:
    /// the CUDA runtime inside it may retain the context again, at the same address, and go on with a stream that no
    /// longer exists. The query takes 18 ns on an H200. On threads where the context is not current yet, making it
    /// current and restoring the previous one takes 54 ns.
    ///
    /// While the guard lives, the thread counts as inside the driver. While a stream is captured, this call waits
    /// (`quiet.rs`).
    ///
    /// If other code has reset the context and retained it again since, it is active and at the same address. It cannot
    /// be told from ours, and what happens then is undefined.
    #[inline]
    pub(crate) fn bind(&self) -> Result<Bound<'_>, Code> {
        let inside = Some(Inside::enter());
        let mut before: CUcontext = std::ptr::null_mut();
        // SAFETY: `before` is valid for the write.
        unsafe { self.api.ctx_get_current(&mut before) }.ok()?;
        if before == self.raw.0 {
            self.look()?;
            return Ok(Bound { context: self, before: None, inside });
        }
        // SAFETY: the context is retained as long as this object's epoch is open, which the caller checked.
        unsafe { self.api.ctx_set_current(self.raw.0) }.ok()?;
        Ok(Bound { context: self, before: Some(before), inside })
    }
}

impl Context {
    /// Makes the context current, if it is not: the restoring by a guard of another context may have failed.
    pub(crate) fn make_current(&self) -> Result<(), Code> {
        let mut now: CUcontext = std::ptr::null_mut();
        // SAFETY: `now` is valid for the write.
        unsafe { self.api.ctx_get_current(&mut now) }.ok()?;
        // SAFETY: the caller has bound this context, so it is retained.
        if now == self.raw.0 { Ok(()) } else { unsafe { self.api.ctx_set_current(self.raw.0) }.ok() }
    }
}

/// The guard of [`Context::bind`]: the context is current while it lives.
pub(crate) struct Bound<'c> {
    context: &'c Context,
    before: Option<CUcontext>,
    inside: Option<Inside>,
}

impl Bound<'_> {
    /// Declares that from here on the thread only waits for an event. That disturbs no capture, so no capture has to
    /// wait for this thread.
    pub(crate) fn only_waits(&mut self) {
        self.inside = None;
    }
}

impl Drop for Bound<'_> {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // SAFETY: the context that was current before `bind`; null is allowed.
            let _ = unsafe { self.context.api.ctx_set_current(before) };
        }
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Context(device {})", self.device)
    }
}
