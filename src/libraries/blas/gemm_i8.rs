//! Products of 8-bit integers that cuBLAS refuses.
//!
//! Its kernels for them support only some combinations of transposes, sizes and leading dimensions. The others fail
//! with `CUBLAS_STATUS_NOT_SUPPORTED` (seen with cuBLAS 13.1 on an H200 for a 100 x 5 x 2 product with B transposed and
//! a C whose columns are not multiples of four). Our own plain kernel then computes them, one product or a batch in one
//! launch: exact, but slow compared with the library's.

use super::prelude::*;
use super::product::Product;
use crate::core::launch::LaunchDims;
use crate::engines::cuda::{Ptx, Queue};

pub(super) static KERNEL: Ptx = Ptx::new(include_str!("gemm_i8.ptx"));

/// Products of one shape in the kernel's terms.
pub(super) struct Products {
    m: usize,
    n: usize,
    k: usize,
    /// The distance between rows, and between columns, of the first factor.
    a: (usize, usize),
    /// The distance between rows, and between columns, of the second factor.
    b: (usize, usize),
    ldc: usize,
    /// Alpha and beta: by value, or at an address.
    factors: [(u32, u64); 2],
}

/// The addresses of the matrices A, B and C.
pub(super) enum Where {
    /// The address of the first of each, and the bytes from one to the next.
    Even([u64; 3], [u64; 3]),
    /// The address of a table that holds the addresses of all A, of all B, of all C.
    Table(u64),
}

impl Products {
    /// The kernel's form of a product, of its first and its second factor.
    pub(super) fn new<T: GemmElement>(
        product: &Product<T>,
        (alpha, beta): &(Scalar<T::Scalar>, Scalar<T::Scalar>),
    ) -> Result<Self> {
        let ([lda, ldb, ldc], k) = (product.ld, if alpha.is_zero() { 0 } else { product.k });
        let strides = |trans, ld| if trans == Transpose::No { (1, ld) } else { (ld, 1) };
        let word = |scalar: &Scalar<T::Scalar>| -> Result<(u32, u64)> {
            let (value, at) = scalar.place();
            let bits = bytemuck::bytes_of(&value).try_into().map(u32::from_ne_bytes);
            let odd = |_| {
                Error::library("internal error: the scalars of a product of 8-bit integers are not 32-bit integers")
            };
            Ok((bits.map_err(odd)?, at))
        };
        let [trans_a, trans_b] = product.trans;
        let (a, b) = (strides(trans_a, lda), strides(trans_b, ldb));
        Ok(Products { m: product.m, n: product.n, k, a, b, ldc, factors: [word(alpha)?, word(beta)?] })
    }

    /// Enqueues `count` products, at least one.
    pub(super) fn enqueue(&self, queue: &mut Queue<'_>, at: Where, count: usize) -> Result<()> {
        let mut dims = LaunchDims::for_elements(self.m)?;
        // The kernel loops over what exceeds the grid.
        [dims.grid.1, dims.grid.2] = [self.n, count].map(|size| size.min(65_535) as u32);
        let (table, [a, b, c], steps) = match at {
            Where::Even(first, steps) => (0, first, steps),
            Where::Table(at) => (at, [0; 3], [0; 3]),
        };
        let [(alpha, alpha_at), (beta, beta_at)] = self.factors;
        let args = [
            table.into(),
            a.into(),
            b.into(),
            c.into(),
            steps[0].into(),
            steps[1].into(),
            steps[2].into(),
            count.into(),
            self.m.into(),
            self.n.into(),
            self.k.into(),
            self.a.0.into(),
            self.a.1.into(),
            self.b.0.into(),
            self.b.1.into(),
            self.ldc.into(),
            alpha.into(),
            beta.into(),
            alpha_at.into(),
            beta_at.into(),
        ];
        // SAFETY: the arguments are the kernel's parameters in order and type; it reads the matrices A and B and
        // factors in device memory and writes C, all of which lie inside the operands (the op's check).
        unsafe { queue.launch(&KERNEL, c"gemm_i8", dims, &args) }
    }
}
