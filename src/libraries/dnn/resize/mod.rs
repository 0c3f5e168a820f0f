//! Resizing along axes: nearest, linear, cubic.

// The host lists for each element of a new axis which old elements it takes, and with what weights (`weights.rs`). `front.rs` takes
// them by number, and sums their products with the weights: two dispatches for an axis that changes, one if each has one element.
// The gradient has the same weights turned around (`transposed.rs`). On the CPU, `blend.rs` does both in one dispatch, for two axes if
// the second is the innermost, by the loops of `host.rs`; elements that are rounded between the axes, and those that do not lie side by
// side, take the general path.

mod blend;
mod front;
#[cfg(feature = "host")]
mod host;
mod transposed;
mod weights;

pub use weights::{Coordinates, Interpolation, Nearest, Resize};

/// Registers the operation of this folder in the registry of a worker program.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) fn register(registry: &mut crate::engines::worker::Registry) {
    registry.add::<blend::Blend>();
}
