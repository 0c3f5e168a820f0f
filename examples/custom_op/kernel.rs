//! The CUDA half: a kernel in PTX, which the driver compiles for the GPU at hand when it is first launched.

use super::poly::Poly;
use windlass::{
    Error, Result,
    op::{Enqueue, LaunchDims, Ptx},
};

static KERNEL: Ptx = Ptx::new(include_str!("poly.ptx"));

/// One thread an element. Only enqueues; the library records the completion and keeps the buffers until it passed.
pub(crate) fn enqueue(queue: &mut Enqueue<'_, Poly>) -> Result<()> {
    let ((x, c), (y,)) = (*queue.reads(), *queue.writes());
    if x.is_empty() {
        return Ok(()); // a grid of no blocks is an error to the driver
    }
    let terms = u32::try_from(c.len()).map_err(|_| Error::invalid("c", "more than 2^32 terms"))?;
    let args = [x.into(), c.into(), y.into(), x.len().into(), terms.into()];
    let dims = LaunchDims::for_elements(x.len())?;
    // SAFETY: the arguments are the kernel's parameters in order and type (see poly.ptx). It reads all of
    // `x` and `c` and writes `x.len()` elements of `y`, all of which `check` has measured.
    unsafe { queue.launch(&KERNEL, c"poly", dims, &args) }
}
