//! The primary context of one GPU.

use super::Native;
use super::api::{Code, Driver};
use crate::sync::{AtomicBool, AtomicUsize};
use cudarc::driver::sys::CUcontext;

/// A retained primary context. Never reset: other code of the process may be using it.
pub(crate) struct Context {
    pub(crate) api: &'static Driver,
    pub(crate) device: i32,
    pub(crate) raw: Native<CUcontext>,
    /// Engines on it that have not ended: after a rebuild the old one may still hold results that nobody fetched.
    pub(crate) users: AtomicUsize,
    /// No engine follows the last one.
    pub(crate) last: AtomicBool,
}

impl Context {
    /// Makes the context current for the calling thread until the guard goes, which puts back what was.
    #[inline]
    pub(crate) fn bind(&self) -> Result<Bound<'_>, Code> {
        let mut before: CUcontext = std::ptr::null_mut();
        // SAFETY: `before` is valid for the write.
        unsafe { self.api.ctx_get_current(&mut before) }.ok()?;
        if before == self.raw.0 {
            return Ok(Bound { context: self, before: None });
        }
        // SAFETY: the context is retained as long as this object's epoch is open, which the caller checked.
        unsafe { self.api.ctx_set_current(self.raw.0) }.ok()?;
        Ok(Bound { context: self, before: Some(before) })
    }
}

/// The context is current.
pub(crate) struct Bound<'c> {
    context: &'c Context,
    before: Option<CUcontext>,
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
