//! Activations: one table of formulas with their derivatives, for closures and as calls; and the gradients of softmax.

// A row of `table.rs` is a name, its numbers, the formula and the derivative. `front.rs` has the calls. Softmax itself is a reduction
// (`../../reductions/rows`); `softmax.rs` has its gradients.

mod front;
mod softmax;
mod table;

pub use table::Activation;
