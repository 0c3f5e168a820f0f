//! What a library has to say of itself.

use super::status::Status;
use super::{Code, LoadError, Site};
use crate::cuda::Core;
use crate::trace::Stats;
use crate::{Error, Result};
use cudarc::driver::sys::CUstream;

/// Bytes of the workspace that the libraries of a slot share: what cuBLAS recommends for Hopper.
pub(crate) const WORKSPACE: usize = 32 << 20;

/// A call that failed: its name and its status code.
pub(crate) type Refusal = (&'static str, Code);

/// Whose a library's handles are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// One for each stream slot: made by the first operation that needs it there, bound to the slot's stream for good.
    PerSlot,
    /// So many for the epoch, each with a stream of its own: for handles that hold much device memory, which the work in
    /// flight uses, so that they cannot be bound to another stream. An operation uses one of them if it says that it is
    /// `POOLED`, and waits for its turn in no thread.
    Pool(usize),
    /// There are none: plans or descriptors are all that the library wants.
    None,
}

/// A library of CUDA.
///
/// Everything native of it lives in the epoch, so nothing here holds state: `Api` is the table of functions of the
/// process, a `Handle` belongs to a slot and is used under its lease alone, `Shared` belongs to the epoch.
pub(crate) trait CudaLibrary: Sized + Send + Sync + 'static {
    /// The name of the front, which is also its cargo feature and the [`Op::LIBRARY`](crate::Op::LIBRARY) of its
    /// operations: `blas`.
    const NAME: &'static str;
    /// Its status codes in ascending order. A code that is not listed is a failure of unknown name.
    const STATUS: &'static [Status];
    /// Whose its handles are.
    const HANDLES: Placement = Placement::PerSlot;
    /// Kernels of our own that its operations launch: loaded when it is warmed.
    const KERNELS: &'static [&'static crate::Ptx] = &[];
    /// Its functions and data symbols, looked up once for the process.
    type Api: Send + Sync + 'static;
    /// A handle with all that is known of its state; `()` with [`Placement::None`]. Its `Drop` must make no call of the
    /// library: with a dead context it is dropped and not destroyed.
    type Handle: Send + 'static;
    /// What all slots of an epoch share: plan caches, choices. Made with the epoch; `()` where there is nothing.
    type Shared: Default + Send + Sync + 'static;

    /// The functions of the process; the first call loads the library.
    fn load() -> Result<&'static Self::Api, LoadError>;

    /// Makes a handle for a slot. The context is current; nothing may be enqueued. What was made is to be destroyed where
    /// a later step fails.
    fn create(api: &'static Self::Api, seat: &mut Seat<'_>) -> Result<Self::Handle, Refusal>;

    /// Destroys a handle, at the end of an epoch whose context is alive and current, when nothing is in flight.
    fn destroy(api: &'static Self::Api, handle: Self::Handle) -> Code;

    /// Answers a question, where the context lives: both are plain data, in a form of the library's own
    /// ([`encode`](super::encode), [`decode`](super::decode)). No lease is held, and the context is not current, but within
    /// [`Site::handle`].
    fn answer(site: &Site<'_, Self>, question: &[u8]) -> Result<Vec<u8>>
    where
        Self: Listed,
    {
        let _ = (site, question);
        Err(Error::unsupported(format!("the library `{}` answers no questions", Self::NAME)))
    }

    /// Adds what the epoch's shared state counts to the statistics of the device.
    fn fill(shared: &Self::Shared, stats: &mut Stats) {
        let _ = (shared, stats);
    }
}

/// A library with its place in the list. Implemented by the list alone.
pub(crate) trait Listed: CudaLibrary {
    /// Its place in the table of libraries.
    const ID: usize;
}

/// Where a handle is made: the slot's stream, and its workspace.
pub(crate) struct Seat<'s> {
    pub(super) core: &'s Core,
    pub(super) state: &'s mut crate::cuda::SlotState,
}

impl Seat<'_> {
    /// The stream that all work of the handle goes to.
    pub(crate) fn stream(&self) -> CUstream {
        self.state.stream.0
    }

    /// The slot's workspace of [`WORKSPACE`] bytes, if there is memory for it: for libraries whose handles keep one. It
    /// lasts as long as the slot and is used in the order of its stream.
    pub(crate) fn workspace(&mut self) -> Option<u64> {
        self.core.slot_workspace(self.state)
    }
}

/// What cannot happen: the list is what gives numbers to libraries, and the table is made of it.
#[cold]
pub(super) fn unlisted() -> Error {
    Error::library("the device was not opened with this library")
}
