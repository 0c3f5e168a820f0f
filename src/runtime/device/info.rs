//! What a device says of itself.

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

/// What a device is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// A GPU or the CPU.
    pub kind: DeviceKind,
    /// The product's name.
    pub name: String,
    /// Compute capability, major and minor (CUDA).
    pub compute_capability: Option<(u32, u32)>,
    /// Bytes of memory.
    pub total_memory: u64,
    /// The UUID (CUDA); ordinals shift when a GPU drops out, this does not.
    pub uuid: Option<[u8; 16]>,
    /// The PCI address, `0000:19:00.0` (CUDA).
    pub pci: Option<String>,
    /// Multiprocessors (CUDA) or pool threads (host).
    pub processors: u32,
    /// The driver's version, 13000 for 13.0 (CUDA).
    pub driver_version: Option<u32>,
    /// The GPU is shared through MPS: a fault of another client can reach this one.
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

/// A device's memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryInfo {
    /// Free now, for every program.
    pub free: u64,
    /// All of it.
    pub total: u64,
    /// What live buffers of this device handle hold.
    pub used: u64,
    /// The limit on that.
    pub limit: u64,
    /// The pool that buffers come from (CUDA, isolated or not).
    pub pool: Option<PoolInfo>,
}

/// What a GPU's pool of memory holds, in bytes, as the driver tells. Of this generation.
///
/// The pool keeps what it once had for the next who asks, until a trim when memory is short. How many requests it met from
/// that the driver does not tell; but `reserved_peak` that stays is memory that was not asked of the GPU again. What the
/// library itself hands out again without asking is [`Stats::pool_hits`](crate::Stats::pool_hits).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PoolInfo {
    /// What it has of the GPU's memory, in use or not.
    pub reserved: u64,
    /// The most it ever had.
    pub reserved_peak: u64,
    /// What of it is in use: buffers, what operations have for themselves, what libraries work in.
    pub used: u64,
    /// The most that ever was.
    pub used_peak: u64,
}
