//! What a communicator has for the current generation of its devices.

use super::communicator::Inner;
use super::mesh::{Look, Mesh};
use super::op::Link;
use crate::core::buffer::DeviceBuffer;
use crate::core::device_info::DeviceKind;
use crate::core::error::{Error, Result};
use crate::core::sync::Arc;
use crate::device::Device;

/// How long the initialisation of NCCL may take.
#[cfg(feature = "cuda")]
pub(super) const INITIALISATION: std::time::Duration = std::time::Duration::from_secs(120);

/// What belongs to one generation of each device.
pub(super) struct Live {
    generations: Vec<u64>,
    /// Written by each collective: so each follows the one before.
    pub(super) turn: DeviceBuffer<u8>,
    pub(super) link: Link,
}

impl Live {
    pub(super) fn is_current(&self, devices: &[Device]) -> bool {
        let same = |(generation, device): (&u64, &Device)| device.generation() == *generation;
        self.generations.iter().zip(devices).all(same) && self.link.is_alive()
    }

    /// For new generations of the devices.
    pub(super) fn again(inner: &Inner) -> Result<Self> {
        let devices = &inner.devices;
        let Some(lead) = devices.first() else { return Err(Error::invalid("devices", "the list is empty")) };
        match (&inner.remote, lead.kind()) {
            #[cfg(feature = "cuda")]
            (Some(remote), DeviceKind::Cuda) => {
                // NCCL's communicator can only be made by all processes together.
                let mesh = remote.mesh();
                mesh.resign(&format!("{} was rebuilt in one process; rebuild the communicator in all", lead.name()));
                Err(mesh.lost(0, "collective"))
            }
            (Some(remote), _) => Self::of(devices, lead, Link::Mesh(remote.mesh())),
            #[cfg(feature = "cuda")]
            (None, DeviceKind::Cuda) => Self::of(devices, lead, nccl(devices)?),
            (None, _) => Self::of(devices, lead, Link::Memory),
        }
    }

    /// For a new mesh. `lead` is the first device of its dispatches.
    #[cfg_attr(not(feature = "cuda"), expect(unused_variables, reason = "only NCCL waits"))]
    pub(super) fn beside(mesh: &Arc<Mesh>, look: Look<'_>, devices: &[Device], lead: &Device) -> Result<Self> {
        #[cfg(feature = "cuda")]
        if lead.kind() == DeviceKind::Cuda {
            let epochs = admitted(devices)?;
            let group = super::native::Group::join(&epochs, mesh, (INITIALISATION, look))?;
            return Self::of(devices, lead, Link::Joined(group, mesh.clone()));
        }
        Self::of(devices, lead, Link::Mesh(mesh.clone()))
    }

    fn of(devices: &[Device], lead: &Device, link: Link) -> Result<Self> {
        let generations = devices.iter().map(Device::generation).collect();
        Ok(Live { generations, turn: lead.unwritten(1)?, link })
    }
}

/// The generations of GPUs that become ranks. NCCL's kernels access the memory of the others, where the GPUs can.
#[cfg(feature = "cuda")]
fn admitted(devices: &[Device]) -> Result<Vec<Arc<crate::core::epoch::Epoch>>> {
    for (to, from) in devices.iter().flat_map(|to| devices.iter().map(move |from| (to, from))) {
        match to.open_path_from(from) {
            Ok(()) | Err(Error::Unsupported { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let epochs: Vec<_> = devices.iter().map(Device::epoch).collect();
    epochs.iter().try_for_each(|epoch| epoch.admit())?;
    Ok(epochs)
}

/// Makes NCCL's communicators of GPUs of this process.
#[cfg(feature = "cuda")]
fn nccl(devices: &[Device]) -> Result<Link> {
    let epochs = admitted(devices)?;
    let ordinal =
        |epoch: &Arc<crate::core::epoch::Epoch>| epoch.engine.as_cuda().map(crate::engines::cuda::CudaEngine::ordinal);
    let ordinals = epochs.iter().filter_map(ordinal).collect();
    super::native::Group::begin(&epochs, ordinals, INITIALISATION).map(Link::Nccl)
}

impl Link {
    fn is_alive(&self) -> bool {
        match self {
            // A mesh that is lost says so itself.
            Link::Memory | Link::Mesh(_) => true,
            #[cfg(target_os = "linux")]
            Link::Worker(_) => true,
            #[cfg(feature = "cuda")]
            Link::Joined(..) => true,
            #[cfg(feature = "cuda")]
            Link::Nccl(group) => group.is_alive(),
        }
    }
}
