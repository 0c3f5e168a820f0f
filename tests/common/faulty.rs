//! A kernel that goes wrong in the way that is asked for.

use crate::common::{Deed, InPlace};
use serde::{Deserialize, Serialize};
use windlass::{
    Result,
    op::{Enqueue, Wire},
};

/// What can go wrong, by the number that the kernel knows it by.
pub(crate) const KINDS: [&str; 8] =
    ["nothing", "illegal address", "misaligned", "out of bounds", "trap", "assert", "recursion", "endless"];

/// The kernel does one of [`KINDS`].
#[derive(Serialize, Deserialize)]
pub(crate) struct Faulty(pub(crate) u32);

static KERNELS: windlass::op::Ptx = windlass::op::Ptx::new(include_str!("faulty.ptx"));

impl Deed for Faulty {
    const NAME: &'static str = "faulty";
    type Element = f32;
    fn cuda(&self, queue: &mut Enqueue<'_, InPlace<Self>>) -> Result<()> {
        let (x,) = *queue.writes();
        let dims = windlass::op::LaunchDims { grid: (1, 1, 1), block: (1, 1, 1), shared: 0 };
        // SAFETY: an address and the kind; that the kernel breaks its promise is the point of the test.
        unsafe { queue.launch(&KERNELS, c"faulty", dims, &[x.into(), self.0.into()]) }
    }
    fn wire() -> Option<Wire<InPlace<Self>>> {
        Wire::plain()
    }
}
