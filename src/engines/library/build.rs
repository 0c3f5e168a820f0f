//! What a plan is built with: see [`PlanKey`](crate::op::PlanKey).

use super::contract::{CudaLibrary, Listed, unlisted};
use super::{Code, Object, status};
use crate::core::error::{Error, Result};
use crate::core::sync::Arc;
use crate::engines::cuda::Core;
use crate::engines::op::plan::PlanBuilder;

impl<'b> PlanBuilder<'b> {
    /// The engine whose context is current.
    ///
    /// # Errors
    /// None in truth: only the CUDA engine makes one.
    pub(crate) fn core(&self) -> Result<&'b Arc<Core>> {
        Ok(&self.epoch.engine.as_cuda().ok_or_else(unlisted)?.core)
    }

    /// The functions of a library.
    ///
    /// # Errors
    /// The library is missing.
    pub(crate) fn api<L: Listed>(&self) -> Result<&'static L::Api> {
        Ok(L::load()?)
    }

    /// The error of a failed call. The driver is queried too: a sticky code takes precedence over the library's own
    /// code.
    #[cold]
    pub(crate) fn failure<L: CudaLibrary>(&self, call: &str, code: Code) -> Error {
        let core = match self.core() {
            Ok(core) => core,
            Err(error) => return error,
        };
        let (mut free, mut total) = (0, 0);
        // SAFETY: the pointers are valid; the context is current, and its end waits for the build.
        let driver = unsafe { core.context.api.mem_get_info(&mut free, &mut total) };
        if !driver.is_success() {
            crate::engines::cuda::report(self.epoch, driver, call);
            if self.epoch.dead() {
                return self.epoch.verdict();
            }
        }
        status::error(L::STATUS, call, code)
    }

    /// Waits for what a library has enqueued on the context's default streams while it made the plan. Our streams do not
    /// wait for these. No work of ours is on them, so a long kernel of another thread does not hold this up.
    ///
    /// # Errors
    /// A failure of that work, or an earlier fault of the context.
    pub(crate) fn finish_default_streams(&self, call: &str) -> Result<()> {
        const LEGACY: usize = 1;
        const PER_THREAD: usize = 2;
        let core = self.core()?;
        for stream in [LEGACY, PER_THREAD] {
            // SAFETY: both numbers stand for streams that each context has; the context is current.
            let code = unsafe { core.context.api.stream_synchronize(std::ptr::without_provenance_mut(stream)) };
            code.ok().map_err(|code| crate::engines::cuda::classify(self.epoch, code, call))?;
        }
        Ok(())
    }

    /// Makes a native object that the epoch owns from now on: see [`Enqueue::object`](crate::op::Enqueue).
    pub(crate) fn object<T: Copy + Send + 'static>(
        &self,
        raw: T,
        destroy: impl FnOnce(T) -> Code + Send + 'static,
    ) -> Result<Object<T>> {
        Ok(self.core()?.object(raw, destroy))
    }
}
