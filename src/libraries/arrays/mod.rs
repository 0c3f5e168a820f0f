//! Tensors in order: sorted, and the largest of their elements, with the same bits on both engines.
//!
//! | call | result |
//! |---|---|
//! | [`Device::sort`](crate::Device::sort), `argsort`, `sort_with_indices` | the elements in order, where they were, both |
//! | [`Device::top_k`](crate::Device::top_k), `bottom_k` | the largest and the smallest ones, with their places |

// `sort/` is the operation behind all of them.

#[cfg(feature = "cuda")]
mod loaded;
mod scatter;
mod search;
mod sort;

pub use scatter::Combine;
pub use search::Side;
pub use sort::{By, Ordered};

/// Registers the operations of this folder in the registry of a worker program.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) fn register(registry: &mut crate::engines::worker::Registry) {
    registry.add::<sort::Sort>();
    registry.add::<search::Search>();
    registry.add::<scatter::Put>();
}
