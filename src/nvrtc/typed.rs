//! A kernel whose parameters are a type.

use super::config::LaunchConfig;
use super::kernel::Kernel;
use super::signature::{Arguments, Signature};
use super::twin::ThreadIndex;
use crate::{Error, Rejected, Result, Submitted};
use std::marker::PhantomData;

/// A kernel with a declared [`Signature`]: launching it is safe. Made by [`Kernel::typed`].
pub struct TypedKernel<S> {
    kernel: Kernel,
    _signature: PhantomData<fn() -> S>,
}

impl<S> Clone for TypedKernel<S> {
    fn clone(&self) -> Self {
        TypedKernel { kernel: self.kernel.clone(), _signature: PhantomData }
    }
}

impl<S: Signature> TypedKernel<S> {
    pub(super) fn new(kernel: Kernel) -> Self {
        TypedKernel { kernel, _signature: PhantomData }
    }

    /// The kernel without its signature.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// With a twin for the host engine; see [`Kernel::twin`].
    ///
    /// # Errors
    /// As [`Kernel::twin`].
    pub fn twin(&self, f: impl for<'t> Fn(ThreadIndex, S::Views<'t>) + Send + Sync + 'static) -> Result<Self> {
        Ok(Self::new(self.kernel.twin::<S>(f)?))
    }

    /// The same kernel in the device's generation of today; see [`Kernel::reload`].
    ///
    /// # Errors
    /// As [`Kernel::reload`].
    pub fn reload(&self) -> Result<Self> {
        Ok(Self::new(self.kernel.reload()?))
    }

    /// The same kernel with the settings of another handle of its device; see [`Kernel::on`].
    ///
    /// # Errors
    /// As [`Kernel::on`].
    pub fn on(&self, device: &crate::Device) -> Result<Self> {
        Ok(Self::new(self.kernel.on(device)?))
    }

    /// Launches it with a tuple of what its parameters take. Gives the written buffers, in order: one, or a tuple.
    ///
    /// # Errors
    /// As [`Kernel::launch`], with the buffers back.
    pub fn launch<'a>(&'a self, config: impl Into<LaunchConfig>, args: impl Arguments<'a, S>) -> Submitted<S::Output> {
        match self.kernel.submit(config.into(), args.pass()) {
            // The buffers were typed by the same signature a moment ago, so none of these fails.
            Ok(pending) => pending.retype(|any| any.downcast::<S::Output>()).map_err(|any| Error::from(any).into()),
            Err(Rejected { error, back }) => {
                Err(Rejected { error, back: back.and_then(|any| any.downcast::<S::Output>().ok()) })
            }
        }
    }
}

impl<S> std::fmt::Debug for TypedKernel<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} with a signature", self.kernel)
    }
}
