//! What a plan is built with: see [`PlanKey`](crate::PlanKey).

use super::contract::{CudaLibrary, Listed};
use super::objects::Object;
use super::{Code, status};
use crate::core::error::{Error, Result};
use crate::engines::cuda::PlanBuilder;

impl PlanBuilder<'_> {
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
        let (mut free, mut total) = (0, 0);
        // SAFETY: the pointers are valid; the context is current, and its end waits for the build.
        let driver = unsafe { self.core.context.api.mem_get_info(&mut free, &mut total) };
        if !driver.is_success() {
            crate::engines::cuda::report(self.epoch, driver, call);
            if self.epoch.dead() {
                return self.epoch.verdict();
            }
        }
        status::error(L::STATUS, call, code)
    }

    /// Makes a native object that the epoch owns from now on: see [`Enqueue::object`](crate::Enqueue).
    pub(crate) fn object<T: Copy + Send + 'static>(
        &self,
        raw: T,
        destroy: impl FnOnce(T) -> Code + Send + 'static,
    ) -> Object<T> {
        self.core.object(raw, destroy)
    }
}
