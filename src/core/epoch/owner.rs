//! The device that an epoch belongs to, as the floors below the device know it.

use super::Epoch;
use crate::core::sync::Arc;
use std::any::Any;

/// The device of an epoch. Called only when something has failed.
pub(crate) trait Owner: Send + Sync {
    /// Its current epoch.
    fn current(&self) -> Arc<Epoch>;
    /// A fault has ended an epoch of this device.
    fn on_fault(self: Arc<Self>, epoch: &Arc<Epoch>);
    /// The device is lost, whatever its policy.
    #[cfg(feature = "cuda")]
    fn lost(&self, cause: String);
    /// As an object of its own type, for the floor above.
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}
