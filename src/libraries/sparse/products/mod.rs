//! Products of a sparse matrix with dense vectors and matrices, sampled products, and products of two sparse matrices.

mod sddmm;
mod spgemm;
mod spmm;
mod spmv;

pub use sddmm::Sddmm;
pub(super) use spgemm::Side;
pub use spmm::Spmm;
pub use spmv::Spmv;

#[cfg(all(feature = "every-operation", target_os = "linux"))]
use super::element::{SparseElement, SparseIndex};

#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) fn register<T: SparseElement, I: SparseIndex>(registry: &mut crate::engines::worker::Registry) {
    registry.call::<spmv::Product<T, I>>();
    registry.call::<spmm::Product<T, I>>();
    registry.call::<sddmm::Sampled<T, I>>();
    registry.call::<spgemm::Masked<T, I>>();
    super::made::register::<spgemm::Product<T, I>>(registry);
}
