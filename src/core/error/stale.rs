//! Why a handle is stale.

use serde::{Deserialize, Serialize};

/// Why a buffer or kernel can no longer be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Stale {
    /// Every handle of the device was dropped: its context is gone.
    DeviceGone,
    /// The process is exiting.
    ShuttingDown,
    /// The device was rebuilt since: data does not survive a rebuild.
    Generation {
        /// The generation the buffer was made in.
        made: u64,
        /// The generation the device is in.
        now: u64,
    },
}

impl std::fmt::Display for Stale {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Stale::DeviceGone => {
                f.write_str("its device is gone; keep a handle of the device for as long as its buffers")
            }
            Stale::ShuttingDown => f.write_str("the process is shutting down"),
            Stale::Generation { made, now } => {
                write!(
                    f,
                    "made in generation {made}, the device is in generation {now}; data does not survive a rebuild: "
                )?;
                f.write_str("make it again from host memory (`Device::retrying` does, `Mirrored` keeps a copy)")
            }
        }
    }
}
