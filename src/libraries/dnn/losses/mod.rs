//! Losses of classification: negative log-likelihood and cross-entropy, with their gradients.

// The scores of the labels' classes are taken by their numbers; the rest is a formula of one number for each label, and its sum. The
// logarithm of a sum of exponentials is a reduction. Only the gradient has a formula over all classes, which knows that of the label by its
// position. `formulas.rs` has the formulas, `front.rs` the calls. On the CPU, `rows.rs` makes the sums and the gradients of rows of scores,
// by the loops of `host.rs`.

mod formulas;
mod front;
#[cfg(feature = "host")]
mod host;
mod rows;

pub use front::{LabelLoss, LossReduction};

/// Registers the operation of this folder in the registry of a worker program.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) fn register(registry: &mut crate::engines::worker::Registry) {
    registry.add::<rows::ScoreRows>();
}
