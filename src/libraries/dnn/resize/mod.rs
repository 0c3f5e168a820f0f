//! Resizing along axes: nearest, linear, cubic.

// The host lists for each element of a new axis which old elements it takes, and with what weights (`weights.rs`). `front.rs` takes
// them by number, and sums their products with the weights: two dispatches for an axis that changes, one if each has one element.
// The gradient has the same weights turned around (`transposed.rs`).

mod front;
mod transposed;
mod weights;

pub use weights::{Coordinates, Interpolation, Nearest, Resize};
