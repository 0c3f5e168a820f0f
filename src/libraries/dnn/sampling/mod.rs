//! Elements at places between the elements: sampling by a grid.

// `places.rs` has the formulas: for each place and corner around it the number of an element, and its weight. `front.rs` takes the
// elements by number, all channels of one at once, and sums their products with the weights. `gradient.rs`
// adds to the elements by number, and sums over the channels for the grid. On the CPU, `direct.rs` samples planes of elements that lie
// side by side in one step, by the loops of `host.rs`.

mod direct;
mod front;
mod gradient;
#[cfg(feature = "host")]
mod host;
mod places;

pub use places::{Beyond, GridSample, Sampling};

/// Registers the operation of this folder in the registry of a worker program.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) fn register(registry: &mut crate::engines::worker::Registry) {
    registry.add::<direct::Sample>();
}
