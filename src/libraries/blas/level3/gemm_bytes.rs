//! Batches of products of 8-bit integers on a GPU.
//!
//! The library's batches of these need everything aligned, and it cannot check that: the addresses are in device
//! memory. So it gets only batches in which everything is aligned to [`VECTOR`] bytes. Other batches are computed by
//! our own kernel, all at once. Large products are instead computed by the library one after the other: it is so much
//! faster that a call for each costs less.

use super::super::gemm::{Kind, enqueue};
use super::super::gemm_i8::{Products, Where};
use super::super::prelude::*;
use super::super::product::Product;
use super::batch::Places;

/// Bytes that the library's kernels load at a time.
const VECTOR: u64 = 16;
/// From this many multiply-adds, a product is large.
const LARGE: usize = 1 << 21;

/// Whether all matrices A, B and C, and their columns, are aligned to [`VECTOR`] bytes.
pub(in crate::libraries::blas) fn is_aligned<T, O>(all: [&Places; 3], [lda, ldb, ldc]: [usize; 3]) -> bool {
    let aligned = |bytes: u64| bytes.is_multiple_of(VECTOR);
    let of = |ld: usize, size: usize| ld.wrapping_mul(size);
    let columns = [of(lda, size_of::<T>()), of(ldb, size_of::<T>()), of(ldc, size_of::<O>())];
    columns.into_iter().all(|bytes| aligned(bytes as u64))
        && all.iter().all(|places| match places {
            Places::Even(series, _) => aligned(series.first) && aligned(series.step),
            Places::Each(all) => all.iter().copied().all(aligned),
        })
}

/// Computes products that the library does not support as a batch.
pub(in crate::libraries::blas) fn apart<T: GemmElement, K: Kind<T>, R: Routine>(
    queue: &mut Queue<'_, '_, R>,
    product: &Product<T>,
    scalars: &(Scalar<T::Scalar>, Scalar<T::Scalar>),
    [a, b, c]: [&Places; 3],
) -> Result<()> {
    if product.m.saturating_mul(product.n).saturating_mul(product.k) >= LARGE {
        let mut each = a.iter().zip(b.iter()).zip(c.iter());
        return each.try_for_each(|((a, b), c)| enqueue::<T, K, _>(queue, product, scalars, (a, b, c)));
    }
    let (a, b) = product.factors(a, b);
    let at = match (a, b, c) {
        (Places::Even(a, _), Places::Even(b, _), Places::Even(c, _)) => {
            Where::Even([a, b, c].map(|series| series.first), [a, b, c].map(|series| series.step))
        }
        _ => Where::Table(queue.arrays([a, b, c])?[0] as u64),
    };
    Products::new(product, scalars)?.enqueue(queue, at, c.len())
}
