//! Direct paths between devices, and the groups that they make.

use crate::core::device_info::Link;
use crate::core::error::Result;
use crate::device::Device;

/// Other devices.
impl Device {
    /// The devices among `others` whose memory this one reaches directly, and by what. The device itself is left out.
    ///
    /// Host devices share memory, and so do two handles of one GPU. Of GPUs the driver tells whether they reach each other
    /// (`cuDeviceCanAccessPeer`, `cuDeviceGetP2PAttribute`), and NVML by what. A host device and a GPU do not reach each other
    /// directly, nor does anything reach an isolated device. Whether the path works is checked by the first
    /// [`copy_peer`](Self::copy_peer) that takes it.
    ///
    /// # Errors
    /// The driver's own.
    ///
    /// ```
    /// # fn main() -> windlass::Result<()> {
    /// use windlass::{Device, placement::Link};
    /// let devices = [Device::host()?, Device::host()?];
    /// assert_eq!(devices[0].peers(&devices)?, [(&devices[1], Link::Memory)]);
    /// # Ok(()) }
    /// ```
    pub fn peers<'d>(&self, others: impl IntoIterator<Item = &'d Device>) -> Result<Vec<(&'d Device, Link)>> {
        let (paths, mut peers) = (Paths::open(), Vec::new());
        for other in others.into_iter().filter(|other| *other != self) {
            peers.extend(paths.between(self, other)?.map(|link| (other, link)));
        }
        Ok(peers)
    }
}

/// The groups of devices that are joined by NVLink or share memory, directly or through others of the group. The groups, and
/// the devices in them, are in the order of `devices`.
///
/// # Errors
/// As [`Device::peers`].
///
/// ```
/// # fn main() -> windlass::Result<()> {
/// use windlass::{Device, placement::islands};
/// let devices = [Device::host()?, Device::host()?];
/// assert_eq!(islands(&devices)?, [devices.to_vec()]);
/// # Ok(()) }
/// ```
pub fn islands<'d>(devices: impl IntoIterator<Item = &'d Device>) -> Result<Vec<Vec<Device>>> {
    let devices: Vec<&Device> = devices.into_iter().collect();
    let paths = Paths::open();
    // The first device of the group that each is of.
    let mut firsts: Vec<usize> = (0..devices.len()).collect();
    for (index, device) in devices.iter().enumerate() {
        for (other, earlier) in devices.iter().enumerate().take(index) {
            let link = if device == earlier { Some(Link::Memory) } else { paths.between(device, earlier)? };
            let (Some(Link::Memory | Link::NvLink { .. }), Some(&one), Some(&two)) =
                (link, firsts.get(index), firsts.get(other))
            else {
                continue;
            };
            firsts.iter_mut().filter(|first| **first == one.max(two)).for_each(|first| *first = one.min(two));
        }
    }
    let group = |first: usize| -> Vec<Device> {
        devices.iter().zip(&firsts).filter(|(_, of)| **of == first).map(|(device, _)| (*device).clone()).collect()
    };
    Ok((0..devices.len()).map(group).filter(|group| !group.is_empty()).collect())
}

/// Answers by what devices reach each other.
struct Paths {
    #[cfg(feature = "cuda")]
    gpus: std::cell::OnceCell<crate::engines::cuda::Links>,
}

impl Paths {
    fn open() -> Self {
        Paths {
            #[cfg(feature = "cuda")]
            gpus: std::cell::OnceCell::new(),
        }
    }

    fn between(&self, one: &Device, two: &Device) -> Result<Option<Link>> {
        if one.is_isolated() || two.is_isolated() || one.kind() != two.kind() {
            return Ok(None);
        }
        #[cfg(feature = "cuda")]
        {
            let (here, there) = (one.inner().epoch(), two.inner().epoch());
            if let (Some(from), Some(to)) = (here.engine.as_cuda(), there.engine.as_cuda()) {
                let links = self.gpus.get_or_init(crate::engines::cuda::Links::open);
                let (one, two) = (one.info(), two.info());
                return links.between((from, to), (one.pci.as_deref(), two.pci.as_deref()));
            }
        }
        Ok(Some(Link::Memory))
    }
}
