//! Neural networks: convolutions and their gradients, by cuDNN on a GPU.

mod attention;
mod convolution;
mod front;
#[cfg(feature = "cuda")]
pub(crate) mod native;
#[cfg(feature = "host")]
mod product;
mod formulas;
mod front;
#[cfg(feature = "host")]
mod number;
mod norms;
mod pooling;

pub use attention::{Attention, Corner};
pub use convolution::{Convolution, DnnElement, Fused, Paddings, Spatial};
pub use front::Dnn;
pub use norms::{Affine, Norm, Running};
pub use pooling::Pool;

/// Registers the operations of this folder in the registry of a worker program.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) fn register(registry: &mut crate::engines::worker::Registry) {
    registry.add::<attention::Attend>();
    registry.add::<attention::AttendBackward>();
    registry.add::<convolution::Convolve>();
    pooling::register(registry);
}
