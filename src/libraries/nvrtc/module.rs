//! Modules: images on a device.

use super::kernel::Kernel;
use super::ptx::PtxText;
use super::{Image, ImageKind, Nvrtc, Source};
use crate::core::device_info::DeviceKind;
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::launch::Parameter;
use crate::core::sync::{Arc, Mutex};
use crate::device::Device;
use std::sync::Weak;

#[cfg(feature = "cuda")]
use super::loaded::{self, Function, Loaded};
#[cfg(feature = "cuda")]
use crate::core::buffer::DeviceBuffer;
use once_cell::sync::OnceCell;

/// Compiled code for the kernels of one device, in one generation of the device. Cheap to clone.
///
/// The module is loaded at its first use ([`load`](Self::load), [`kernel`](Self::kernel)), on the calling thread.
/// Loading may wait for all work on the device, so load modules ahead of time where a wait would disturb.
///
/// The module is unloaded after the last handle of it and of its kernels is dropped and its last launch is over. The
/// device does this at a moment when nothing is in flight; if sixteen modules wait for such a moment, the next load
/// does it.
///
/// On a host device kernels run as their twins; those without one run as their PTX, which is read at their first launch.
#[derive(Clone)]
pub struct Module {
    device: Device,
    held: Arc<SharedModule>,
}

/// What the handles of a module share.
pub(super) struct SharedModule {
    code: ModuleCode,
    epoch: Arc<Epoch>,
    #[cfg(feature = "cuda")]
    loaded: OnceCell<OnGpu>,
    #[cfg(feature = "host")]
    interpreted: OnceCell<OnHost>,
    /// The module that replaces this one in a later generation.
    next: Mutex<Weak<SharedModule>>,
}

/// A module on a GPU.
#[cfg(feature = "cuda")]
struct OnGpu {
    code: Loaded,
    /// Stands for the module's variables when operations are ordered; `None` if it has no variables.
    globals: Option<DeviceBuffer<u8>>,
}

/// A module on a host device whose kernels have no twins: the image, and its PTX as it runs there.
#[cfg(feature = "host")]
type OnHost = (Image, super::interpreted::OnHost);

/// The code of a module.
#[derive(Clone)]
pub(super) enum ModuleCode {
    /// None: a host device runs twins. With the program, if there is one.
    Twins(Option<Source>),
    Image(Image, Option<Arc<PtxText>>),
}

impl Nvrtc {
    /// Makes a module from compiled code: PTX, a CUBIN or a fatbin.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for LTO-IR, which must be linked first.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::nvrtc::Image;
    /// let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry nothing(.param .u32 a) { ret; }\n";
    /// let device = windlass::Device::host()?;
    /// let module = device.nvrtc().load(&Image::ptx(ptx)?)?;
    /// assert!(module.kernel("nothing").is_ok() && module.kernel("something").is_err());
    /// # Ok(()) }
    /// ```
    pub fn load(&self, image: &Image) -> Result<Module> {
        if image.kind() == ImageKind::LtoIr {
            return Err(Error::unsupported("LTO-IR cannot be loaded: link it to a CUBIN, and load that"));
        }
        let text = image.text().map(|text| Arc::new(PtxText::new(text)));
        Ok(self.module_of(ModuleCode::Image(image.clone(), text)))
    }

    /// Makes a module from a program, compiled for this device by [`compile`](Self::compile), which uses the caches. On
    /// a host device the program is [checked](Source::check), and compiled when a kernel without a twin is first launched.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::nvrtc::{Len, LaunchConfig, Source, Write};
    /// let source = "extern \"C\" __global__ void twice(int* x, size_t n) {
    ///     size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    ///     if (i < n) x[i] *= 2;
    /// }";
    /// let device = windlass::Device::host()?; // or any other
    /// let twice = device.nvrtc().module(&Source::new(source))?.kernel("twice")?;
    /// // SAFETY: the source is above: these parameters, and nothing past `n`, the length.
    /// let twice = unsafe { twice.typed::<(Write<i32>, Len)>() }?.twin(|at, (x, n)| {
    ///     if at.x() < n {
    ///         x.set(at.x(), x.get(at.x()) * 2);
    ///     }
    /// })?;
    /// let x = device.upload([1, 2, 3])?.into_output();
    /// let x = twice.launch(LaunchConfig::for_elements(3)?, (x, Len))?.await_result()?;
    /// assert_eq!(device.download(&x)?.await_result()?, [2, 4, 6]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`compile`](Self::compile) and [`load`](Self::load).
    pub fn module(&self, program: &Source) -> Result<Module> {
        match self.device().kind() {
            DeviceKind::Host => {
                program.check()?;
                Ok(self.module_of(ModuleCode::Twins(Some(program.clone()))))
            }
            DeviceKind::Cuda => self.load(&self.compile(program)?),
        }
    }

