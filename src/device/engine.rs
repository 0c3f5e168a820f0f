//! The engines by their types: an enum, one layer of dispatch.

use crate::core::epoch::{EngineKind, Epoch};
use crate::core::sync::Arc;
use crate::device::program::Tape;

/// The engine of an epoch.
pub(crate) enum Engine<'e> {
    /// The CPU, with a thread pool of its own.
    #[cfg(feature = "host")]
    Host(&'e Arc<crate::engines::host::HostEngine>),
    /// A GPU, in this process.
    #[cfg(feature = "cuda")]
    Cuda(&'e crate::engines::cuda::CudaEngine),
    /// Either of them, in a child process.
    #[cfg(target_os = "linux")]
    Worker(&'e crate::engines::worker::WorkerEngine),
    /// None: submitted work is recorded.
    Tape(&'e Arc<Tape>),
}

impl<'e> Engine<'e> {
    /// The engine of an epoch: a comparison and a load.
    #[inline]
    pub(crate) fn for_epoch(epoch: &'e Epoch) -> Self {
        match epoch.engine.kind() {
            #[cfg(feature = "host")]
            // SAFETY: it is of this kind.
            EngineKind::Host => Engine::Host(unsafe { epoch.engine.cast() }),
            #[cfg(feature = "cuda")]
            // SAFETY: as above.
            EngineKind::Cuda => Engine::Cuda(unsafe { epoch.engine.cast() }),
            #[cfg(target_os = "linux")]
            // SAFETY: as above.
            EngineKind::Worker => Engine::Worker(unsafe { epoch.engine.cast() }),
            // SAFETY: as above.
            EngineKind::Tape => Engine::Tape(unsafe { epoch.engine.cast() }),
        }
    }
}
