//! Kernels on the host engine without a twin: their PTX runs there, with every access checked.

use super::launch::KernelCode;
use super::packed::{PackedArguments, Slot, Written};
use super::{Image, ImageKind, Nvrtc};
use crate::core::buffer::{AnySlice, AnySliceMut, Meter};
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result, Site};
use crate::core::launch::{Dim3, LaunchConfig};
use crate::core::sync::Arc;
use crate::device::DeviceBuilder;
use crate::engines::ptx::{Area, Checks, Fault, PtxModule, Shape};
#[cfg(target_os = "linux")]
use serde::{Deserialize, Serialize};
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
pub struct KernelChecks(Checks);

impl KernelChecks {
    /// All checks: the default.
    pub fn all() -> Self {
        KernelChecks(Checks::ALL)
    }

    /// Bounds, alignment and barriers: up to twice as fast.
    pub fn bounds() -> Self {
        KernelChecks(Checks::BOUNDS)
    }

    /// The most instructions that the warps of one launch execute together; more are taken for a loop without an end. An instruction
    /// counts once for all lanes of a warp that execute it together. A core executes 2 to 7 million of them a second: the default,
    /// 2^32, is reached after 10 to 35 minutes of one core.
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
    text: OnHost,
    /// The kernel's name in the PTX.
    name: Arc<str>,
    checks: KernelChecks,
    /// Counts what the machine needs itself.
    meter: Arc<Meter>,
}

/// PTX that a host device runs.
#[derive(Clone)]
pub(super) struct OnHost {
    module: Arc<PtxModule>,
    /// The same in the worker process of an isolated device, as long as this lives.
    #[cfg(target_os = "linux")]
    there: Option<Arc<crate::core::buffer::Allocation>>,
}

/// Reads the PTX of an image.
pub(super) fn module(epoch: &Arc<Epoch>, image: &Image) -> Result<OnHost> {
    match (image.kind(), image.text()) {
        (ImageKind::Ptx, Some(text)) => {
            #[cfg(target_os = "linux")]
            let here = epoch.engine.as_worker().is_none();
            #[cfg(not(target_os = "linux"))]
            let here = true;
            // A worker counts the memory of its own.
            let module = if here { PtxModule::within(text, &epoch.meter) } else { PtxModule::new(text) };
            let module = module.map(Arc::new).map_err(error)?;
            #[cfg(target_os = "linux")]
            let there = match epoch.engine.as_worker() {
                Some(worker) => Some(worker.load_module(epoch, text.as_bytes(), true)?),
                None => None,
            };
            Ok(OnHost {
                module,
                #[cfg(target_os = "linux")]
                there,
            })
        }
        (kind, _) => Err(Error::unsupported(format!(
            "a host device runs PTX, and this module is {kind:?}: compile it to PTX, or give the kernel a twin"
        ))),
    }
}

/// The kernel as code for a launch.
pub(super) fn code(nvrtc: &Nvrtc, text: &OnHost, name: &str) -> Result<KernelCode> {
    text.module.parameters(name).map_err(error)?;
    let checks = nvrtc.device().inner().config.settings.get::<KernelChecks>().copied().unwrap_or_default();
    let meter = nvrtc.device().epoch().meter.clone();
    Ok(KernelCode::Interpreted(Interpreted { text: text.clone(), name: name.into(), checks, meter }))
}

fn error(fault: Fault) -> Error {
    if let Some(lack) = fault.lack() {
        return lack;
    }
    match fault {
        Fault::Found(finding) => Error::KernelCheck { finding, site: Site::none() },
        Fault::Unsupported { .. } => Error::unsupported(format!("{fault}; give the kernel a twin")),
        Fault::Missing(_) => Error::invalid("name", fault.to_string()),
        Fault::Text { .. } | Fault::OutOfMemory { .. } => Error::invalid("image", fault.to_string()),
    }
}

/// A kernel as it is sent to a worker: the number of its text there, its name, and the checks: initialised, races, the budget,
/// side by side.
#[cfg(target_os = "linux")]
#[derive(Serialize, Deserialize)]
pub(super) struct Sent<'k> {
    text: u64,
    name: &'k str,
    checks: (bool, bool, u64, bool),
}

#[cfg(target_os = "linux")]
impl Interpreted {
    pub(super) fn sent(&self) -> Result<Sent<'_>> {
        let elsewhere = || Error::library("internal error: the kernel's text is not in the worker");
        let text = self.text.there.as_ref().ok_or_else(elsewhere)?.address;
        let Checks { initialised, races, budget, parallel } = self.checks.0;
        Ok(Sent { text, name: &self.name, checks: (initialised, races, budget, parallel) })
    }

    /// In the worker.
    pub(super) fn arrived(sent: &Sent<'_>, module: Arc<PtxModule>, meter: Arc<Meter>) -> Self {
        let (initialised, races, budget, parallel) = sent.checks;
        let checks = KernelChecks(Checks { initialised, races, budget, parallel });
        Interpreted { text: OnHost { module, there: None }, name: sent.name.into(), checks, meter }
    }
}

#[cfg(target_os = "linux")]
impl Sent<'_> {
    pub(super) fn text(&self) -> u64 {
        self.text
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
        let (places, bytes) = self.text.module.parameters(&self.name).map_err(error)?;
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
        let (name, checks, meter) = (&self.name, self.checks.0, &self.meter);
        self.text.module.launch_within(name, shape, &parameters, areas, checks, &print, meter).map_err(error)
    }
}
