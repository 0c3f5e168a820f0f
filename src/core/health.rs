//! The health of a device.

/// The phase of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// In use.
    Healthy,
    /// A fault was seen; recovery has not begun yet.
    Poisoned,
    /// A new generation is being made.
    Rebuilding,
    /// Ended for good; no new generation follows.
    Lost,
}

/// The health of a device, from [`Device::health`](crate::Device::health).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// The phase of the device.
    pub phase: Phase,
    /// The generation that is in use.
    pub generation: u64,
    /// What ended the previous generation, or the device.
    pub reason: Option<String>,
    /// How many restarts the policy still allows now.
    pub restarts_left: u32,
}
