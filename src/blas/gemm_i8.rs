//! Products of 8-bit integers that cuBLAS refuses.
//!
//! Its kernels for them take only some combinations of transposes, sizes and leading dimensions and answer
//! `CUBLAS_STATUS_NOT_SUPPORTED` to the rest (seen with cuBLAS 13.1 on an H200 for a 100 x 5 x 2 product with B
//! transposed and a C whose columns are not multiples of four). A plain kernel of our own then does it: exact, and slow
//! beside the library's.

use crate::op::Op;
use crate::{Enqueue, LaunchDims, Ptx, Result};

static KERNEL: Ptx = Ptx::new(include_str!("gemm_i8.ptx"));

/// One product in the kernel's terms: sizes, and the strides of `op(A)` and `op(B)` in elements.
pub(super) struct Product {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    /// Between rows and between columns of `op(A)`.
    pub(super) a: (usize, usize),
    /// Between rows and between columns of `op(B)`.
    pub(super) b: (usize, usize),
    pub(super) ldc: usize,
}

impl Product {
    /// Enqueues it; `factors` are `alpha` and `beta`.
    pub(super) fn enqueue<O: Op>(
        &self,
        queue: &mut Enqueue<'_, O>,
        (a, b, c): (u64, u64, u64),
        factors: (u32, u32),
    ) -> Result<()> {
        let mut dims = LaunchDims::for_elements(self.m)?;
        dims.grid.1 = self.n.min(65_535) as u32; // the kernel steps over the rest
        let args = [
            a.into(),
            b.into(),
            c.into(),
            self.m.into(),
            self.n.into(),
            self.k.into(),
            self.a.0.into(),
            self.a.1.into(),
            self.b.0.into(),
            self.b.1.into(),
            self.ldc.into(),
            factors.0.into(),
            factors.1.into(),
        ];
        // SAFETY: the arguments are the kernel's parameters in order and type; it reads the matrices A and B and writes
        // C, which the op's check has put inside the operands.
        unsafe { queue.launch(&KERNEL, c"gemm_i8", dims, &args) }
    }
}
