//! NCCL's communicators of the ranks of this process, which live and end together. Of ranks in several processes, each process
//! has its own, and the mesh tells when another is lost: then they are aborted.
//!
//! ```text
//!   begin (a thread of its own, with a deadline) ─> alive ─┬─ the last user is gone, or a device ends: destroy, all of them
//!                                                          └─ a device dies, or NCCL reports an error: abort, all of them
//! ```
//!
//! 1. They end once, all together: NCCL frees what the ranks of a process share with the last of them, and that must not be
//!    after the context of another has ended.
//! 2. The devices own them as [objects](crate::engines::library::Object): nothing is in flight when they are destroyed.
//! 3. A kernel of NCCL waits for those of the other ranks, and for ever if their device has died. So a thread watches the
//!    devices, and aborts; then the kernels return.

use super::Nccl;
use super::functions::{Comm, Config, NcclFunctions, UniqueId};
use super::handle::STATUS;
use crate::core::clock::Clock;
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result, Site};
use crate::core::sync::{Arc, Condvar, Mutex};
use crate::engines::library::{Code, CudaLibrary, Object};
use crate::libraries::collective::mesh::{Look, Mesh};
use std::ffi::c_int;
use std::sync::Weak;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often the devices are looked at.
const LOOK: Duration = Duration::from_millis(50);
/// How long a call that returned at once is waited for without pauses.
const AT_ONCE: Duration = Duration::from_micros(300);
/// How long a rank waits at its end for the others to end too.
const PARTING: Duration = Duration::from_secs(5);

/// The communicators of one generation of each device.
pub(in crate::libraries::collective) struct Group {
    native: Arc<Native>,
    #[expect(dead_code, reason = "the devices own the communicators")]
    objects: Vec<Object<usize>>,
}

pub(super) struct Native {
    pub(super) api: &'static NcclFunctions,
    /// Of ranks in several processes: these calls return at once.
    mesh: Option<Arc<Mesh>>,
    state: Mutex<State>,
    ended: Condvar,
}

struct State {
    comms: Vec<CommPtr>,
    /// Why they were aborted.
    failure: Option<Error>,
    over: bool,
}

#[derive(Clone, Copy)]
struct CommPtr(Comm);

// SAFETY: a communicator may be used by any thread, one at a time; the lock of `State` sees to that.
unsafe impl Send for CommPtr {}

impl Group {
    /// Makes the communicators of the ranks `0..epochs.len()`, whose GPUs are those of `ordinals`.
    pub(in crate::libraries::collective) fn begin(
        epochs: &[Arc<Epoch>],
        ordinals: Vec<c_int>,
        limit: Duration,
    ) -> Result<Arc<Self>> {
        let api = Nccl::load()?;
        let (send, receive) = channel();
        let thread = std::thread::Builder::new().name("windlass nccl init".into()).spawn(move || {
            let mut comms = vec![CommPtr(std::ptr::null_mut()); ordinals.len()];
            let count = c_int::try_from(ordinals.len()).unwrap_or_default();
            // SAFETY: `CommPtr` is a pointer; both arrays have `count` elements, and live through the call.
            let code = unsafe { api.init_all(comms.as_mut_ptr().cast(), count, ordinals.as_ptr()) };
            let outcome = if code.is_success() { Ok(comms) } else { Err(failure("ncclCommInitAll", code)) };
            if let Err(std::sync::mpsc::SendError(Ok(late))) = send.send(outcome) {
                let _ = end_each(api, &late, false); // nobody waits for them any more
            }
        });
        thread.map_err(|error| Error::library(format!("a thread could not be started: {error}")))?;
        let comms = match receive.recv_timeout(limit) {
            Ok(comms) => comms?,
            Err(RecvTimeoutError::Timeout) => return Err(Error::Timeout { waited: limit, site: Site::none() }),
            Err(RecvTimeoutError::Disconnected) => return Err(Error::library("the initialisation of NCCL panicked")),
        };
        Self::own(api, comms, epochs, None)
    }

