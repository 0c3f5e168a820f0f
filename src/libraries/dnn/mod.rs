//! Neural networks: `device.dnn()`.

mod front;

pub use front::Dnn;

/// Registers the operations of this folder in the registry of a worker program.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) fn register(_: &mut crate::engines::worker::Registry) {}
