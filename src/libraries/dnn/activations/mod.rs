//! Activations: one table of formulas with their derivatives, for closures and as calls.

// A row of `table.rs` is a name, its numbers, the formula and the derivative. `front.rs` has the calls.

mod front;
mod table;

pub use table::Activation;
