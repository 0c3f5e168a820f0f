//! How a kernel is launched: grid, block, shared memory, and further options.

use super::limits::{DeviceLimits, KernelLimits};
use crate::core::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Three extents or indices in CUDA's order: x first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Dim3 {
    /// Extent along x, which varies fastest.
    pub x: u32,
    /// Extent along y.
    pub y: u32,
    /// Extent along z.
    pub z: u32,
}

impl Dim3 {
    /// Makes a value from three extents.
    pub const fn new(x: u32, y: u32, z: u32) -> Self {
        Dim3 { x, y, z }
    }

    pub(crate) const fn array(self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }

    /// The product: the threads of a block, or the blocks of a grid. At most 2^96.
    pub(crate) const fn count(self) -> u128 {
        self.x as u128 * self.y as u128 * self.z as u128
    }
}

impl From<u32> for Dim3 {
    fn from(x: u32) -> Self {
        Dim3 { x, y: 1, z: 1 }
    }
}

impl From<(u32, u32)> for Dim3 {
    fn from((x, y): (u32, u32)) -> Self {
        Dim3 { x, y, z: 1 }
    }
}

impl From<(u32, u32, u32)> for Dim3 {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Dim3 { x, y, z }
    }
}

impl std::fmt::Display for Dim3 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} x {} x {}", self.x, self.y, self.z)
    }
}

/// Grid, block and dynamic shared memory of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchDims {
    /// Blocks along x, y, z.
    pub grid: (u32, u32, u32),
    /// Threads per block along x, y, z.
    pub block: (u32, u32, u32),
    /// Bytes of dynamic shared memory per block.
    pub shared: u32,
}

impl LaunchDims {
    /// One thread per element, in blocks of 256.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there are more elements than a grid has threads.
    pub fn for_elements(n: usize) -> Result<Self> {
        let blocks = blocks_of(n, 256)?;
        Ok(LaunchDims { grid: (blocks, 1, 1), block: (256, 1, 1), shared: 0 })
    }
}

/// The number of blocks of `threads` threads that is needed for `n` threads; at least one.
fn blocks_of(n: usize, threads: u32) -> Result<u32> {
    let blocks = u32::try_from(n.div_ceil(threads.max(1) as usize)).ok().filter(|b| *b <= i32::MAX as u32);
    let most = u64::from(threads) * i32::MAX as u64;
    let blocks =
        blocks.ok_or_else(|| Error::invalid("n", format!("{n} elements, but a grid has at most {most} threads")))?;
    Ok(blocks.max(1))
}

/// How a kernel is launched.
///
/// ```
/// use windlass::LaunchConfig;
/// let tiles = LaunchConfig::new((64, 32), (16, 16)).shared(4096);
/// let line = LaunchConfig::for_elements(1_000_000)?;
/// assert_eq!((line.grid().x, line.block().x, tiles.block().y), (3907, 256, 16));
/// # Ok::<(), windlass::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchConfig {
    grid: Dim3,
    block: Dim3,
    shared: u32,
    cooperative: bool,
    cluster: Option<Dim3>,
    priority: Option<i32>,
}

impl LaunchConfig {
    /// A launch of `grid` blocks of `block` threads each.
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> Self {
        let (grid, block) = (grid.into(), block.into());
        LaunchConfig { grid, block, shared: 0, cooperative: false, cluster: None, priority: None }
    }

    /// At least one thread per element, in blocks of 256. The kernel must check the index: some threads are past the
    /// last element.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there are more elements than a grid has threads.
    pub fn for_elements(n: usize) -> Result<Self> {
        Self::for_elements_in_blocks(n, 256)
    }

    /// At least one thread per element, in blocks of `threads`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there are more elements than a grid has threads, or if `threads` is 0.
    pub fn for_elements_in_blocks(n: usize, threads: u32) -> Result<Self> {
        if threads == 0 {
            return Err(Error::invalid("threads", "a block of 0 threads, at least 1 is needed"));
        }
        Ok(Self::new(blocks_of(n, threads)?, threads))
    }

    /// Sets the dynamic shared memory of a block, in bytes. More than 48 KiB has to be enabled in the driver; the first
    /// launch that needs it does so.
    #[must_use]
    pub fn shared(self, bytes: u32) -> Self {
        LaunchConfig { shared: bytes, ..self }
    }

    /// All blocks run at the same time, so that they can wait for each other
    /// (`cooperative_groups::this_grid().sync()`). The whole grid must fit on the device at once.
    #[must_use]
    pub fn cooperative(self) -> Self {
        LaunchConfig { cooperative: true, ..self }
    }

    /// Launches the blocks in clusters of this shape. The blocks of a cluster can access each other's shared memory.
    /// Needs compute capability 9.0. A cluster has at most 8 blocks, and the grid must be a multiple of it. A kernel
    /// whose source declares a shape (`__cluster_dims__`) has that shape without this call; the driver then refuses
    /// another shape here, or a grid that is not a multiple of it.
    #[must_use]
    pub fn cluster(self, blocks: impl Into<Dim3>) -> Self {
        LaunchConfig { cluster: Some(blocks.into()), ..self }
    }

    /// The priority among kernels that wait for free resources of the device: a smaller value is more urgent. Must be
    /// within [`Nvrtc::priorities`](crate::Nvrtc::priorities). It does not change the order that the operands require.
    /// The host engine does not use it.
    #[must_use]
    pub fn priority(self, priority: i32) -> Self {
        LaunchConfig { priority: Some(priority), ..self }
    }

