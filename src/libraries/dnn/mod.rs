//! Neural networks: `device.dnn()`.

mod formulas;
mod front;
#[cfg(feature = "host")]
mod number;
mod norms;
mod pooling;

pub use front::Dnn;
pub use norms::{Affine, Norm, Running};
pub use pooling::Pool;

/// Registers the operations of this folder in the registry of a worker program.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) fn register(registry: &mut crate::engines::worker::Registry) {
    pooling::register(registry);
}
