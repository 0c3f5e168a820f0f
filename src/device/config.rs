//! The configuration of a device.

use super::dispatch::InFlight;
use super::supervisor::{Hook, RestartPolicy};
use crate::core::dispatch::Wait;
use crate::core::settings::Settings;
use crate::core::sync::Arc;
use crate::core::trace::Trace;
use crate::engines::config::EngineConfig;
use crate::engines::loader::Library;

/// Everything a device is opened with; kept, because a rebuild opens it again.
#[derive(Clone)]
pub(crate) struct Config {
    pub(crate) engine: EngineConfig,
    pub(crate) settings: Settings,
    /// What a GPU must have for [`Kind::Best`].
    pub(crate) needs: Vec<Library>,
    /// Why [`Kind::Best`] is not a better device.
    pub(crate) passed_over: Vec<String>,
    pub(crate) wait: Wait,
    pub(crate) in_flight: InFlight,
    pub(crate) policy: RestartPolicy,
    pub(crate) trace: Option<Arc<dyn Trace>>,
    pub(crate) timeline: Option<crate::device::timeline::Timeline>,
    pub(crate) flight: Option<crate::core::trace::FlightPlan>,
    pub(crate) before: Vec<Hook>,
    pub(crate) after: Vec<Hook>,
    /// The device runs in a child process.
    pub(crate) isolated: bool,
}
