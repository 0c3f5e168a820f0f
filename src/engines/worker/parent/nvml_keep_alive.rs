//! Keeps the driver of a GPU loaded between two workers. While no process uses the GPU, the driver shuts it down, and
//! the next worker waits until it is up again (300 ms on one machine, seconds on others).
//!
//! NVML holds a GPU open without a context. It is called on a thread of its own, because it may take long. If it is
//! missing or refuses, workers still start, only later. A process opens NVML once, however many GPUs it holds.

use crate::core::process;
use crate::core::process::leaving;
use crate::core::sync::{Arc, AtomicBool, AtomicUsize, Mutex, Ordering};
use crate::engines::cuda::api::nvml::Nvml;
use std::ffi::CString;

/// A GPU that is held open until this is dropped.
pub(super) struct NvmlKeepAlive {
    held: Arc<AtomicBool>,
    fork_generation: u32,
}

/// How many holders there are.
static HOLDERS: AtomicUsize = AtomicUsize::new(0);
/// NVML was opened, and must be closed. The lock is held while NVML is opened or closed.
static OPEN: Mutex<bool> = Mutex::new(false);

impl NvmlKeepAlive {
    /// Holds the GPU at a PCI address. Returns at once.
    pub(super) fn new(address: &str) -> Option<Self> {
        let address = CString::new(address).ok()?;
        let hold = NvmlKeepAlive { held: Arc::default(), fork_generation: process::fork_generation() };
        HOLDERS.fetch_add(1, Ordering::SeqCst);
        let held = hold.held.clone();
        aside(move |api| {
            let mut device = std::ptr::null_mut();
            // SAFETY: NVML is open (see `aside`), the address is terminated, the handle is written to a valid pointer.
            let code = unsafe { api.device_by_pci(address.as_ptr(), &mut device) };
            held.store(code.is_success(), Ordering::Release);
        });
        Some(hold)
    }

    /// NVML holds the GPU open.
    pub(super) fn is_held(&self) -> bool {
        self.held.load(Ordering::Acquire)
    }
}

impl Drop for NvmlKeepAlive {
    fn drop(&mut self) {
        // A forked child holds nothing, and has no threads.
        if !process::forked_since(self.fork_generation) && HOLDERS.fetch_sub(1, Ordering::SeqCst) == 1 {
            aside(|_| {});
        }
    }
}

/// On a thread of its own: opens or closes NVML, depending on whether there are holders by then, and calls `work` if it
/// is open. An exit of the process waits for these calls; after it has begun, none is made.
fn aside(work: impl FnOnce(&Nvml) + Send + 'static) {
    let call = move || {
        let Ok(api) = Nvml::load() else { return };
        process::watch_exit(); // registered after the library's own handlers, it runs before them
        let mut open = OPEN.lock();
        let wanted = HOLDERS.load(Ordering::SeqCst) > 0;
        leaving::unless_leaving(|| {
            // SAFETY: no arguments; each successful `init` is undone once, below.
            if wanted && !*open && unsafe { api.init() }.is_success() {
                *open = true;
            }
            if wanted && *open {
                work(api);
            }
            if !wanted && *open {
                // SAFETY: one `init` succeeded and was not undone yet.
                let _ = unsafe { api.shutdown() };
                *open = false;
            }
        });
    };
    // If the thread cannot be started, the GPU is not held, which costs time only.
    let _ = std::thread::Builder::new().name("windlass nvml".into()).spawn(call);
}
