//! The primary context of one GPU.

use super::Native;
use super::api::{Code, Driver};
use super::fault::CONTEXT_IS_DESTROYED;
use super::inside::Inside;
use crate::sync::Mutex;
use cudarc::driver::sys::CUcontext;

/// What failed where [`Context::bind`] did.
pub(crate) const BINDING: &str = "making the context current";

/// A retained primary context. Never reset: other code of the process may be using it.
pub(crate) struct Context {
    pub(crate) api: &'static Driver,
    pub(crate) device: i32,
    pub(crate) raw: Native<CUcontext>,
    held: Mutex<Users>,
}

/// Who needs the context: it goes when nobody will make another epoch on it, and the last one's natives are gone.
#[derive(Default)]
struct Users {
    /// Epochs with natives on it.
    epochs: usize,
    /// No other epoch will be made on it.
    done: bool,
    released: bool,
    /// The process has lost the GPU: the driver is left alone.
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

    /// An epoch makes natives on it.
    pub(crate) fn enter(&self) {
        self.held.lock().epochs += 1;
    }

    /// That epoch's natives are gone.
    pub(crate) fn leave(&self) -> Code {
        {
            let mut held = self.held.lock();
            // None where it was forsaken meanwhile.
            held.epochs = held.epochs.saturating_sub(1);
        }
        self.release_unused()
    }

    /// No other epoch will be made on it. Makes no driver call.
    pub(crate) fn close(&self) {
        self.held.lock().done = true;
    }

    /// Whether no other epoch will be made on it.
    pub(crate) fn closed(&self) -> bool {
        self.held.lock().done
    }

    /// Closes it, and gives it back unless somebody needs it.
    pub(crate) fn release(&self) -> Code {
        self.close();
        self.release_unused()
    }

    /// A fault ended it.
    pub(crate) fn lose(&self) {
        self.held.lock().lost = true;
    }

    /// Whether a fault ended it.
    pub(crate) fn lost(&self) -> bool {
        self.held.lock().lost
    }

    /// Somebody destroyed it. A context that was reset still counts who retained it, so that is given back.
    pub(crate) fn forsake(&self) -> Code {
        let mut held = self.held.lock();
        (held.epochs, held.done) = (0, true);
        drop(held);
        self.release_unused()
    }

    /// Whether it was given back.
    pub(crate) fn released(&self) -> bool {
        self.held.lock().released
    }

    /// Whether it is there: nobody has reset it, or somebody has made it anew since.
    pub(crate) fn active(&self) -> Result<bool, Code> {
        let (mut flags, mut active) = (0, 0);
        // SAFETY: both are valid for the write.
        unsafe { self.api.device_primary_ctx_get_state(self.device, &mut flags, &mut active) }.ok()?;
        Ok(active != 0)
    }

    /// As [`bind`](Self::bind) notices a reset, for calls that need no current context.
    #[inline]
    pub(crate) fn look(&self) -> Result<(), Code> {
        if self.active()? { Ok(()) } else { Err(Code(CONTEXT_IS_DESTROYED)) }
    }

    /// Gives it back when it is closed and the last natives are gone.
    pub(crate) fn release_unused(&self) -> Code {
        let mut held = self.held.lock();
        if held.released || held.lost || !held.done || held.epochs > 0 {
            return Code::SUCCESS;
        }
        held.released = true;
        drop(held);
        // SAFETY: retained once, released once; nothing of ours uses it any more.
        unsafe { self.api.device_primary_ctx_release(self.device) }
    }

    /// Makes the context current for the calling thread until the guard goes, which puts back what was.
    ///
    /// This is also how it is noticed that somebody else has reset the context, before anything is called with a handle
    /// that went with it: the driver refuses to make it current, and where it is current already, so that nothing is
    /// set, its state is asked for. The driver's own calls would answer [`CONTEXT_IS_DESTROYED`] as well, but a library
    /// need not: the runtime inside it may retain the context anew, at the same address, and go on with a stream that
    /// is gone. Asking takes 18 ns on an H200; making current and putting back, which all other threads pay, 54 ns.
    ///
    /// Meanwhile the thread counts as inside the driver; it waits here as long as a stream is captured (`quiet.rs`).
    ///
    /// A context that somebody has reset and retained anew since is active and at the same address: it is not told from
    /// ours, and what happens then is undefined.
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

/// The context is current.
pub(crate) struct Bound<'c> {
    context: &'c Context,
    before: Option<CUcontext>,
    inside: Option<Inside>,
}

impl Bound<'_> {
    /// From here on the thread only waits for an event, which disturbs no capture: none has to wait for it.
    pub(crate) fn only_waits(&mut self) {
        self.inside = None;
    }
}

impl Drop for Bound<'_> {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // SAFETY: what was current a moment ago; null is allowed.
            let _ = unsafe { self.context.api.ctx_set_current(before) };
        }
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Context(device {})", self.device)
    }
}
