//! Losses of classification: negative log-likelihood and cross-entropy, with their gradients.

// The logarithm of a sum of exponentials and the sum over classes are reductions of formulas; the class of a label is found by
// its position. So nothing of the size of the scores is stored in between. `formulas.rs` has the formulas, `front.rs` the calls.

mod formulas;
mod front;

pub use front::{Loss, LossReduction};
