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
    registry.call::<coordinates::Expand<I>>();
    registry.call::<coordinates::Compress<I>>();
    registry.call::<turn::Turn<T, I>>();
    registry.call::<dense::ToDense<T, I>>();
    super::made::register::<dense::FromDense<T, I>>(registry);
    registry.call::<blocks::Unblock<T, I>>();
    super::made::register::<blocks::ToBlocks<T, I>>(registry);
    registry.call::<triplets::Sort<T, I>>();
    registry.call::<triplets::Sum<T, I>>();
}