    /// The grid in blocks.
    pub fn grid(&self) -> Dim3 {
        self.grid
    }

    /// The block in threads.
    pub fn block(&self) -> Dim3 {
        self.block
    }

    /// Dynamic shared memory of a block in bytes.
    pub fn shared_bytes(&self) -> u32 {
        self.shared
    }

    /// Whether all blocks must run at once.
    pub fn is_cooperative(&self) -> bool {
        self.cooperative
    }

    /// The shape of a cluster in blocks.
    pub fn cluster_dims(&self) -> Option<Dim3> {
        self.cluster
    }

    /// The priority, if one was given.
    pub fn launch_priority(&self) -> Option<i32> {
        self.priority
    }

    /// Whether it uses nothing beyond grid, block and shared memory.
    pub(crate) fn is_plain(&self) -> bool {
        !self.cooperative && self.cluster.is_none() && self.priority.is_none()
    }

    /// Checks everything against the limits of the device and of the kernel.
    #[inline]
    pub(crate) fn check(&self, name: &str, device: &DeviceLimits, kernel: &KernelLimits) -> Result<()> {
        if self.is_plainly_allowed(device, kernel) { Ok(()) } else { self.compare(name, device, kernel) }
    }

    /// A quick test that most launches pass. The others are checked in detail by `compare`.
    #[inline]
    fn is_plainly_allowed(&self, device: &DeviceLimits, kernel: &KernelLimits) -> bool {
        let inside = |given: Dim3, [x, y, z]: [u32; 3]| {
            // Zero is not inside: `0 - 1` wraps to the largest value.
            let inside = |given: u32, most: u32| given.wrapping_sub(1) < most;
            inside(given.x, x) & inside(given.y, y) & inside(given.z, z)
        };
        let (threads, most) = (self.block.count(), device.block_threads.min(kernel.block_threads));
        inside(self.grid, device.grid)
            && inside(self.block, device.block)
            && threads <= u128::from(most)
            && u64::from(self.shared) + u64::from(kernel.shared) <= u64::from(device.shared)
            && self.is_plain()
    }

    /// Checks each limit in turn.
    fn compare(&self, name: &str, device: &DeviceLimits, kernel: &KernelLimits) -> Result<()> {
        extents("grid", self.grid, device.grid)?;
        extents("block", self.block, device.block)?;
        let threads = self.block.count();
        if threads > device.block_threads.into() {
            let reason = format!("{} = {threads} threads, but the device allows {}", self.block, device.block_threads);
            return Err(Error::invalid("block", reason));
        }
        if threads > kernel.block_threads.into() {
            let (most, registers) = (kernel.block_threads, kernel.registers);
            let reason = format!("{threads} threads, but `{name}` allows {most} ({registers} registers per thread)");
            return Err(Error::invalid("block", reason));
        }
        let most = device.shared.saturating_sub(kernel.shared);
        if self.shared > most {
            let reason = format!(
                "{} bytes, but the device has {} per block, of which `{name}` itself uses {}",
                self.shared, device.shared, kernel.shared
            );
            return Err(Error::invalid("shared", reason));
        }
        if self.cooperative && !device.cooperative {
            return Err(Error::unsupported("this device does not support cooperative launches"));
        }
        if let Some(cluster) = self.cluster {
            self.check_cluster(cluster, device)?;
        }
        match self.priority {
            Some(p) if !(device.priorities.0..=device.priorities.1).contains(&p) => {
                let (most, least) = device.priorities;
                Err(Error::invalid("priority", format!("{p}, but the device supports {most} (most urgent) to {least}")))
            }
            _ => Ok(()),
        }
    }

    fn check_cluster(&self, cluster: Dim3, device: &DeviceLimits) -> Result<()> {
        /// The cluster size that every device with clusters supports.
        const PORTABLE: u128 = 8;
        if !device.clusters {
            return Err(Error::unsupported("this device does not support thread block clusters"));
        }
        if cluster.count() == 0 || cluster.count() > PORTABLE {
            let reason = format!("{cluster} = {} blocks, but a cluster can have 1 to {PORTABLE}", cluster.count());
            return Err(Error::invalid("cluster", reason));
        }
        let (grid, cluster) = (self.grid, cluster);
        let fits = grid.array().iter().zip(cluster.array()).all(|(g, c)| g.is_multiple_of(c));
        if fits {
            Ok(())
        } else {
            Err(Error::invalid("cluster", format!("the grid {grid} is not a multiple of the cluster {cluster}")))
        }
    }
}

/// Checks that no extent is zero or larger than the device allows.
fn extents(argument: &'static str, given: Dim3, most: [u32; 3]) -> Result<()> {
    for ((axis, given), most) in ["x", "y", "z"].into_iter().zip(given.array()).zip(most) {
        if given == 0 {
            return Err(Error::invalid(argument, format!("{axis} is 0, but it must be 1 to {most}")));
        }
        if given > most {
            return Err(Error::invalid(argument, format!("{axis} is {given}, but the device allows {most}")));
        }
    }
    Ok(())
}

impl From<LaunchDims> for LaunchConfig {
    fn from(dims: LaunchDims) -> Self {
        Self::new(dims.grid, dims.block).shared(dims.shared)
    }
}
