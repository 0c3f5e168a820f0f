//! Kernels: looked up in a module, launched any number of times from any thread.

use super::args::Args;
use super::kind;
use super::launch::{KernelCode, Launch};
#[cfg(feature = "cuda")]
use super::loaded::Function;
use super::module::{Module, SharedModule};
use super::packed::PackedArguments;
use super::signature::Signature;
use super::twin::{ThreadIndex, Twin, TwinFn};
use super::typed::{Check, TypedKernel};
use super::{parameter_names, parameters};
use crate::core::buffer::AnyBuffers;
#[cfg(feature = "cuda")]
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Rejected, Result};
use crate::core::launch::{DeviceLimits, KernelLimits, LaunchConfig, Parameter};
use crate::core::sync::Arc;
use crate::device::Device;
use crate::device::dispatch::Submitted;
use crate::engines::op::StackOp;

/// Whether the arguments are known to fit the kernel's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// Known: a signature that fits made them.
    Known,
    /// Not known: they must be compared one by one.
    Unknown,
}

/// A kernel of a module, for one device and one generation of it.
///
/// Cheap to clone; several threads can launch it at the same time. After a rebuild of the device it fails with
/// [`Error::GpuRefStale`]; [`reload`](Self::reload) gives the kernel of the new generation. The module is unloaded
/// after the last handle of it and of its kernels is dropped and nothing of it is in flight.
///
/// On a host device the PTX of a kernel runs on the CPU, with every access checked (see
/// [`KernelChecks`](super::KernelChecks)); a program is compiled for it where libnvrtc is found. A kernel with a *twin*, a Rust
/// function that is called once for each thread, runs as that: see [`twin`](Self::twin).
#[derive(Clone)]
pub struct Kernel {
    pub(super) device: Device,
    inner: Arc<Inner>,
}

struct Inner {
    /// Its name in the source or in the image.
    name: &'static &'static str,
    module: Arc<SharedModule>,
    parameters: Option<Vec<Parameter>>,
    #[cfg(feature = "cuda")]
    function: Option<Function>,
    twin: Option<Arc<Twin>>,
}

impl Kernel {
    /// Looks up the kernel `name` of a module, and loads the module.
    pub(super) fn find(device: &Device, module: &Arc<SharedModule>, name: &str) -> Result<Self> {
        if name.is_empty() {
            return Err(module.no_kernel(name)); // the driver would not treat it as a name
        }
        #[cfg_attr(not(feature = "cuda"), expect(unused_mut, reason = "the driver knows more"))]
        let mut parameters = module.parameters(name);
        #[cfg(feature = "cuda")]
        let function = match module.function(name, parameters.is_none())? {
            Some((function, known)) => {
                parameters = parameters.or(known);
                Some(function)
            }
            None => None,
        };
        if parameters.is_none() && !module.may_have(name) {
            return Err(module.no_kernel(name));
        }
        let inner = Inner {
            name: crate::core::intern::name(name),
            module: module.clone(),
            parameters,
            #[cfg(feature = "cuda")]
            function,
            twin: None,
        };
        Ok(Kernel { device: device.clone(), inner: Arc::new(inner) })
    }

    /// The name with which the kernel was looked up.
    pub fn name(&self) -> &str {
        self.inner.name
    }

    /// The generation of the device to which the kernel belongs.
    pub fn generation(&self) -> u64 {
        self.inner.module.epoch().generation
    }

    /// Its device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Its module.
    pub fn module(&self) -> Module {
        Module::from_held(&self.device, self.inner.module.clone())
    }

    /// The same kernel with the settings of another handle of its device: timing, label, kind of wait.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the handle is of another device.
    pub fn on(&self, device: &Device) -> Result<Self> {
        if *device != self.device {
            let reason = format!("`{}` is a kernel of {}, not of {}", self.name(), self.device.name(), device.name());
            return Err(Error::invalid("device", reason));
        }
        Ok(Kernel { device: device.clone(), inner: self.inner.clone() })
    }

    /// The same kernel in the current generation of the device: the image is kept, and loaded again. Reloaded kernels
    /// of one module share a module again. The variables of the module have their initial values.
    ///
    /// # Errors
    /// As [`Module::kernel`].
    pub fn reload(&self) -> Result<Self> {
        let module = self.inner.module.again(&self.device)?;
        let fresh = Self::find(&self.device, &module, self.name())?;
        match &self.inner.twin {
            None => Ok(fresh),
            Some(twin) => Ok(fresh.with_twin(twin.clone())),
        }
    }

