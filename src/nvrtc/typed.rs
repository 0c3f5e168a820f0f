//! A kernel whose parameters are a type.

use super::config::LaunchConfig;
use super::kernel::{Fit, Kernel};
use super::signature::{Arguments, Signature};
use super::twin::ThreadIndex;
use crate::sync::Arc;
use crate::{Error, Rejected, Result, Submitted};

/// A kernel with a declared [`Signature`]: launching it is safe. Made by [`Kernel::typed`].
pub struct TypedKernel<S: Signature> {
    kernel: Kernel,
    check: Option<Check<S>>,
}

/// Whether the kernel is made for a launch.
pub(super) type Check<S> = Arc<dyn Fn(&LaunchConfig, <S as Signature>::Given) -> Result<()> + Send + Sync>;

impl<S: Signature> Clone for TypedKernel<S> {
    fn clone(&self) -> Self {
        TypedKernel { kernel: self.kernel.clone(), check: self.check.clone() }
    }
}

impl<S: Signature> TypedKernel<S> {
    pub(super) fn new(kernel: Kernel, check: Option<Check<S>>) -> Self {
        TypedKernel { kernel, check }
    }

    fn with(&self, kernel: Kernel) -> Self {
        Self::new(kernel, self.check.clone())
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
        Ok(self.with(self.kernel.twin::<S>(f)?))
    }

    /// The same kernel in the device's generation of today; see [`Kernel::reload`].
    ///
    /// # Errors
    /// As [`Kernel::reload`].
    pub fn reload(&self) -> Result<Self> {
        Ok(self.with(self.kernel.reload()?))
    }

    /// The same kernel with the settings of another handle of its device; see [`Kernel::on`].
    ///
    /// # Errors
    /// As [`Kernel::on`].
    pub fn on(&self, device: &crate::Device) -> Result<Self> {
        Ok(self.with(self.kernel.on(device)?))
    }

    /// Launches it with a tuple of what its parameters take. Gives the written buffers, in order: one, or a tuple.
    ///
    /// # Errors
    /// As [`Kernel::launch`], with the buffers back.
    pub fn launch<'a>(&'a self, config: impl Into<LaunchConfig>, args: impl Arguments<'a, S>) -> Submitted<S::Output> {
        let (config, mut args) = (config.into(), args.pass());
        let checked = args.complete().and_then(|()| match &self.check {
            None => Ok(()),
            Some(check) => match S::given(&args) {
                Some(given) => check(&config, given),
                None => Err(Error::library("arguments of another signature")),
            },
        });
        let answer = match checked {
            // That the signature fits the kernel was seen when the two were put together.
            Ok(()) => self.kernel.submit(config, args, Fit::Known),
            Err(error) => Err(self.kernel.refuse(error, args.writes)),
        };
        match answer {
            // The buffers were typed by the same signature a moment ago, so none of these fails.
            Ok(pending) => pending.retype(|any| any.downcast::<S::Output>()).map_err(|any| Error::from(any).into()),
            Err(Rejected { error, back }) => {
                Err(Rejected { error, back: back.and_then(|any| any.downcast::<S::Output>().ok()) })
            }
        }
    }
}

impl<S: Signature> std::fmt::Debug for TypedKernel<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} with a signature", self.kernel)
    }
}
