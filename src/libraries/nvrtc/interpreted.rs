//! Kernels on the host engine without a twin: their PTX runs there, with every access checked.

use super::launch::KernelCode;
use super::packed::{PackedArguments, Slot, Written};
use super::{Image, ImageKind, Nvrtc};
use crate::core::buffer::{AnySlice, AnySliceMut};
use crate::core::error::{Error, Result, Site};
use crate::core::launch::{Dim3, LaunchConfig};
use crate::core::sync::Arc;
use crate::device::DeviceBuilder;
use crate::engines::ptx::{Area, Fault, PtxModule, Shape};
use smallvec::SmallVec;

/// What is checked while a kernel runs on a host device, beyond bounds, alignment and barriers, which always are.
///
/// | check | what it finds | `all` | `bounds` |
/// |---|---|---|---|
/// | bounds, alignment, read-only buffers | an access outside what the launch was given | yes | yes |
/// | barriers | warps and blocks whose threads wait for others that never come | yes | yes |
/// | initialised | reads of shared memory, and of outputs, that nothing wrote; outputs that are not written whole | yes | no |
/// | races | accesses of two threads that nothing orders, in shared and global memory | yes | no |
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::nvrtc::KernelChecks;
/// let device = windlass::Device::builder().host().check_kernels(KernelChecks::all().budget(1 << 32)).open()?;
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelChecks(crate::engines::ptx::Checks);

impl KernelChecks {
    /// All checks: the default.
    pub fn all() -> Self {
        KernelChecks(crate::engines::ptx::Checks::ALL)
    }

    /// Bounds, alignment and barriers: up to twice as fast.
    pub fn bounds() -> Self {
        KernelChecks(crate::engines::ptx::Checks::BOUNDS)
    }

    /// The most instructions that the warps of one launch execute together; more are taken for a loop without an end. The default
    /// is 2^40.
    pub fn budget(mut self, instructions: u64) -> Self {
        self.0.budget = instructions;
        self
    }
}

impl Default for KernelChecks {
    fn default() -> Self {
        KernelChecks::all()
    }
}

impl DeviceBuilder {
    /// Sets what is checked while kernels without a twin run on a host device. The default is
    /// [everything](KernelChecks::all).
    pub fn check_kernels(mut self, checks: KernelChecks) -> Self {
        self.settings().set(checks);
        self
    }
}

/// The code of a kernel on a host device.
#[derive(Clone)]
pub(super) struct Interpreted {
    module: Arc<PtxModule>,
    /// The kernel's name in the PTX.
    name: Arc<str>,
    checks: KernelChecks,
}

/// Reads the PTX of an image.
pub(super) fn module(image: &Image) -> Result<Arc<PtxModule>> {
    match (image.kind(), image.text()) {
        (ImageKind::Ptx, Some(text)) => PtxModule::new(text).map(Arc::new).map_err(error),
        (kind, _) => Err(Error::unsupported(format!(
            "a host device runs PTX, and this module is {kind:?}: compile it to PTX, or give the kernel a twin"
        ))),
    }
}

/// The kernel as code for a launch.
pub(super) fn code(nvrtc: &Nvrtc, module: &Arc<PtxModule>, name: &str) -> Result<KernelCode> {
    module.parameters(name).map_err(error)?;
    let checks = nvrtc.device().inner().config.settings.get::<KernelChecks>().copied().unwrap_or_default();
    Ok(KernelCode::Interpreted(Interpreted { module: module.clone(), name: name.into(), checks }))
}

fn error(fault: Fault) -> Error {
    match fault {
        Fault::Found(finding) => Error::KernelCheck { finding, site: Site::none() },
        Fault::Unsupported { .. } => Error::unsupported(format!("{fault}; give the kernel a twin")),
        Fault::Missing(_) => Error::invalid("name", fault.to_string()),
        Fault::Text { .. } => Error::invalid("image", fault.to_string()),
    }
}

impl Interpreted {
    pub(super) fn run(
        &self,
        config: &LaunchConfig,
        packed: &PackedArguments,
        reads: &[AnySlice<'_>],
        writes: SmallVec<[AnySliceMut<'_>; 4]>,
    ) -> Result<()> {
        let missing = || Error::library("internal error: an argument without its buffer");
        let (places, bytes) = self.module.parameters(&self.name).map_err(error)?;
        let position = |is: &dyn Fn(&Slot) -> bool| packed.slots.iter().position(is).unwrap_or_default();
        let mut areas = Vec::with_capacity(reads.len() + writes.len());
        for (index, read) in reads.iter().enumerate() {
            let place = position(&|slot| matches!(slot, Slot::Read(_, i) if *i as usize == index));
            areas.push(Area::read(format!("argument {place}"), read.bytes()));
        }
        for (index, write) in writes.into_iter().enumerate() {
            let place = position(&|slot| matches!(slot, Slot::Write(_, i, _) if *i as usize == index));
            let output = packed.slots.get(place).is_some_and(|slot| matches!(slot, Slot::Write(.., Written::All)));
            let name = format!("argument {place}");
            let memory = write.into_bytes();
            areas.push(if output { Area::output(name, memory) } else { Area::write(name, memory) });
        }
        let mut parameters = vec![0; bytes as usize];
        for (slot, (at, size)) in packed.slots.iter().zip(places) {
            let address = |area: Option<&Area<'_>>| area.map(|area| area.address().to_ne_bytes()).ok_or_else(missing);
            let word;
            let value = match slot {
                Slot::Read(_, i) => {
                    word = address(areas.get(*i as usize))?;
                    &word[..]
                }
                Slot::Write(_, i, _) => {
                    word = address(areas.get(reads.len() + *i as usize))?;
                    &word[..]
                }
                Slot::Value { at, len, .. } => packed.bytes_of(*at, *len),
            };
            let to = parameters.get_mut(at as usize..(at + size) as usize).ok_or_else(missing)?;
            to.iter_mut().zip(value).for_each(|(to, from)| *to = *from);
        }
        let extents = |dims: Dim3| [dims.x, dims.y, dims.z];
        let shape = Shape::new(extents(config.grid()), extents(config.block()), config.shared_bytes());
        let print = |text: String| print!("{text}");
        self.module.launch(&self.name, shape, &parameters, areas, self.checks.0, &print).map_err(error)
    }
}
