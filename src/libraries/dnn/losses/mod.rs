//! Losses of classification: negative log-likelihood and cross-entropy, with their gradients.

// The scores of the labels' classes are taken by their numbers; the rest is a formula of one number for each label, and its sum. The
// logarithm of a sum of exponentials is a reduction. Only the gradient has a formula over all classes, which knows that of the label by its
// position. `formulas.rs` has the formulas, `front.rs` the calls.

mod formulas;
mod front;

pub use front::{LabelLoss, LossReduction};
