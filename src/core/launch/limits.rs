//! The limits that a launch is checked against.

use serde::{Deserialize, Serialize};

/// What a device allows for any launch.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct DeviceLimits {
    /// Threads per block.
    pub(crate) block_threads: u32,
    pub(crate) block: [u32; 3],
    pub(crate) grid: [u32; 3],
    /// Bytes of shared memory per block, including what a kernel must opt in to.
    pub(crate) shared: u32,
    pub(crate) processors: u32,
    pub(crate) cooperative: bool,
    pub(crate) clusters: bool,
    /// The most urgent and the least urgent.
    pub(crate) priorities: (i32, i32),
}

impl DeviceLimits {
    /// For the host engine: the limits of today's GPUs (compute capability 9.0), so that what they refuse is refused
    /// here too. The blocks of a twin run one after the other or side by side, so there are no cooperative launches.
    pub(crate) const HOST: Self = DeviceLimits {
        block_threads: 1024,
        block: [1024, 1024, 64],
        grid: [i32::MAX as u32, 65535, 65535],
        shared: 227 << 10,
        processors: 1,
        cooperative: false,
        clusters: true,
        priorities: (-5, 0),
    };
}

/// What a kernel allows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelLimits {
    /// Threads per block.
    pub(crate) block_threads: u32,
    /// Registers per thread.
    pub(crate) registers: u32,
    /// Bytes of static shared memory per block.
    pub(crate) shared: u32,
}

impl KernelLimits {
    /// For a host twin: no limit of its own.
    pub(crate) const HOST: Self = KernelLimits { block_threads: u32::MAX, registers: 0, shared: 0 };
}

/// What the driver knows of a kernel; see [`Kernel::attributes`](crate::Kernel::attributes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct KernelAttributes {
    /// The most threads that a block can have, with the registers that it uses.
    pub max_threads: u32,
    /// Bytes of static shared memory per block.
    pub shared_bytes: u32,
    /// Bytes of constant memory of its module.
    pub constant_bytes: u32,
    /// Bytes of local memory per thread: spilled registers, arrays.
    pub local_bytes: u32,
    /// Registers per thread.
    pub registers: u32,
    /// The PTX version it was compiled for: 90 is `compute_90`.
    pub ptx_version: u32,
    /// The architecture of its machine code: 90 is `sm_90`.
    pub binary_version: u32,
}

impl KernelAttributes {
    pub(crate) fn limits(&self) -> KernelLimits {
        KernelLimits { block_threads: self.max_threads, registers: self.registers, shared: self.shared_bytes }
    }
}