    /// A module without code, for twins only, whose kernels may have any name: a host device runs nothing else. On a
    /// GPU it has no kernels. For one kernel that is only a twin, see [`twin`](Self::twin).
    pub fn twins(&self) -> Module {
        self.module_of(ModuleCode::Twins(None))
    }

    fn module_of(&self, code: ModuleCode) -> Module {
        let device = self.device();
        Module { device: device.clone(), held: Arc::new(SharedModule::new(code, device.epoch())) }
    }

    /// The most urgent and the least urgent [`priority`](super::LaunchConfig::priority) of a launch; a smaller value is
    /// more urgent.
    ///
    /// # Errors
    /// The device's error if the driver cannot be asked.
    pub fn priorities(&self) -> Result<(i32, i32)> {
        #[cfg(feature = "cuda")]
        {
            if let Some(limits) = loaded::limits(&self.device().epoch())? {
                return Ok(limits.priorities);
            }
        }
        Ok(crate::core::launch::DeviceLimits::HOST.priorities)
    }
}

impl Module {
    pub(super) fn from_held(device: &Device, held: Arc<SharedModule>) -> Self {
        Module { device: device.clone(), held }
    }

    /// The kernel with this name: a name expression with which the image was compiled (`scale<float>`), or the name
    /// that the code has in the image. Loads the module.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there is no such kernel (the message lists the existing ones, if they are known);
    /// as [`load`](Self::load).
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        Kernel::find(&self.device, &self.held, name)
    }

    /// Loads the module now, so that no later call waits for it.
    ///
    /// # Errors
    /// [`Error::Compile`] with the driver's log if the driver refuses PTX; [`Error::LibraryError`] for code that is not
    /// for this GPU; [`Error::GpuRefStale`] for a module of an earlier generation.
    pub fn load(&self) -> Result<()> {
        #[cfg(feature = "cuda")]
        self.held.load()?;
        Ok(())
    }

    /// The same module in the current generation of the device, from the image, which is kept.
    ///
    /// # Errors
    /// The device's error if it cannot be used.
    pub fn reload(&self) -> Result<Self> {
        Ok(Module { device: self.device.clone(), held: self.held.again(&self.device)? })
    }

    /// The generation of the device to which the module belongs.
    pub fn generation(&self) -> u64 {
        self.held.epoch.generation
    }

    /// The program from which the module was made, if that is known.
    pub fn program(&self) -> Option<&Source> {
        match &self.held.code {
            ModuleCode::Image(image, _) => image.program(),
            ModuleCode::Twins(program) => program.as_ref(),
        }
    }

    /// The image of the module; `None` for a module of twins.
    pub fn image(&self) -> Option<&Image> {
        match &self.held.code {
            ModuleCode::Image(image, _) => Some(image),
            ModuleCode::Twins(_) => None,
        }
    }

    #[cfg(feature = "cuda")]
    pub(super) fn held(&self) -> &Arc<SharedModule> {
        &self.held
    }

    pub(super) fn device(&self) -> &Device {
        &self.device
    }
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Module(")?;
        match self.image() {
            Some(image) => write!(f, "{image:?}")?,
            None => write!(f, "twins")?,
        }
        write!(f, " on {}, generation {})", self.device.name(), self.generation())
    }
}

impl SharedModule {
    fn new(code: ModuleCode, epoch: Arc<Epoch>) -> Self {
        SharedModule {
            code,
            epoch,
            #[cfg(feature = "cuda")]
            loaded: OnceCell::new(),
            #[cfg(feature = "host")]
            interpreted: OnceCell::new(),
            next: Mutex::default(),
        }
    }

    /// The kernel `name` as PTX that runs on the CPU. A program is compiled when it is first needed.
    #[cfg(feature = "host")]
    pub(super) fn interpreted(&self, device: &Device, name: &str) -> Result<super::launch::KernelCode> {
        let nvrtc = device.nvrtc();
        let make = || {
            let image = match &self.code {
                ModuleCode::Image(image, _) => image.clone(),
                ModuleCode::Twins(Some(program)) => nvrtc.compile(program).map_err(|error| match error {
                    Error::LibraryMissing { help, .. } => Error::unsupported(format!(
                        "`{name}` has no host twin, and there is no compiler for its source here: {help}"
                    )),
                    other => other,
                })?,
                ModuleCode::Twins(None) => {
                    let reason =
                        format!("`{name}` has no host twin, and its module no code: add one with `Kernel::twin`");
                    return Err(Error::unsupported(reason));
                }
            };
            super::interpreted::module(&self.epoch, &image).map(|text| (image, text))
        };
        let (image, text) = self.interpreted.get_or_try_init(make)?;
        super::interpreted::code(&nvrtc, text, image.lowered_name(name).unwrap_or(name))
    }

    pub(super) fn epoch(&self) -> &Arc<Epoch> {
        &self.epoch
    }

