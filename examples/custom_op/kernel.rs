//! The CUDA half: a kernel in PTX, which the driver compiles for the GPU at hand when it is first launched.

use super::poly::Poly;
use windlass::{Enqueue, Error, KernelArg, LaunchDims, Ptx, Result};

static KERNEL: Ptx = Ptx::new(include_str!("poly.ptx"));

/// Threads of a block: a multiple of the warp's 32, and few enough for every GPU.
const BLOCK: u32 = 256;

/// One thread an element. Only enqueues; the library records the completion and keeps the buffers until it passed.
pub(crate) fn enqueue(queue: &mut Enqueue<'_, Poly>) -> Result<()> {
    let ((x, c), (y,)) = (*queue.reads(), *queue.writes());
    if x.is_empty() {
        return Ok(()); // a grid of no blocks is an error to the driver
    }
    let blocks = u32::try_from(x.len().div_ceil(BLOCK as usize))
        .ok()
        .filter(|&blocks| blocks <= i32::MAX as u32)
        .ok_or_else(|| Error::invalid("x", format!("{} elements are more than one grid holds", x.len())))?;
    let terms = u32::try_from(c.len()).map_err(|_| Error::invalid("c", "more than 2^32 terms"))?;
    let (from, factors, to, len) = (x.address(), c.address(), y.address(), x.len() as u64);
    let args: [&dyn KernelArg; 5] = [&from, &factors, &to, &len, &terms];
    let dims = LaunchDims { grid: (blocks, 1, 1), block: (BLOCK, 1, 1), shared: 0 };
    // SAFETY: the arguments are the kernel's parameters in order and type (see poly.ptx). It reads `len` elements at
    // `from` and `terms` at `factors` and writes `len` at `to`, all of which `check` has measured.
    unsafe { queue.launch(&KERNEL, c"poly", dims, &args) }
}