    fn own(
        api: &'static NcclFunctions,
        comms: Vec<CommPtr>,
        epochs: &[Arc<Epoch>],
        mesh: Option<Arc<Mesh>>,
    ) -> Result<Arc<Self>> {
        let state = State { comms, failure: None, over: false };
        let native = Arc::new(Native { api, mesh, state: Mutex::new(state), ended: Condvar::new() });
        let mut objects = Vec::new();
        for (index, epoch) in epochs.iter().enumerate() {
            let (Some(engine), native) = (epoch.engine.as_cuda(), native.clone()) else { continue };
            objects.push(engine.core.object(index, move |_| native.destroy()));
        }
        let (watched, epochs) = (native.clone(), epochs.iter().map(Arc::downgrade).collect::<Vec<_>>());
        let thread = std::thread::Builder::new().name("windlass nccl".into()).spawn(move || watched.watch(&epochs));
        match thread {
            Ok(_) => Ok(Arc::new(Group { native, objects })),
            Err(error) => Err(Error::library(format!("a thread could not be started: {error}"))),
        }
    }

    /// Makes the communicators of the ranks of this process, whose GPUs are those of `epochs`, together with the other
    /// processes.
    pub(in crate::libraries::collective) fn join(
        epochs: &[Arc<Epoch>],
        mesh: &Arc<Mesh>,
        (limit, look): (Duration, Look<'_>),
    ) -> Result<Arc<Self>> {
        let api = Nccl::load()?;
        let mut id = UniqueId([0; 128]);
        let own = if mesh.first() == 0 {
            // SAFETY: `id` is valid for the write.
            let code = unsafe { api.unique_id(&mut id) }.ok_or_else(too_old)?;
            if !code.is_success() {
                return Err(failure("ncclGetUniqueId", code));
            }
            Some(id.0)
        } else {
            None
        };
        id.0 = mesh.share(own)?;
        let mut comms = vec![CommPtr(std::ptr::null_mut()); epochs.len()];
        let called = begin_ranks(api, id, mesh, epochs, &mut comms);
        comms.retain(|comm| !comm.0.is_null());
        let began = Clock::SYSTEM.start();
        let look = std::cell::RefCell::new(look);
        let stops = || match () {
            () if mesh.is_lost() => Some(mesh.lost(0, "initialisation")),
            () if began.elapsed() >= limit => Some(Error::Timeout { waited: limit, site: Site::none() }),
            () => look.borrow_mut()().err(),
        };
        let ready = called.and_then(|()| comms.iter().try_for_each(|comm| await_ready(api, *comm, &stops)));
        if let Err(error) = ready {
            let _ = end_each(api, &comms, true);
            return Err(error);
        }
        Self::own(api, comms, epochs, Some(mesh.clone()))
    }

    /// Waits until what was called on the communicators is enqueued. Called inside of [`with`](Self::with).
    pub(super) fn settle(&self, comms: &[Comm]) -> Result<()> {
        let Some(mesh) = &self.native.mesh else { return Ok(()) };
        let (began, patience) = (Clock::SYSTEM.start(), mesh.patience());
        let stops = || match () {
            () if mesh.is_lost() => Some(mesh.lost(0, "collective")),
            () if began.elapsed() >= patience => Some(Error::Timeout { waited: patience, site: Site::none() }),
            () => None,
        };
        comms.iter().try_for_each(|comm| await_ready(self.native.api, CommPtr(*comm), &stops))
    }

    /// Why work that was enqueued before was not done: what NCCL reports, or why it was aborted.
    pub(super) fn reported(&self) -> Option<Error> {
        let state = self.native.state.lock();
        state.failure.clone().or_else(|| self.native.reported(&state))
    }

    /// Calls `f` with the functions and the communicators. Nothing ends them meanwhile.
    pub(super) fn with<R>(&self, f: impl FnOnce(&'static NcclFunctions, &[Comm]) -> Result<R>) -> Result<R> {
        let state = self.native.state.lock();
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        if state.over {
            return Err(Error::library("the communicators of NCCL were destroyed with their device"));
        }
        let comms: Vec<Comm> = state.comms.iter().map(|comm| comm.0).collect();
        f(self.native.api, &comms)
    }

    /// A collective failed half-way: nothing of these communicators can be relied on.
    pub(super) fn fail(&self, error: &Error) {
        self.native.abort(error.clone());
    }

    /// All ranks leave at the same time, after their last collective. So the communicators end here, and not when each device
    /// happens to be idle: a rank that ends waits for the others, with its device.
    #[cfg(target_os = "linux")]
    pub(in crate::libraries::collective) fn leave(&self) {
        let _ = self.native.destroy();
    }

    /// Whether they can still be used.
    pub(in crate::libraries::collective) fn is_alive(&self) -> bool {
        let state = self.native.state.lock();
        state.failure.is_none() && !state.over
    }
}

impl Native {
    /// Ends them, unless they have ended.
    fn end(&self, failure: Option<Error>) -> Vec<CommPtr> {
        let mut state = self.state.lock();
        state.over = true;
        if state.failure.is_none() {
            state.failure = failure;
        }
        self.ended.notify_all();
        std::mem::take(&mut state.comms)
    }

    fn destroy(&self) -> Code {
        let comms = self.end(None);
        if self.mesh.is_none() {
            return end_each(self.api, &comms, false);
        }
        // The others have come to their end too, or this one does not wait for them for long.
        let began = Clock::SYSTEM.start();
        let stops = || (began.elapsed() >= PARTING).then(|| Error::library("the other ranks do not end"));
        let finalize = |comm: &CommPtr| {
            // SAFETY: it was taken out of the state, so it is ended once; nothing is in flight on it.
            unsafe { self.api.finalize(comm.0) }.is_some_and(is_fine)
        };
        // All of them, before one is waited for: they wait for each other.
        let finished =
            comms.iter().all(finalize) && comms.iter().all(|comm| await_ready(self.api, *comm, &stops).is_ok());
        end_each(self.api, &comms, !finished)
    }

    fn abort(&self, failure: Error) {
        let comms = self.end(Some(failure));
        let _ = end_each(self.api, &comms, true);
    }

    /// Looks at the devices, and at what NCCL reports, until they end.
    fn watch(&self, epochs: &[Weak<Epoch>]) {
        loop {
            let mut state = self.state.lock();
            if !state.over {
                self.ended.wait_for(&mut state, LOOK);
            }
            if state.over {
                return;
            }
            let dead = epochs.iter().filter_map(Weak::upgrade).find(|epoch| epoch.dead());
            let lost = || self.mesh.as_ref().filter(|mesh| mesh.is_lost()).map(|mesh| mesh.lost(0, "collective"));
            let failed = dead.map(|epoch| epoch.verdict()).or_else(lost).or_else(|| self.reported(&state));
            drop(state);
            if let Some(error) = failed {
                if let Some(mesh) = &self.mesh {
                    mesh.resign(&format!("its communicator of NCCL failed: {error}"));
                }
                // An exit waits for threads that are in the driver.
                let _ = crate::core::process::unless_exiting(|| self.abort(error));
                return;
            }
        }
    }

    fn reported(&self, state: &State) -> Option<Error> {
        state.comms.iter().find_map(|comm| {
            let mut code = 0;
            // SAFETY: the communicator is alive, and no other thread uses it while the lock is held.
            let asked = unsafe { self.api.async_error(comm.0, &mut code) };
            let found = if asked.is_success() { Code(code) } else { asked };
            (!is_fine(found)).then(|| failure("a collective of NCCL", found))
        })
    }
}

/// Begins to make the communicator of each rank of this process. Several are one group: NCCL makes none of them before all
/// are called for.
fn begin_ranks(
    api: &'static NcclFunctions,
    id: UniqueId,
    mesh: &Mesh,
    epochs: &[Arc<Epoch>],
    comms: &mut [CommPtr],
) -> Result<()> {
    let checked = |call: &str, code: Code| if is_fine(code) { Ok(()) } else { Err(failure(call, code)) };
    let int = |number: usize| c_int::try_from(number).unwrap_or(c_int::MAX);
    let mut configs: Vec<Config> = epochs.iter().map(|_| Config::NON_BLOCKING).collect();
    let is_group = epochs.len() > 1;
    if is_group {
        // SAFETY: a group has no arguments; it is ended below in any case, on the same thread.
        checked("ncclGroupStart", unsafe { api.group_start() })?;
    }
    let mut ranks = (mesh.first()..).zip(epochs).zip(comms.iter_mut().zip(&mut configs));
    let called = ranks.try_for_each(|((rank, epoch), (comm, config))| {
        let Some(engine) = epoch.engine.as_cuda() else { return Err(Error::library("internal error: no GPU")) };
        let _bound = engine.core.context.bind_for(epoch)?;
        // SAFETY: the pointers are valid until the group has ended; the context of the rank's GPU is current.
        let code = unsafe { api.init_rank(&mut comm.0, int(mesh.size()), id, int(rank), config) };
        checked("ncclCommInitRankConfig", code.ok_or_else(too_old)?)
    });
    if is_group {
        // SAFETY: as above.
        called.and(checked("ncclGroupEnd", unsafe { api.group_end() }))
    } else {
        called
    }
}

#[cold]
fn too_old() -> Error {
    Error::unsupported("this NCCL has no ncclCommInitRankConfig; version 2.14 has it")
}

/// Ends communicators. Each abort waits for the kernels of its device, and these for the other ranks: so each has a thread.
fn end_each(api: &'static NcclFunctions, comms: &[CommPtr], aborts: bool) -> Code {
    if !aborts {
        let mut first = Code(0);
        for comm in comms {
            // SAFETY: it was taken out of the state, so it is ended once; nothing is in flight on it.
            let code = unsafe { api.destroy(comm.0) };
            first = if first.is_success() { code } else { first };
        }
        return first;
    }
    let abort = |comm: CommPtr| {
        // SAFETY: it was taken out of the state, so it is ended once, and no thread is inside a call on it.
        let _ = unsafe { api.abort(comm.0) };
    };
    std::thread::scope(|scope| {
        let begins = |comm: CommPtr| {
            let thread = std::thread::Builder::new().name("windlass nccl end".into());
            thread.spawn_scoped(scope, move || abort(comm)).is_ok()
        };
        // One without a thread is aborted by this one, when the others have begun.
        let left: Vec<CommPtr> = comms.iter().copied().filter(|comm| !begins(*comm)).collect();
        left.into_iter().for_each(abort);
    });
    Code(0)
}

/// `ncclInProgress`.
const IN_PROGRESS: c_int = 7;

/// Whether a call has done, or begun, what it was to do.
pub(super) fn is_fine(code: Code) -> bool {
    code.is_success() || code.0 == IN_PROGRESS
}

/// Waits until a call that returned at once is done. NCCL starts a thread for it, which enqueues a collective within some tens of
/// microseconds: less than a pause takes, so it is looked for at once first.
fn await_ready(api: &'static NcclFunctions, comm: CommPtr, stops: &dyn Fn() -> Option<Error>) -> Result<()> {
    let began = Clock::SYSTEM.start();
    loop {
        let mut code = IN_PROGRESS;
        // SAFETY: the communicator is alive, and no other thread uses it: the caller has it for itself.
        let asked = unsafe { api.async_error(comm.0, &mut code) };
        match if asked.is_success() { Code(code) } else { asked } {
            Code(IN_PROGRESS) => {}
            found if found.is_success() => return Ok(()),
            found => return Err(failure("a call of NCCL", found)),
        }
        if let Some(error) = stops() {
            return Err(error);
        }
        if began.elapsed() < AT_ONCE {
            std::thread::yield_now();
        } else {
            crate::core::clock::pause(Duration::from_micros(50));
        }
    }
}

/// The error of a failed call.
#[cold]
pub(super) fn failure(call: &str, code: Code) -> Error {
    crate::engines::library::status_error(STATUS, call, code)
}
