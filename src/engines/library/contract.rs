//! What a library declares about itself.

use super::status::Status;
use super::{Code, LoadError, Native, Placement, Site, question, warm};
use crate::core::error::{Error, Result};
use crate::core::trace::Stats;
use crate::engines::cuda::Core;
use cudarc::driver::sys::CUstream;
use std::sync::Once;

/// Bytes of the workspace that the libraries of a slot share: the size that cuBLAS recommends for Hopper.
pub(crate) const WORKSPACE: usize = 32 << 20;

/// A call that failed: its name and its status code.
pub(crate) type Refusal = (&'static str, Code);

/// A library of CUDA.
///
/// All its native state belongs to the epoch, so nothing here holds state: `Api` is the process's table of functions, a
/// `Handle` belongs to a slot and is used only under its lease, `Shared` belongs to the epoch.
pub(crate) trait CudaLibrary: Sized + Send + Sync + 'static {
    /// The name of the front, which is also its cargo feature and the [`Op::LIBRARY`](crate::op::Op::LIBRARY) of its
    /// operations: `blas`.
    const NAME: &'static str;
    /// Its status codes in ascending order. A code that is not listed is a failure of unknown name.
    const STATUS: &'static [Status];
    /// What its handles belong to.
    const HANDLES: Placement = Placement::PerSlot;
    /// Our own kernels that its operations launch; they are loaded when the library is warmed.
    fn kernels() -> &'static [&'static crate::engines::cuda::Ptx] {
        &[]
    }
    /// Its functions and data symbols, looked up once for the process.
    type Api: Send + Sync + 'static;
    /// A handle with everything that is known of its state; `()` with [`Placement::None`]. Its `Drop` must make no
    /// library call: if the context is dead, the handle is dropped without being destroyed.
    type Handle: Send + 'static;
    /// State that all slots of an epoch share: plan caches, choices. Created with the epoch; `()` if there is none.
    type Shared: Default + Send + Sync + 'static;

    /// The process's function table; the first call loads the library.
    fn load() -> Result<&'static Self::Api, LoadError>;

    /// Creates a handle for a slot. The context is current; nothing may be enqueued. If a later step fails, everything
    /// created before must be destroyed.
    fn create(api: &'static Self::Api, seat: &mut Seat<'_>) -> Result<Self::Handle, Refusal>;

    /// Destroys a handle at the end of an epoch. The context is alive and current, and nothing is in flight.
    fn destroy(api: &'static Self::Api, handle: Self::Handle) -> Code;

    /// Answers a question in the process where the context lives. Question and answer are plain data in the library's
    /// own format ([`encode`](super::encode), [`decode`](super::decode)). No lease is held, and the context is not
    /// current.
    fn answer(site: &Site<'_, Self>, question: &[u8]) -> Result<Vec<u8>>
    where
        Self: Listed,
    {
        let _ = (site, question);
        Err(Error::unsupported(format!("the library `{}` does not support queries", Self::NAME)))
    }

    /// A device fault has ended CUDA for this process: removes what later processes would use and may be its cause. What was removed
    /// is said in the message of the fault; every thread that reports the fault asks, and gets the same answer.
    fn distrust() -> Option<String> {
        None
    }

    /// Adds the counters of the epoch's shared state to the statistics of the device.
    fn fill(shared: &Self::Shared, stats: &mut Stats) {
        let _ = (shared, stats);
    }
}

/// A library with its place in the list. Implemented only by the list.
pub(crate) trait Listed: CudaLibrary {
    /// Its place in the table of libraries.
    const ID: usize;
}

/// A library's functions and a handle, stored together so that one lookup finds both.
pub(super) struct ApiHandle<L: CudaLibrary> {
    pub(super) api: &'static L::Api,
    pub(super) handle: L::Handle,
}

impl Native {
    pub(crate) const fn of<L: Listed>() -> Self {
        Native {
            shared: || Box::new(L::Shared::default()),
            destroy: |held| match held.downcast::<ApiHandle<L>>() {
                Ok(held) => L::destroy(held.api, held.handle),
                Err(_) => Code::SUCCESS, // cannot happen: a library's place holds only its own handle
            },
            fill: |shared, stats| {
                if let Some(shared) = shared.downcast_ref() {
                    L::fill(shared, stats);
                }
            },
            placement: L::HANDLES,
            warm: warm::on_each_slot::<L>,
            ask: question::answer::<L>,
            distrust: L::distrust,
            first: Once::new(),
        }
    }
}

/// Where a handle is created: the slot's stream, and its workspace.
pub(crate) struct Seat<'s> {
    pub(super) core: &'s Core,
    pub(super) state: &'s mut crate::engines::cuda::SlotState,
}

impl Seat<'_> {
    /// The stream that all work of the handle goes to.
    pub(crate) fn stream(&self) -> CUstream {
        self.state.stream.0
    }

    /// The slot's workspace of [`WORKSPACE`] bytes, if there is memory for it: for libraries whose handles keep one. It
    /// lives as long as the slot and is used in the order of its stream.
    pub(crate) fn workspace(&mut self) -> Option<u64> {
        self.core.slot_workspace(self.state)
    }
}

/// This cannot happen: the list gives each library its number, and the table is made from the list.
#[cold]
pub(super) fn unlisted() -> Error {
    Error::library("internal error: the device was not opened with this library")
}
