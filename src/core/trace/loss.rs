//! What a trace hook receives about failures of a device.

use std::time::Duration;

/// A device has failed; for an isolated device, its worker was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss<'a> {
    /// Its [name](crate::Device::name).
    pub device: &'a str,
    /// The generation that ended.
    pub generation: u64,
    /// The cause.
    pub cause: &'a str,
    /// Orders sent to the workers of an isolated device until then.
    pub orders: u64,
    /// Bytes of orders and of data sent to them and received from them until then.
    pub bytes_crossed: u64,
}

/// The next generation was admitted after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery<'a> {
    /// Its [name](crate::Device::name).
    pub device: &'a str,
    /// The generation that is now in use.
    pub generation: u64,
    /// The time since the failure was seen.
    pub time: Duration,
}
