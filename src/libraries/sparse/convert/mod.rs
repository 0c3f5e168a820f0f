//! Formats into each other, to and from dense matrices.
//!
//! | file | what it does |
//! |---|---|
//! | `coordinates` | offsets into rows of coordinates and back: the other arrays are shared |
//! | `turn` | compressed rows into compressed columns and back, by counting |
//! | `dense` | to dense matrices, and from them |
//! | `blocks` | compressed rows into blocks and back |
//! | `triplets` | coordinates in any order, sorted and summed |

mod blocks;
mod coordinates;
mod dense;
mod triplets;
mod turn;

pub use dense::Dense;

#[cfg(all(feature = "worker-program", target_os = "linux"))]
pub(super) fn register<T: super::SparseElement, I: super::SparseIndex>(registry: &mut crate::worker::Registry) {
    registry.sparse::<coordinates::Expand<I>>();
    registry.sparse::<coordinates::Compress<I>>();
    registry.sparse::<turn::Turn<T, I>>();
    registry.sparse::<dense::ToDense<T, I>>();
    super::made::register::<dense::FromDense<T, I>>(registry);
    registry.sparse::<blocks::Unblock<T, I>>();
    super::made::register::<blocks::ToBlocks<T, I>>(registry);
    registry.sparse::<triplets::Sort<T, I>>();
    registry.sparse::<triplets::Sum<T, I>>();
}