    fn with_twin(self, twin: Arc<Twin>) -> Self {
        let inner = Inner {
            name: self.inner.name,
            module: self.inner.module.clone(),
            parameters: self.inner.parameters.clone(),
            #[cfg(feature = "cuda")]
            function: self.inner.function.clone(),
            twin: Some(twin),
        };
        Kernel { device: self.device, inner: Arc::new(inner) }
    }

    /// Adds a twin for the host engine. `f` is called once for each thread of the grid, in parallel and in no
    /// particular order, with the index of the thread and the arguments of the launch, typed by the signature `S`. On a
    /// GPU the twin is kept, but not used.
    ///
    /// All threads share the buffers that are written ([`SharedSlice`](super::SharedSlice)); an access past the end of
    /// a buffer fails the launch. The threads of a block cannot synchronize and have no shared memory. If the kernel
    /// uses either, its twin must compute the same result in another way.
    ///
    /// On an isolated host device a closure fails at the launch with [`Error::Unsupported`], because the worker process
    /// does not have the values that closures capture. [`twin_fn`](Self::twin_fn) also runs there.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::nvrtc::{LaunchConfig, Source, Read, Write};
    /// let device = windlass::Device::host()?;
    /// let add = device.nvrtc().twins().kernel("add")?;
    /// let add = add.twin::<(Read<f32>, Write<f32>)>(|at, (x, y)| {
    ///     if at.x() < y.len() {
    ///         y.set(at.x(), y.get(at.x()) + x.get(at.x()));
    ///     }
    /// })?;
    /// let (x, y) = (device.upload([1.0f32, 2.0])?.into_output(), device.upload([10.0f32, 20.0])?.into_output());
    /// // SAFETY: the twin is the only code there is.
    /// let written = unsafe { add.launch(LaunchConfig::for_elements(2)?, (&x, y)) }?.await_result()?;
    /// let (y,) = written.downcast::<windlass::DeviceBuffer<f32>>()?;
    /// assert_eq!(device.download(&y)?.await_result()?, [11.0, 22.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the signature does not fit the kernel's own parameters, where these are known.
    pub fn twin<S: Signature>(
        &self,
        f: impl for<'t> Fn(ThreadIndex, S::Views<'t>) + Send + Sync + 'static,
    ) -> Result<Self> {
        self.fits::<S>()?;
        Ok(self.clone().with_twin(Arc::new(Twin::new::<S, _>(f))))
    }

    /// As [`twin`](Self::twin), with a function, or a closure that captures nothing. It also runs on isolated host
    /// devices, in the worker process, unless the worker is another program than this one (`windlass-worker`). Each
    /// thread is called through a pointer; a [`twin`](Self::twin) is compiled into the loop over the threads.
    ///
    /// # Errors
    /// As [`twin`](Self::twin).
    pub fn twin_fn<S: Signature>(&self, f: TwinFn<S>) -> Result<Self> {
        self.fits::<S>()?;
        Ok(self.clone().with_twin(Arc::new(Twin::of_fn::<S>(f))))
    }

    /// Declares the types of the parameters. Launches are then safe, and return the written buffers with their types.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the signature does not fit the kernel's own parameters, or those of its twin.
    ///
    /// # Safety
    /// For **any** arguments of this signature and any configuration that the device allows, the kernel reads only what
    /// it gets as [`Read`](super::Read), reads and writes only what it gets as [`Write`](super::Write) or
    /// [`Out`](super::Out), stays within their bounds, and writes all of each `Out`. It terminates. It does not
    /// dereference what it gets as [`DevicePtr`](super::DevicePtr).
    ///
    /// So a kernel that needs the length of its buffers takes it as [`Len`](super::Len), which is always right. For a
    /// kernel with further requirements use [`typed_if`](Self::typed_if).
    pub unsafe fn typed<S: Signature>(&self) -> Result<TypedKernel<S>> {
        self.with_signature(None)
    }

    /// As [`typed`](Self::typed), but `check` is called before each launch, with the configuration, the lengths of the
    /// buffers and the values, in order. It returns an error for arguments that the kernel does not support.
    ///
    /// ```
    /// # fn main() -> windlass::Result<()> {
    /// use windlass::Error;
    /// use windlass::nvrtc::{LaunchConfig, Write};
    /// let device = windlass::Device::host()?;
    /// let clear = device.nvrtc().twins().kernel("clear_rows")?;
    /// let clear = clear.twin::<(Write<f32>, u32, u32)>(|at, (x, rows, cols)| {
    ///     if at.x() < cols as usize && at.y() < rows as usize {
    ///         x.set(at.y() * cols as usize + at.x(), 0.0);
    ///     }
    /// })?;
    /// // SAFETY: it writes `rows * cols` elements, which is what the check asks for.
    /// let clear = unsafe {
    ///     clear.typed_if::<(Write<f32>, u32, u32)>(|_, (len, rows, cols)| match rows as usize * cols as usize == len {
    ///         true => Ok(()),
    ///         false => Err(Error::invalid("x", format!("{len} elements for {rows} x {cols}"))),
    ///     })
    /// }?;
    /// let x = clear.launch(LaunchConfig::new(1, (4, 2)), (device.upload([1.0f32; 8])?.into_output(), 2, 4))?.into_output();
    /// assert!(clear.launch(LaunchConfig::new(1, (4, 2)), (x, 3, 4)).is_err());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`typed`](Self::typed).
    ///
    /// # Safety
    /// As [`typed`](Self::typed), for the arguments and configurations for which `check` returns `Ok`.
    pub unsafe fn typed_if<S: Signature>(
        &self,
        check: impl Fn(&LaunchConfig, S::CheckArgs) -> Result<()> + Send + Sync + 'static,
    ) -> Result<TypedKernel<S>> {
        self.with_signature(Some(Arc::new(check)))
    }

    fn with_signature<S: Signature>(&self, check: Option<Check<S>>) -> Result<TypedKernel<S>> {
        self.fits::<S>()?;
        if let Some(twin) = &self.inner.twin
            && !kind::same(twin.kinds, S::KINDS)
        {
            return Err(Error::invalid("S", format!("the twin of `{}` has a different signature", self.name())));
        }
        Ok(TypedKernel::new(self.clone(), check))
    }

    fn fits<S: Signature>(&self) -> Result<()> {
        match &self.inner.parameters {
            Some(own) => kind::fits(self.name(), S::KINDS, own),
            None => Ok(()),
        }
    }

    /// Launches the kernel.
    ///
    /// The arguments are in the order of the kernel's parameters: a tuple of up to sixteen, or [`Args`]. Buffers that
    /// are read are borrowed for the call. Buffers that are written are moved in, and come back from the wait in their
    /// order. The launch runs after every earlier operation on its buffers, and before later ones.
    ///
    /// # Errors
    /// All errors are found before the launch, and the buffers come back. [`Error::InvalidArgument`] for too few or too
    /// many arguments; an argument whose size or kind differs from the kernel's parameter (named by its position,
    /// counted from 0, and by the parameter's name if the source is known); a grid, block, cluster, priority or shared memory that the device or the kernel does not allow;
    /// a buffer of another device. [`Error::GpuRefStale`] if the kernel or a buffer is of an earlier generation.
    /// [`Error::Unsupported`] on a host device if the kernel has no twin, and no PTX that runs there.
    ///
    /// PTX declares the kernel's parameters: their number and sizes, and whether each is an integer or a float. For a
    /// CUBIN or a fatbin the driver reports number and sizes, from CUDA 12.4 on, and only these are compared: an `f32`
    /// for an `int` is not detected. Where nothing is known, only the signature of the twin is compared.
    ///
    /// # Safety
    /// With these arguments and this configuration, the kernel reads and writes only the buffers that it gets, within
    /// their bounds, writes none that it gets as read-only, and writes all of each [`Arg::out`](super::Arg::out). It
    /// terminates. Memory that it reaches through a [`DevicePtr`](super::DevicePtr) is alive, and no other work uses it
    /// at the same time.
    pub unsafe fn launch<'a>(
        &'a self,
        config: impl Into<LaunchConfig>,
        args: impl Into<Args<'a>>,
    ) -> Submitted<AnyBuffers> {
        let mut args = args.into();
        match args.complete() {
            Ok(()) => self.submit(config.into(), &mut args, Fit::Unknown),
            Err(error) => Err(self.refuse(error, args.writes)),
        }
    }

    /// All of a launch except the safety promise. The arguments are [complete](Args::complete).
    pub(super) fn submit<'a>(&'a self, config: LaunchConfig, args: &mut Args<'a>, fit: Fit) -> Submitted<AnyBuffers> {
        let code = match self.check(&config, &args.packed, fit) {
            Ok(code) => code,
            Err(error) => return Err(self.refuse(error, std::mem::take(&mut args.writes))),
        };
        // On a GPU only a trace needs this size.
        #[cfg(feature = "cuda")]
        let asked = !matches!(code, KernelCode::Cuda(_)) || self.device.inner().counters.trace().is_some();
        #[cfg(not(feature = "cuda"))]
        let asked = true;
        let moved = if asked { args.bytes_moved() } else { 0 };
        #[cfg(feature = "cuda")]
        if let Some(globals) = self.inner.module.globals_in() {
            args.reads.push(globals);
        }
        let packed = std::mem::take(&mut args.packed);
        let op = Launch { kernel: self.inner.name, code, config, packed, bytes: moved };
        let mut op = StackOp::new(op);
        let submitted = self.device.dispatch_from(&mut op, &args.reads, std::mem::take(&mut args.writes));
        submitted.map_err(|Rejected { error, back }| {
            let error = match op.op() {
                Some(op) => op.tell_of_out(error),
                None => error,
            };
            Rejected { error: self.name_argument(error), back }
        })
    }

    /// Adds the parameter's name, if the source is known.
    #[cold]
    fn name_argument(&self, error: Error) -> Error {
        let module = self.module();
        let Some(source) = module.program() else { return error };
        let texts: Vec<&str> = std::iter::once(source.source()).chain(source.headers().map(|(_, text)| text)).collect();
        parameter_names::name_argument(error, self.name(), &texts)
    }

    /// Refuses a launch, and returns the buffers that were moved in.
    pub(super) fn refuse(&self, error: Error, writes: AnyBuffers) -> Rejected<AnyBuffers> {
        let error = self.name_argument(error).in_op("launch", "nvrtc").locate(|site| {
            site.set_device(self.device.name().to_string(), self.generation());
        });
        self.device.inner().counters.count_error(&error);
        Rejected::new(error, writes)
    }

    fn check(&self, config: &LaunchConfig, packed: &PackedArguments, fit: Fit) -> Result<KernelCode> {
        let inner = &*self.inner;
        inner.module.epoch().admit()?;
        if let (Some(own), Fit::Unknown) = (&inner.parameters, fit) {
            parameters::check(inner.name, packed, own)?;
        }
        #[cfg(feature = "cuda")]
        if let Some(function) = &inner.function {
            config.check(inner.name, function.limits(), &function.attributes().limits())?;
            if config.is_cooperative() {
                self.check_cooperative(config, function.limits().processors)?;
            }
            return Ok(KernelCode::Cuda(function.clone()));
        }
        let Some(twin) = &inner.twin else { return self.interpreted(config) };
        kind::check(inner.name, packed, twin.kinds)?;
        config.check(inner.name, &DeviceLimits::HOST, &KernelLimits::HOST)?;
        #[cfg(target_os = "linux")]
        if let Some(worker) = inner.module.epoch().engine.as_worker() {
            twin.crosses(inner.name, worker.is_same_program())?;
        }
        Ok(KernelCode::Twin(twin.clone()))
    }

    /// Its code on a host device, without a twin.
    fn interpreted(&self, config: &LaunchConfig) -> Result<KernelCode> {
        let inner = &*self.inner;
        config.check(inner.name, &DeviceLimits::HOST, &KernelLimits::HOST)?;
        #[cfg(feature = "host")]
        return inner.module.interpreted(&self.device, inner.name);
        #[cfg(not(feature = "host"))]
        return Err(Error::unsupported(format!("`{}` has no host twin", inner.name)));
    }

    /// Its code on a GPU, and the epoch of the device to which it belongs.
    #[cfg(feature = "cuda")]
    pub(super) fn function(&self) -> Option<(&Function, &Arc<Epoch>)> {
        Some((self.inner.function.as_ref()?, self.inner.module.epoch()))
    }
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Kernel(`{}` of {}, generation {})", self.name(), self.device.name(), self.generation())
    }
}
