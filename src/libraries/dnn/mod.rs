//! Neural networks: `device.dnn()`.

mod activations;
mod formulas;
mod front;
mod losses;
mod norms;
#[cfg(feature = "host")]
mod number;
mod pooling;

pub use activations::Activation;
pub use front::Dnn;
pub use losses::{Loss, LossReduction};
pub use norms::{Affine, Norm, Running};
pub use pooling::Pool;

/// Registers the operations of this folder in the registry of a worker program.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) fn register(registry: &mut crate::engines::worker::Registry) {
    pooling::register(registry);
}
