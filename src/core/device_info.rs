//! Descriptions of a device and its memory.

use serde::{Deserialize, Serialize};

/// A GPU or the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum DeviceKind {
    /// The CPU.
    Host,
    /// An NVIDIA GPU.
    Cuda,
}

/// The description of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// A GPU or the CPU.
    pub kind: DeviceKind,
    /// The product's name.
    pub name: String,
    /// Compute capability, major and minor (CUDA).
    pub compute_capability: Option<(u32, u32)>,
    /// The size of its memory in bytes.
    pub total_memory: u64,
    /// The UUID (CUDA). Ordinals shift when a GPU drops out; the UUID does not change.
    pub uuid: Option<[u8; 16]>,
    /// The PCI address, `0000:19:00.0` (CUDA).
    pub pci: Option<String>,
    /// Multiprocessors (CUDA) or pool threads (host).
    pub processors: u32,
    /// The driver's version, 13000 for 13.0 (CUDA).
    pub driver_version: Option<u32>,
    /// For a device that [`Device::best`](crate::Device::best) chose: each GPU that it passed over, or why there is none,
    /// with what would help. Empty if the device was asked for by name.
    #[serde(skip)]
    pub passed_over: Vec<String>,
    /// The GPU is shared through MPS: a fault of another client can affect this process.
    pub shared_by_mps: bool,
}

impl DeviceInfo {
    /// The UUID as `nvidia-smi` writes it.
    pub fn uuid_text(&self) -> Option<String> {
        let bytes = self.uuid?;
        let mut text = String::from("GPU-");
        for (i, byte) in bytes.iter().enumerate() {
            if matches!(i, 4 | 6 | 8 | 10) {
                text.push('-');
            }
            text.push_str(&format!("{byte:02x}"));
        }
        Some(text)
    }
}

/// By what one device reaches the memory of another directly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Link {
    /// It is the same memory: both are host devices, or handles of one GPU.
    Memory,
    /// NVLink.
    NvLink {
        /// The number of links: between the two, or to the switches that join them. `None` where NVML does not tell.
        links: Option<u32>,
    },
    /// One or several PCIe switches, or the board that carries both.
    PcieSwitch,
    /// A PCIe host bridge.
    HostBridge,
    /// The interconnect between host bridges or processors; or PCIe, where NVML does not tell more.
    System,
}

/// A device's memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryInfo {
    /// Free now. On a GPU: what the driver reports as free, and what the pool holds unused. On the host: `total` less
    /// `used`.
    pub free: u64,
    /// The size of the memory.
    pub total: u64,
    /// What the live buffers of this [`Device`](crate::Device) use.
    pub used: u64,
    /// The limit on `used`.
    pub limit: u64,
    /// Addresses that are reserved for buffers that grow ([`growing`](crate::growing)). They are no memory, and count against
    /// nothing.
    pub addresses: u64,
    /// The pool that buffers come from (CUDA, isolated or not).
    pub pool: Option<PoolInfo>,
}

/// What a GPU's memory pool holds in the current generation: bytes, as the driver reports them, and the number of trims.
///
/// The pool keeps freed memory for later allocations, and is trimmed when memory is short. The driver does not report
/// how many allocations it served from kept memory; a `reserved_peak` that does not grow means that no new memory was
/// needed. Allocations that the library itself serves from dropped buffers are counted by
/// [`Stats::pool_hits`](crate::Stats::pool_hits).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PoolInfo {
    /// Bytes reserved from the GPU, in use or not.
    pub reserved: u64,
    /// The largest value of `reserved`.
    pub reserved_peak: u64,
    /// Bytes in use: buffers, scratch memory of operations, workspaces of libraries.
    pub used: u64,
    /// The largest value of `used`.
    pub used_peak: u64,
    /// Unused bytes above which the driver gives memory back to the GPU by itself, at a synchronization. The library sets it
    /// to `u64::MAX`: the pool keeps what it has until it is trimmed.
    pub threshold: u64,
    /// How often the pool was trimmed because memory was short.
    pub trims: u64,
}
