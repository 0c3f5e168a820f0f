//! Conversions between formats, to and from dense matrices.
//!
//! | file | what it does |
//! |---|---|
//! | `coordinates` | offsets to row indices and back: the other arrays are shared |
//! | `recompress` | compressed rows to compressed columns and back, by counting |
//! | `dense` | to dense matrices, and from them |
//! | `blocks` | compressed rows to blocks and back |
//! | `triplets` | coordinates in any order: sorts them and sums duplicates |

mod blocks;
mod coordinates;
mod dense;
mod recompress;
mod triplets;

#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) fn register<T: super::SparseElement, I: super::SparseIndex>(
    registry: &mut crate::engines::worker::Registry,
) {
    registry.call::<coordinates::Expand<I>>();
    registry.call::<coordinates::Compress<I>>();
    registry.call::<recompress::Recompress<T, I>>();
    registry.call::<dense::ToDense<T, I>>();
    super::made::register::<dense::FromDense<T, I>>(registry);
    registry.call::<blocks::Unblock<T, I>>();
    super::made::register::<blocks::ToBlocks<T, I>>(registry);
    registry.call::<triplets::Sort<T, I>>();
    registry.call::<triplets::Sum<T, I>>();
}
