//! A library without its type.

#[cfg(feature = "cuda")]
use super::{Code, Placement};
#[cfg(feature = "cuda")]
use crate::core::dispatch::Options;
#[cfg(feature = "cuda")]
use crate::core::epoch::Epoch;
#[cfg(feature = "cuda")]
use crate::core::error::Result;
use crate::core::settings::Settings;
#[cfg(feature = "cuda")]
use crate::core::sync::Arc;
use crate::core::trace::Stats;
#[cfg(feature = "cuda")]
use std::any::Any;
#[cfg(feature = "cuda")]
use std::sync::Once;

/// What the core knows about a library.
pub(crate) struct Entry {
    /// The name of its front.
    pub(crate) name: &'static str,
    /// Registers its operations in a worker that is another executable.
    #[cfg(all(feature = "every-operation", target_os = "linux"))]
    pub(crate) register: fn(&mut crate::engines::worker::Registry),
    /// Adds the counters of its front, for a device that was opened with these settings.
    pub(crate) fill: fn(&Settings, &mut Stats),
    /// Its native side, if there is a library of CUDA behind it.
    #[cfg(feature = "cuda")]
    pub(crate) native: Option<Native>,
}

/// Answers a question to a library.
#[cfg(feature = "cuda")]
type Ask = fn(&Epoch, &[u8]) -> Result<Vec<u8>>;

/// A library's native side without its type.
#[cfg(feature = "cuda")]
pub(crate) struct Native {
    /// Makes the state that the epoch's slots share.
    pub(crate) shared: fn() -> Box<dyn Any + Send + Sync>,
    pub(crate) destroy: fn(Box<dyn Any + Send>) -> Code,
    pub(crate) fill: fn(&(dyn Any + Send + Sync), &mut Stats),
    pub(crate) placement: Placement,
    pub(crate) warm: fn(&Options, &Arc<Epoch>) -> Result<()>,
    pub(crate) ask: Ask,
    pub(crate) distrust: fn() -> Option<String>,
    /// Used when the first handle of the library is created in this process.
    pub(crate) first: Once,
}

/// The state that the slots of an epoch share, by the number of the library.
#[cfg(feature = "cuda")]
pub(crate) struct Shared(Box<[Box<dyn Any + Send + Sync>]>);

#[cfg(feature = "cuda")]
impl Shared {
    pub(crate) fn new(libraries: &[Entry]) -> Self {
        let make = |entry: &Entry| entry.native.as_ref().map_or_else(|| Box::new(()) as _, |native| (native.shared)());
        Shared(libraries.iter().map(make).collect())
    }

    /// That of one library, of the library's type `S`.
    pub(crate) fn get<S: 'static>(&self, library: usize) -> Option<&S> {
        self.0.get(library)?.downcast_ref()
    }

    /// Adds the counters of all libraries.
    pub(crate) fn fill(&self, libraries: &[Entry], stats: &mut Stats) {
        for (shared, entry) in self.0.iter().zip(libraries) {
            if let Some(native) = &entry.native {
                (native.fill)(&**shared, stats);
            }
        }
    }
}
