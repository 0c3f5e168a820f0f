//! What a failed driver call means.

use crate::core::epoch::life::Stand;
use crate::core::epoch::{Cause, Epoch, Owner};
use crate::core::error::{Error, Site, Stale, Text};
use crate::core::sync::{Arc, Mutex};
use crate::engines::cuda::api::{Code, LoadError, codes};
use std::sync::Weak;

/// Out of memory.
const OUT_OF_MEMORY: i32 = 2;
/// The driver is going away with the process.
const DEINITIALIZED: i32 = 4;
/// Other code of the process destroyed the context.
pub(crate) const CONTEXT_IS_DESTROYED: i32 = 709;

/// Whether the code means that the context that was to be made current no longer exists.
pub(crate) fn is_context_gone(code: Code) -> bool {
    code == Code::INVALID_CONTEXT || code.0 == CONTEXT_IS_DESTROYED
}

fn name(code: i32) -> Text {
    Text::Borrowed(codes::driver_name(code).unwrap_or("an unknown status code"))
}

/// The error for a failed call that does not end the epoch.
pub(crate) fn error(code: Code, call: &str) -> Error {
    let error = match code.0 {
        OUT_OF_MEMORY => Error::out_of_memory(0, [0; 3]),
        DEINITIALIZED => Error::GpuRefStale { reason: Stale::ShuttingDown, site: Site::none() },
        _ => Error::library(format!("{call} failed: {}", name(code.0))),
    };
    error.locate(|site| {
        site.set_code(code.0, name(code.0));
    })
}

/// Handles the code of a failed call of `epoch`. A sticky code ends the epoch together with every CUDA device of the
/// process. If the code means that the context was destroyed, only this epoch ends.
pub(crate) fn report(epoch: &Arc<Epoch>, code: Code, call: &str) {
    let message = || format!("{call} returned {}", name(code.0));
    if codes::is_sticky(code.0) {
        let mut message = message();
        if let Some(engine) = epoch.engine.as_cuda() {
            engine.core.context.lose(); // also that of a generation that is still being made
            for native in engine.core.code.libraries().iter().filter_map(|entry| entry.native.as_ref()) {
                if let Some(removed) = (native.distrust)() {
                    message = format!("{message}; {removed}");
                }
            }
        }
        let cause = Cause { message, code: Some((code.0, name(code.0))), last_ops: epoch.last_ops(), remedy: None };
        lose(epoch, &cause);
    } else if code.0 == CONTEXT_IS_DESTROYED {
        epoch.fault(message(), Some((code.0, name(code.0))));
    }
}

/// A device fault: latches every CUDA device of the process as lost, last of all the one on which the fault was seen.
/// So a thread that finds that device lost finds all of them lost. They become lost at once, without a state in between
/// that would promise a recovery.
fn lose(epoch: &Arc<Epoch>, cause: &Cause) {
    static ONE: Mutex<()> = Mutex::new(());
    let devices: Vec<_> = DEVICES.lock().iter().filter_map(Weak::upgrade).collect();
    let one = ONE.lock();
    for other in devices.iter().map(|device| device.current()).filter(|other| !Arc::ptr_eq(other, epoch)) {
        end(&other, cause);
    }
    let first = epoch.end(Stand::Lost, || cause.clone());
    drop(one);
    if first {
        epoch.counters.faulted(cause.message.clone());
        devices.iter().for_each(|device| device.lost(cause.message.clone()));
    }
}

fn end(epoch: &Epoch, cause: &Cause) {
    if let Some(engine) = epoch.engine.as_cuda() {
        engine.core.context.lose();
    }
    epoch.end(Stand::Lost, || cause.clone());
}

/// Reports a failed allocation of `bytes` bytes and returns its error: out of memory, or another error of the call.
pub(crate) fn refused(epoch: &Arc<Epoch>, code: Code, call: &str, bytes: usize) -> Error {
    let mut error = classify(epoch, code, call);
    if let Error::OutOfMemory { requested, .. } = &mut error {
        *requested = bytes as u64;
    }
    error
}

/// Reports a failed call (see [`report`]) and returns its error. If the epoch is dead, that is the epoch's verdict.
pub(crate) fn classify(epoch: &Arc<Epoch>, code: Code, call: &str) -> Error {
    report(epoch, code, call);
    if epoch.dead() { epoch.verdict() } else { error(code, call) }
}

impl From<LoadError> for Error {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Missing(missing) => Error::LibraryMissing {
                library: Text::Borrowed(missing.library.name()),
                tried: missing.tried,
                help: missing.help,
            },
            LoadError::Symbol { library, path, symbol } => Error::LibraryMissing {
                library: Text::Borrowed(library.name()),
                tried: vec![format!("{}: it has no function {symbol}", path.display())],
                help: format!("a newer {} is needed", library.name()),
            },
            LoadError::Old { library, path, oldest: (major, minor) } => Error::LibraryMissing {
                library: Text::Borrowed(library.name()),
                tried: vec![format!("{}: it is older than {major}.{minor}", path.display())],
                help: format!("{} {major}.{minor} or newer is needed", library.name()),
            },
        }
    }
}

/// Every CUDA device of the process: a device fault ends CUDA for all of them.
static DEVICES: Mutex<Vec<Weak<dyn Owner>>> = Mutex::new(Vec::new());

/// Adds a device that was opened.
pub(crate) fn enlist(owner: &Weak<dyn Owner>) {
    let mut devices = DEVICES.lock();
    devices.retain(|d| d.strong_count() > 0);
    devices.push(owner.clone());
}

/// Latches every CUDA device of the process as lost.
pub(crate) fn latch_all(cause: Option<Cause>) {
    let devices: Vec<_> = DEVICES.lock().iter().filter_map(Weak::upgrade).collect();
    let cause = cause.unwrap_or_default();
    for device in devices {
        end(&device.current(), &cause);
        device.lost(cause.message.clone());
    }
}
