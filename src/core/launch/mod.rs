//! The types that describe a launch: its shape (`config.rs`), the limits of device and kernel (`limits.rs`), and what
//! is known of a kernel's parameters (`parameter.rs`). Plain data without an engine: the public kernel API builds it,
//! and the engines launch with it.

mod config;
mod limits;
mod parameter;

pub use config::{Dim3, LaunchConfig, LaunchDims};
pub use limits::KernelAttributes;
pub(crate) use limits::{DeviceLimits, KernelLimits};
pub(crate) use parameter::{Found, Parameter, ParameterClass};
