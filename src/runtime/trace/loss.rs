//! What a trace hook receives about failures of a device.

use std::time::Duration;

/// A device has failed: for an isolated one, its worker was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss<'a> {
    /// Its [name](crate::Device::name).
    pub device: &'a str,
    /// The generation that ended.
    pub generation: u64,
    /// Why.
    pub cause: &'a str,
    /// Orders that had been sent to the workers of an isolated device by then.
    pub orders: u64,
    /// Bytes of orders and of data that had crossed to them and back.
    pub bytes_crossed: u64,
}

/// The generation after a failure was admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery<'a> {
    /// Its [name](crate::Device::name).
    pub device: &'a str,
    /// The generation in use from now on.
    pub generation: u64,
    /// The time from when the failure was seen.
    pub time: Duration,
}
