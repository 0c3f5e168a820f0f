//! Where the bytes of an allocation are returned to.

#[cfg(feature = "cuda")]
use super::Allocation;
use super::host_memory::HostMemory;
#[cfg(feature = "cuda")]
use crate::core::{order::AccessHistory, sync::Arc};
#[cfg(feature = "cuda")]
use std::any::Any;
use std::fmt::Debug;
#[cfg(target_os = "linux")]
use std::sync::Weak;

/// Where the bytes are returned to.
#[derive(Debug)]
pub(crate) enum Home {
    /// Nowhere: there are no bytes.
    Empty,
    /// The process's allocator, when it is dropped.
    Host(#[expect(dead_code, reason = "owned")] HostMemory),
    /// Pages of its own, for tests.
    Harsh(#[expect(dead_code, reason = "owned")] crate::core::harsh::Harsh),
    /// The system, with the addresses that never got memory. Host devices.
    #[cfg_attr(not(feature = "host"), allow(dead_code, reason = "for the host engine"))]
    Addresses(crate::system::memory::AddressSpace),
    /// Whoever owns it, when the last work that uses it is done. Host devices.
    #[cfg(feature = "external")]
    Lent(#[expect(dead_code, reason = "owned")] super::Owner),
    /// The pool of an engine of this process.
    #[cfg(feature = "cuda")]
    Pool {
        pool: Arc<dyn Pool>,
        /// A number of the pool's own.
        place: u32,
    },
    /// Another process.
    #[cfg(target_os = "linux")]
    Remote {
        owner: Weak<dyn RemoteMemory>,
        /// The lane of the order that made the memory.
        lane: usize,
    },
}

/// A pool that takes memory back behind the work that uses it.
#[cfg(feature = "cuda")]
pub(crate) trait Pool: Any + Debug + Send + Sync {
    /// Called when the last region is dropped. `uses` may still be in flight.
    fn release(&self, allocation: &Arc<Allocation>, uses: AccessHistory);
}

/// What frees memory of another process.
#[cfg(target_os = "linux")]
pub(crate) trait RemoteMemory: Debug + Send + Sync {
    /// Called when nothing uses the memory any more. Does not wait: the order that frees it is sent on the lane of the
    /// order that made it, after that. All orders that used it are answered, so they were carried out before.
    fn free(&self, lane: usize, id: u64);
}
