//! By what two GPUs reach each other's memory. The driver tells whether they do, and whether the path is NVLink; how many links
//! there are, or what else lies between them, is NVML's, where it is there.

use super::CudaEngine;
use super::api::nvml::{Nvml, PciInfo};
use super::context::fault;
use crate::core::device_info::Link;
use crate::core::error::Result;
use crate::core::process::{self, leaving};
use std::ffi::{CString, c_void};

/// `CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED`: of the paths between GPUs, NVLink alone has atomic operations.
const NATIVE_ATOMICS: u32 = 3;
/// More than any GPU has.
const MOST_LINKS: u32 = 32;

/// A device of NVML.
type Handle = *mut c_void;

/// Answers questions about links; holds NVML open meanwhile.
pub(crate) struct Links {
    nvml: Option<&'static Nvml>,
}

impl Links {
    pub(crate) fn open() -> Self {
        let Ok(api) = Nvml::load() else { return Links { nvml: None } };
        process::watch_exit();
        // SAFETY: no arguments; undone once, when this is dropped.
        let opened = leaving::unless_leaving(|| unsafe { api.init() }.is_success());
        Links { nvml: (opened == Some(true)).then_some(api) }
    }

    /// By what `from` reaches the memory of `to`, whose PCI addresses these are. `None`: it does not.
    pub(crate) fn between(
        &self,
        (from, to): (&CudaEngine, &CudaEngine),
        (one, two): (Option<&str>, Option<&str>),
    ) -> Result<Option<Link>> {
        if from.is_same_gpu(to) {
            return Ok(Some(Link::Memory));
        }
        let (api, here, there) = (from.core.context.api, from.ordinal(), to.ordinal());
        let mut can = 0;
        // SAFETY: `can` is valid for the write; both devices exist.
        let code = unsafe { api.device_can_access_peer(&mut can, here, there) };
        code.ok().map_err(|code| fault::error(code, "cuDeviceCanAccessPeer"))?;
        if can == 0 {
            return Ok(None);
        }
        let mut atomics = 0;
        // SAFETY: as above.
        let code = unsafe { api.device_get_p2p_attribute(&mut atomics, NATIVE_ATOMICS, here, there) };
        let is_nvlink = code.is_some_and(|code| code.is_success()) && atomics != 0;
        let asked = || self.ask(one?, two?, is_nvlink);
        let unknown = if is_nvlink { Link::NvLink { links: None } } else { Link::System };
        Ok(Some(leaving::unless_leaving(asked).flatten().unwrap_or(unknown)))
    }

    /// What NVML tells of GPUs at these PCI addresses.
    fn ask(&self, one: &str, two: &str, is_nvlink: bool) -> Option<Link> {
        let api = self.nvml?;
        let device = |address: &str| -> Option<Handle> {
            let (address, mut device) = (CString::new(address).ok()?, std::ptr::null_mut());
            // SAFETY: NVML is open; the address is terminated, the handle is written to a valid pointer.
            unsafe { api.device_by_pci(address.as_ptr(), &mut device) }.is_success().then_some(device)
        };
        let (from, to) = (device(one)?, device(two)?);
        if is_nvlink {
            let (ours, theirs) = (remotes(api, from)?, remotes(api, to)?);
            let direct = ours.iter().filter(|remote| remote.is_at(two)).count();
            // Through switches: as many as both have.
            let links = if direct > 0 { direct } else { ours.len().min(theirs.len()) };
            return Some(Link::NvLink { links: u32::try_from(links).ok().filter(|links| *links > 0) });
        }
        let mut level = 0;
        // SAFETY: NVML is open; both are devices of it; `level` is valid for the write.
        let code = unsafe { api.common_ancestor(from, to, &mut level) }?;
        // `nvmlGpuTopologyLevel_t`: 0 one board, 10 one switch, 20 several switches, 30 a host bridge, 40 a node, 50 the system.
        code.is_success().then_some(match level {
            ..30 => Link::PcieSwitch,
            30 => Link::HostBridge,
            _ => Link::System,
        })
    }
}

/// What is at the other end of each active link.
fn remotes(api: &Nvml, device: Handle) -> Option<Vec<PciInfo>> {
    let mut remotes = Vec::new();
    for link in 0..MOST_LINKS {
        let (mut active, mut remote) = (0, PciInfo::default());
        // SAFETY: NVML is open, and it is a device of it; a number that no link has is refused; valid for the write.
        let code = unsafe { api.link_state(device, link, &mut active) }?;
        if !code.is_success() || active == 0 {
            continue;
        }
        // SAFETY: as above.
        let _ = unsafe { api.link_remote(device, link, &mut remote) };
        remotes.push(remote);
    }
    Some(remotes)
}

impl Drop for Links {
    fn drop(&mut self) {
        if let Some(api) = self.nvml {
            // SAFETY: one `init` succeeded, in `open`.
            let _ = leaving::unless_leaving(|| unsafe { api.shutdown() });
        }
    }
}
