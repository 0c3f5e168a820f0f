//! Elements at places between the elements: sampling by a grid.

// `places.rs` has the formulas: for each place and corner around it the number of an element, and its weight. `front.rs` takes the
// elements by number, all channels of one at once, and sums their products with the weights. `gradient.rs`
// adds to the elements by number, and sums over the channels for the grid.

mod front;
mod gradient;
mod places;

pub use places::{Beyond, GridSample, Sampling};
