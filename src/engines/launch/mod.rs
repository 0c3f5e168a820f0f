//! The words of a launch: its shape (`config.rs`), what device and kernel allow (`limits.rs`), what is known of a kernel's
//! parameters (`parameter.rs`). Plain data without an engine: the engines launch with it, and the front of kernels builds it.

mod config;
mod limits;
mod parameter;

pub use config::{Dim3, LaunchConfig, LaunchDims};
pub use limits::KernelAttributes;
pub(crate) use limits::{DeviceLimits, KernelLimits};
pub(crate) use parameter::{Found, Parameter, ParameterClass};
