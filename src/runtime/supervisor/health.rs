//! How a device stands.

/// Where a device is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// In use.
    Healthy,
    /// A fault was seen.
    Poisoned,
    /// A new generation is being made.
    Rebuilding,
    /// It will not come back in this process.
    Lost,
}

/// How a device stands, from [`Device::health`](crate::Device::health).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// Where it is in its life.
    pub phase: Phase,
    /// The generation in use.
    pub generation: u64,
    /// What ended the generation before, or the device.
    pub reason: Option<String>,
    /// Restarts that the policy allows now.
    pub restarts_left: u32,
}
