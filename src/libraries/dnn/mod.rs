//! Neural networks: `device.dnn()`.

mod activations;
mod embeddings;
mod formulas;
mod front;
mod losses;
mod norms;
#[cfg(feature = "host")]
mod number;
mod pooling;
mod resize;

pub use activations::Activation;
pub use embeddings::Rotary;
pub use front::Dnn;
pub use losses::{Loss, LossReduction};
pub use norms::{Affine, Norm, ResponseNorm, Running};
pub use pooling::Pool;
pub use resize::{Coordinates, Interpolation, Nearest, Resize};

/// Registers the operations of this folder in the registry of a worker program.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) fn register(registry: &mut crate::engines::worker::Registry) {
    pooling::register(registry);
}