    /// The same code in the current generation: this module, or a new one that all handles share.
    pub(super) fn again(self: &Arc<Self>, device: &Device) -> Result<Arc<Self>> {
        let epoch = device.epoch();
        epoch.admit()?;
        if Arc::ptr_eq(&epoch, &self.epoch) {
            return Ok(self.clone());
        }
        let mut next = self.next.lock();
        if let Some(known) = next.upgrade().filter(|known| Arc::ptr_eq(&known.epoch, &epoch)) {
            return Ok(known);
        }
        let fresh = Arc::new(SharedModule::new(self.code.clone(), epoch));
        *next = Arc::downgrade(&fresh);
        Ok(fresh)
    }

    /// The name of the kernel in the image.
    fn lowered<'n>(&'n self, name: &'n str) -> &'n str {
        match &self.code {
            ModuleCode::Image(image, _) => image.lowered_name(name).unwrap_or(name),
            ModuleCode::Twins(_) => name,
        }
    }

    fn text(&self) -> Option<&PtxText> {
        match &self.code {
            ModuleCode::Image(_, text) => text.as_deref(),
            ModuleCode::Twins(_) => None,
        }
    }

    /// The parameters of a kernel, if the image declares them.
    pub(super) fn parameters(&self, name: &str) -> Option<Vec<Parameter>> {
        self.text()?.parameters(self.lowered(name))
    }

    /// Whether the module can contain a kernel with this name, as far as the image tells.
    pub(super) fn may_have(&self, name: &str) -> bool {
        self.text().is_none_or(|text| text.kernels().any(|known| known == self.lowered(name)))
    }

    /// The error for a kernel that does not exist.
    pub(super) fn no_kernel(&self, name: &str) -> Error {
        let reason = match self.text() {
            Some(text) => {
                let names: Vec<_> = text.kernels().map(|name| format!("`{name}`")).collect();
                format!("`{name}` is not in the module; it has {}", names.join(", "))
            }
            None => format!("`{name}` is not in the module"),
        };
        Error::invalid("name", reason)
    }
}

#[cfg(feature = "cuda")]
impl SharedModule {
    /// Loads the module, once. `None` on a host device.
    pub(super) fn load(&self) -> Result<Option<&Loaded>> {
        if !Loaded::is_for(&self.epoch) {
            return Ok(None);
        }
        let load = || {
            let ModuleCode::Image(image, text) = &self.code else {
                return Err(Error::unsupported("the module has no code, only host twins: a GPU needs an image"));
            };
            let code = Loaded::load(&self.epoch, image)?;
            // PTX declares its variables; for other images they are not known.
            let may_have = text.as_ref().is_none_or(|text| text.has_variables());
            let globals = may_have.then(|| code.token(&self.epoch));
            Ok(OnGpu { code, globals })
        };
        self.epoch.admit()?;
        self.loaded.get_or_try_init(load).map(|gpu| Some(&gpu.code)).map_err(|error| self.located(error))
    }

    fn located(&self, error: Error) -> Error {
        error.in_op("load", "nvrtc").locate(|site| {
            site.set_device(self.epoch.label.to_string(), self.epoch.generation);
        })
    }

    /// The kernel `name` on a GPU. Also its parameters, if they are wanted and the driver reports them.
    pub(super) fn function(
        &self,
        name: &str,
        with_parameters: bool,
    ) -> Result<Option<(Function, Option<Vec<Parameter>>)>> {
        let Some(module) = self.load()? else { return Ok(None) };
        let found = module.function(&self.epoch, self.lowered(name), with_parameters)?;
        found.map(Some).ok_or_else(|| self.no_kernel(name))
    }

    /// The module, and the address and size in bytes of the variable `name`.
    pub(super) fn global(&self, name: &str) -> Result<Option<(Loaded, u64, usize)>> {
        let Some(module) = self.load()? else {
            return Err(Error::unsupported(
                "a host device loads no modules, so it has no module variables: let the twin capture what is constant, \
                 and pass what changes as an argument",
            ));
        };
        // A program asks for the name of a variable by an expression with its address: `&factor`.
        let lowered = match (&self.code, self.lowered(name)) {
            (ModuleCode::Image(image, _), same) if same == name => {
                image.lowered_name(&format!("&{name}")).unwrap_or(name)
            }
            (_, lowered) => lowered,
        };
        let found = module.variable(&self.epoch, lowered)?;
        Ok(found.map(|(address, bytes)| (module.clone(), address, bytes)))
    }

    /// What a launch reads in addition to its arguments.
    pub(super) fn globals_in(&self) -> Option<crate::core::buffer::AnyIn<'_>> {
        self.globals().map(crate::core::buffer::AnyIn::from)
    }

    pub(super) fn globals(&self) -> Option<&DeviceBuffer<u8>> {
        self.loaded.get()?.globals.as_ref()
    }
}
