//! What the slot's libraries share: a workspace, and what their status codes mean.

use super::api::{Code, codes};
use super::enqueue::Enqueue;
use super::fault;
use crate::error::{Site, Text};
use crate::op::Op;
use crate::{Error, Result};

/// 32 MiB: what cuBLAS recommends for Hopper.
pub(super) const WORKSPACE: usize = 32 << 20;

/// The error for a status of cuBLAS or cuBLASLt, which share their codes.
pub(super) fn error(call: &str, code: Code) -> Error {
    const NOT_INITIALIZED: i32 = 1;
    const ALLOC_FAILED: i32 = 3;
    const NOT_SUPPORTED: i32 = 15;
    let name = codes::cublas_name(code.0).unwrap_or("an unknown status");
    let error = match code.0 {
        // The library's way of saying that its own allocation failed: our pool may hold what it wants.
        NOT_INITIALIZED | ALLOC_FAILED => {
            Error::OutOfMemory { requested: 0, free: 0, total: 0, limit: 0, site: Site::none() }
        }
        NOT_SUPPORTED => Error::unsupported(format!("{call} answered {name}")),
        _ => Error::library(format!("{call} failed: {name}")),
    };
    error.locate(|site| {
        site.set_code(code.0, Text::Borrowed(name));
    })
}

impl<O: Op> Enqueue<'_, O> {
    /// Device memory that the slot's libraries work in, [`WORKSPACE`] bytes, if there is room for it. One for all of
    /// them: what they enqueue is on one stream, so each kernel is done with it before the next one begins, whichever
    /// library launched it; and nothing in it is meant to last from one call to the next.
    pub(super) fn workspace(&mut self) -> Option<u64> {
        if self.state.workspace.is_none() {
            self.state.workspace = self.core.raw_alloc(self.state, WORKSPACE).ok();
        }
        self.state.workspace
    }

    /// What a status means. After a failure the stream is asked: a sticky code outranks the library's own.
    pub(crate) fn library_status(&self, call: &str, code: Code) -> Result<()> {
        if code.is_success() {
            return Ok(());
        }
        // SAFETY: the stream is this slot's, which is leased.
        let stream = unsafe { self.core.context.api.stream_query(self.state.stream.0) };
        if !stream.is_success() && stream != Code::NOT_READY {
            fault::report(self.epoch, stream, call);
            if self.epoch.dead() {
                return Err(self.epoch.verdict());
            }
        }
        Err(error(call, code))
    }
}
