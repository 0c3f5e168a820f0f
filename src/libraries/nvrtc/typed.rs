//! Kernels with a declared signature.

use super::Nvrtc;
use super::kernel::{Fit, Kernel};
use super::signature::{Arguments, Signature};
use super::twin::{ThreadIndex, TwinFn};
use crate::core::device_info::DeviceKind;
use crate::core::error::{Error, Rejected, Result};
use crate::core::launch::LaunchConfig;
use crate::core::sync::Arc;
use crate::device::dispatch::Submitted;

/// A kernel with a declared [`Signature`]: its launches are safe. Made by [`Kernel::typed`].
pub struct TypedKernel<S: Signature> {
    kernel: Kernel,
    check: Option<Check<S>>,
}

/// Checks whether the kernel supports a launch.
pub(super) type Check<S> = Arc<dyn Fn(&LaunchConfig, <S as Signature>::CheckArgs) -> Result<()> + Send + Sync>;

impl<S: Signature> Clone for TypedKernel<S> {
    fn clone(&self) -> Self {
        TypedKernel { kernel: self.kernel.clone(), check: self.check.clone() }
    }
}

impl Nvrtc {
    /// A kernel that is only a Rust function, for a host device. It is safe to make, because there is no device code to
    /// vouch for. `f` is called as described at [`Kernel::twin`]; `name` appears in errors and traces.
    ///
    /// ```
    /// # fn main() -> windlass::Result<()> {
    /// use windlass::nvrtc::{LaunchConfig, Read, Write};
    /// let device = windlass::Device::host()?;
    /// let add = device.nvrtc().twin::<(Read<f32>, Write<f32>)>("add", |at, (x, y)| {
    ///     if at.x() < y.len() {
    ///         y.set(at.x(), y.get(at.x()) + x.get(at.x()));
    ///     }
    /// })?;
    /// let (x, y) = (device.upload([1.0f32, 2.0])?.into_output(), device.upload([10.0f32, 20.0])?.into_output());
    /// let y = add.launch(LaunchConfig::for_elements(2)?, (&x, y))?.await_result()?;
    /// assert_eq!(device.download(&y)?.await_result()?, [11.0, 22.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Unsupported`] on a GPU, which cannot run Rust functions; [`Error::InvalidArgument`] for an empty name.
    pub fn twin<S: Signature>(
        &self,
        name: &str,
        f: impl for<'t> Fn(ThreadIndex, S::Views<'t>) + Send + Sync + 'static,
    ) -> Result<TypedKernel<S>> {
        self.only(name, |kernel| kernel.twin::<S>(f))
    }

    /// As [`twin`](Self::twin), with a function, or a closure that captures nothing. It also runs on isolated host
    /// devices; see [`Kernel::twin_fn`].
    ///
    /// # Errors
    /// As [`twin`](Self::twin).
    pub fn twin_fn<S: Signature>(&self, name: &str, f: TwinFn<S>) -> Result<TypedKernel<S>> {
        self.only(name, |kernel| kernel.twin_fn::<S>(f))
    }

    /// A kernel that is only its twin.
    fn only<S: Signature>(&self, name: &str, with: impl FnOnce(&Kernel) -> Result<Kernel>) -> Result<TypedKernel<S>> {
        if self.device().kind() != DeviceKind::Host {
            return Err(Error::unsupported(format!("`{name}` is a Rust function, which a GPU cannot run")));
        }
        let kernel = with(&self.twins().kernel(name)?)?;
        // SAFETY: there is no other code. Safe Rust accesses buffers through views that check every access. All memory
        // of a host device is initialised, so a twin that does not write all of an `Out` leaves its old contents.
        unsafe { kernel.typed::<S>() }
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

    /// Adds a twin for the host engine; see [`Kernel::twin`].
    ///
    /// # Errors
    /// As [`Kernel::twin`].
    pub fn twin(&self, f: impl for<'t> Fn(ThreadIndex, S::Views<'t>) + Send + Sync + 'static) -> Result<Self> {
        Ok(self.with(self.kernel.twin::<S>(f)?))
    }

    /// Adds a twin that also runs on isolated host devices; see [`Kernel::twin_fn`].
    ///
    /// # Errors
    /// As [`Kernel::twin`].
    pub fn twin_fn(&self, f: TwinFn<S>) -> Result<Self> {
        Ok(self.with(self.kernel.twin_fn::<S>(f)?))
    }

    /// The same kernel in the current generation of the device; see [`Kernel::reload`].
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
    pub fn on(&self, device: &crate::device::Device) -> Result<Self> {
        Ok(self.with(self.kernel.on(device)?))
    }

    /// Launches the kernel with a tuple of the arguments of its parameters. Returns the written buffers, in order: one,
    /// or a tuple.
    ///
    /// # Errors
    /// As [`Kernel::launch`], with the buffers back.
    pub fn launch<'a>(&'a self, config: impl Into<LaunchConfig>, args: impl Arguments<'a, S>) -> Submitted<S::Output> {
        let (config, mut args) = (config.into(), args.pass());
        let checked = args.complete().and_then(|()| match &self.check {
            None => Ok(()),
            Some(check) => match S::check_args(&args) {
                Some(given) => check(&config, given),
                None => Err(Error::library("internal error: the arguments do not match the signature")),
            },
        });
        let answer = match checked {
            // The signature was compared with the kernel when the two were joined.
            Ok(()) => self.kernel.submit(config, &mut args, Fit::Known),
            Err(error) => Err(self.kernel.refuse(error, args.writes)),
        };
        match answer {
            // The same signature typed the buffers in this call, so none of these fails.
            Ok(pending) => pending.retype(|any| any.downcast::<S::Output>()).map_err(|any| Error::from(any).into()),
            Err(Rejected { error, back }) => {
                Err(Rejected { error, back: back.and_then(|any| any.downcast::<S::Output>().ok()) }.into())
            }
        }
    }
}

impl<S: Signature> std::fmt::Debug for TypedKernel<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} with a signature", self.kernel)
    }
}
