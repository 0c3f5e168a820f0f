//! Matrices: level 3, its batches, and cuBLAS's extensions.
//!
//! A specification says what the views of its matrices cannot; a routine is plain data, of matrices that are read by columns.
//!
//! | file | routines |
//! |---|---|
//! | `symm`, `syrk`, `syr2k` | symmetric and Hermitian matrices: products with them, updates of them |
//! | `trmm`, `trsm` | triangular matrices: products and solutions |
//! | `geam`, `dgmm` | sums of matrices; products with diagonal matrices |
//! | `gemm_batched`, `gemm_groups` | lists and groups of general products |
//! | `gemm_bytes` | batches of products of 8-bit integers, which the library supports only if they are aligned |
//! | `trsm_batched`, `lu` | batches of triangular and general systems, factors, inverses |
//! | `orders` | the order in which the matrices of a call lie: how those that are read by rows are given to a library that reads columns |
//! | `spread` | how the matrices of a batch are stored: in one buffer, or in one each |
//! | `batch` | counts and distances, arrays of addresses, copies of the matrices of a batch |
//! | `pivots` | makes a caller's pivots safe to use |

mod batch;
mod dgmm;
mod geam;
mod gemm_batched;
#[cfg(feature = "cuda")]
mod gemm_bytes;
#[cfg(feature = "cuda")]
mod gemm_groups;
mod lu;
mod orders;
#[cfg(feature = "cuda")]
mod pivots;
mod spread;
mod symm;
mod syr2k;
mod syrk;
mod trmm;
mod trsm;
mod trsm_batched;

pub(super) use batch::Operand;
pub use geam::Geam;
#[cfg(feature = "cuda")]
pub(super) use gemm_bytes::{apart, is_aligned};
pub(super) use orders::matrix;
#[cfg(feature = "cuda")]
pub(super) use pivots::KERNEL as PIVOTS;
pub use symm::Symm;
pub use syr2k::{Her2k, Syr2k};
pub use syrk::{Herk, Syrk};
pub use trsm::Triangular;

/// The cost of a matrix operation: its multiply-adds of `T`, and the elements that it moves.
fn cost<T: crate::core::element::Element>(multiply_adds: [usize; 3], moved: [usize; 3]) -> crate::core::op::Cost {
    let product = |sizes: [usize; 3]| sizes.iter().fold(1u64, |all, size| all.saturating_mul(*size as u64));
    let sum = moved.iter().fold(0u64, |all, size| all.saturating_add(*size as u64));
    // A complex multiply-add is four multiplications and four additions.
    let each = if T::DTYPE.is_complex() { 8 } else { 2 };
    crate::core::op::Cost {
        flops: product(multiply_adds).saturating_mul(each),
        bytes: sum.saturating_mul(size_of::<T>() as u64),
    }
}

#[cfg(feature = "cuda")]
impl<R: super::routine::Routine> super::routine::Queue<'_, '_, R> {
    /// `C = beta * C` for an `m x n` matrix: what a routine computes if its `alpha` is zero. Done by a product with
    /// `k = 0`, which reads nothing else.
    fn scale_matrix<T: super::BlasElement>(
        &mut self,
        (m, n): (usize, usize),
        beta: &super::scalar::Scalar<T>,
        c: u64,
        ldc: i64,
    ) -> crate::core::error::Result<()> {
        use crate::libraries::blas::native::PointerMode;
        let (m, n, zero) = (m as i64, n as i64, super::scalar::Scalar::new(T::default(), &None));
        let (c, mode) = (c as *mut std::ffi::c_void, beta.mode());
        // SAFETY: C lies inside its buffer (the routine's check), which lives until this work is done; with no columns
        // A and B are not read; scalars in host memory are read before the call returns, and both are of one mode.
        self.typed(mode, |api, handle| unsafe {
            // The factor of no columns: any.
            let alpha = if mode == PointerMode::Host { zero.pointer() } else { beta.pointer() };
            let beta = beta.pointer();
            api.gemm(T::LETTER, handle, 0, 0, m, n, 0, alpha, c, m.max(1), c, 1, beta, c, ldc)
        })
    }
}

#[cfg(all(feature = "every-operation", target_os = "linux"))]
use super::gemm::{Same, Single};
#[cfg(all(feature = "every-operation", target_os = "linux"))]
use super::{BlasElement, ComplexElement, GemmElement, MixedElement};
#[cfg(all(feature = "every-operation", target_os = "linux"))]
use crate::engines::worker::Registry;
#[cfg(all(feature = "every-operation", target_os = "linux"))]
use spread::{Even, Listed};

#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) fn batched_products<T: GemmElement>(registry: &mut Registry) {
    registry.routine::<gemm_batched::Grouped<T, Same, false>>();
    registry.routine::<gemm_batched::Grouped<T, Same, true>>();
}

#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) fn batched_products_into_f32<T: MixedElement>(registry: &mut Registry) {
    registry.routine::<gemm_batched::Grouped<T, Single, false>>();
    registry.routine::<gemm_batched::Grouped<T, Single, true>>();
}

#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) fn matrices<T: BlasElement>(registry: &mut Registry) {
    registry.routine::<dgmm::Scale<T>>();
    registry.routine::<geam::Sum<T>>();
    batches::<T, Even>(registry);
    batches::<T, Listed>(registry);
    registry.routine::<symm::Product<T, false>>();
    registry.routine::<syrk::Rank<T, T, false>>();
    registry.routine::<syr2k::Rank2<T, T, false, true>>();
    registry.routine::<syr2k::Rank2<T, T, false, false>>();
    registry.routine::<trmm::InPlace<T>>();
    registry.routine::<trmm::Apart<T>>();
    registry.routine::<trsm::Trsm<T>>();
}

#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) fn matrices_of_complex<T: ComplexElement>(registry: &mut Registry) {
    registry.routine::<symm::Product<T, true>>();
    registry.routine::<syrk::Rank<T, T::Real, true>>();
    registry.routine::<syr2k::Rank2<T, T::Real, true, true>>();
    registry.routine::<syr2k::Rank2<T, T::Real, true, false>>();
}

#[cfg(all(feature = "every-operation", target_os = "linux"))]
fn batches<T: BlasElement, L: spread::Spread>(registry: &mut Registry) {
    registry.routine::<lu::Factor<T, L>>();
    registry.routine::<lu::Solve<T, L>>();
    registry.routine::<lu::Invert<T, L, true>>();
    registry.routine::<lu::Invert<T, L, false>>();
    registry.routine::<trsm_batched::Solve<T, L>>();
}
