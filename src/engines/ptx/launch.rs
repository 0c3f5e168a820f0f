//! The extents of a launch, and what is checked in it.

use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

/// Grid and block, and the shared memory of a block.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of shared memory that the launch adds to what the kernel declares.
    pub dynamic_shared: u32,
    pub(super) total_shared: u32,
}

impl Shape {
    /// The extents of a launch.
    pub fn new(grid: [u32; 3], block: [u32; 3], dynamic_shared: u32) -> Self {
        Shape { grid, block, dynamic_shared, total_shared: dynamic_shared }
    }

    /// The threads of a block. A launch with more than 1024 is refused before.
    pub(super) fn threads(&self) -> u32 {
        self.block.iter().fold(1, |all, extent| all.saturating_mul(*extent))
    }

    pub(super) fn blocks(&self) -> u64 {
        self.grid.iter().fold(1, |all, extent| all.saturating_mul((*extent).into()))
    }

    /// The index of the block with that number; x varies fastest.
    pub(super) fn block_index(&self, number: u64) -> [u32; 3] {
        let [x, y, _] = self.grid.map(|extent| u64::from(extent.max(1)));
        [(number % x) as u32, (number / x % y) as u32, (number / x / y) as u32]
    }

    pub(super) fn block_number(&self, [x, y, z]: [u32; 3]) -> u64 {
        let [width, height, _] = self.grid.map(u64::from);
        u64::from(x) + width * (u64::from(y) + height * u64::from(z))
    }

    pub(super) fn thread(&self, number: u32) -> [u32; 3] {
        let [x, y, _] = self.block.map(|extent| extent.max(1));
        [number % x, number / x % y, number / x / y]
    }
}

/// What is checked beyond bounds and alignment, which always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checks {
    /// Reads of memory that nothing wrote, and outputs that are not written.
    pub initialised: bool,
    /// Races in shared and global memory.
    pub races: bool,
    /// The most instructions of all warps together: an instruction counts once for all lanes that execute it together. A core
    /// executes 2 to 7 million of them a second, so 2^32 take 10 to 35 minutes on one core, which is where a loop without an end
    /// in one block runs.
    pub budget: u64,
    /// Blocks run side by side on the pool; else one after the other on the calling thread, so that what is found is the same
    /// each time.
    pub parallel: bool,
}

impl Checks {
    /// All checks, and a budget of 2^32 instructions.
    pub const ALL: Checks = Checks { initialised: true, races: true, budget: 1 << 32, parallel: true };
    /// Bounds, alignment and barriers alone.
    pub const BOUNDS: Checks = Checks { initialised: false, races: false, budget: 1 << 32, parallel: true };
}

/// What the blocks of a launch share.
pub(super) struct Common {
    pub(super) checks: Checks,
    /// Releases of any block.
    pub(super) tick: AtomicU32,
    left: AtomicI64,
}

impl Common {
    pub(super) fn new(checks: Checks) -> Self {
        let left = i64::try_from(checks.budget).unwrap_or(i64::MAX);
        Common { checks, tick: AtomicU32::new(0), left: AtomicI64::new(left) }
    }

    /// Takes so many instructions from the budget; false when it is spent.
    pub(super) fn spend(&self, instructions: u32) -> bool {
        self.left.fetch_sub(instructions.into(), Ordering::Relaxed) > 0
    }
}
