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
use crate::core::buffer::Span;
use crate::core::error::{Error, Result};

/// Checks that a scalar in device memory has at least one element.
fn check_scalar<S: crate::core::element::Element>(name: &'static str, at: &Option<Span<S>>) -> Result<()> {
    match at {
        Some(span) if span.is_empty() => {
            Err(Error::invalid(name, "0 elements, but a scalar in device memory takes 1".to_string()))
        }
        _ => Ok(()),
    }
}

/// The value of a scalar on the host engine.
#[cfg(feature = "host")]
fn scalar<S: Copy>(value: S, at: Option<&[S]>) -> S {
    at.and_then(|at| at.first()).copied().unwrap_or(value)
}

#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) fn register<T: SparseElement, I: SparseIndex>(registry: &mut crate::engines::worker::Registry) {
    registry.call::<spmv::Product<T, I>>();
    registry.call::<spmm::Product<T, I>>();
    registry.call::<sddmm::Sampled<T, I>>();
    registry.call::<spgemm::Masked<T, I>>();
    super::made::register::<spgemm::Product<T, I>>(registry);
}
