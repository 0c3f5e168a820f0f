//! Work that must happen even when no thread calls the engine: frees behind completed work, releasing what the
//! work of dropped pendings kept alive, the end of an epoch.
//!
//! Each epoch has one housekeeping thread, started by the first nudge. It sweeps while something is in flight or parked, and
//! sleeps otherwise. It makes no unbounded driver call, and ends with the epoch. Callers help: each dispatch reaps a few.

use super::Core;
use super::api::Code;
use super::context::fault;
use super::context::{Bound, Context};
use super::memory::handed_on;
use super::streams::Retired;
use crate::core::clock;
use crate::core::epoch::life::Stand;
use crate::core::process;
use crate::core::sync::{Arc, AtomicBool, AtomicUsize, Mutex, Ordering};
use parking_lot::MutexGuard;
use std::sync::{OnceLock, Weak};
use std::thread::Thread;

/// Wakes the housekeeping thread. Cheap when it is awake: one load.
pub(crate) struct Nudge {
    awake: AtomicBool,
    closing: AtomicBool,
    fork_generation: u32,
    thread: Mutex<Option<Thread>>,
    core: OnceLock<Weak<Core>>,
}

/// The engine's side of the housekeeping thread.
pub(crate) struct Housekeeper {
    pub(crate) nudge: Arc<Nudge>,
    /// How many sweeps are under way.
    pub(crate) sweeping: AtomicUsize,
}

impl Housekeeper {
    pub(crate) fn new() -> Self {
        Housekeeper {
            sweeping: AtomicUsize::new(0),
            nudge: Arc::new(Nudge {
                awake: AtomicBool::new(false),
                closing: AtomicBool::new(false),
                fork_generation: process::fork_generation(),
                thread: Mutex::default(),
                core: OnceLock::new(),
            }),
        }
    }

    /// Sets the core that the thread works on.
    pub(crate) fn serve(&self, core: &Arc<Core>) {
        let _ = self.nudge.core.set(Arc::downgrade(core));
    }
}

#[cfg(test)]
impl Nudge {
    /// A nudge that wakes no thread.
    pub(crate) fn idle() -> Arc<Self> {
        Housekeeper::new().nudge
    }
}

impl Nudge {
    /// Call when there may be something to do. Makes no driver call; may be called from any `Drop`.
    pub(crate) fn nudge(self: &Arc<Self>) {
        // `SeqCst`: in one total order with the thread, which lowers the flag and then checks whether something is
        // queued.
        if self.awake.load(Ordering::SeqCst) || self.awake.swap(true, Ordering::AcqRel) {
            return;
        }
        if process::fork_generation() != self.fork_generation {
            return; // exiting, or a forked child: the driver must not be called any more
        }
        let mut thread = self.thread.lock();
        match &*thread {
            Some(thread) => thread.unpark(),
            None => {
                let Some(core) = self.core.get().and_then(Weak::upgrade) else { return };
                let name = format!("windlass housekeeper {}", core.context.device);
                let me = self.clone();
                let spawned = std::thread::Builder::new().name(name).spawn(move || me.keep(&core));
                // Without a thread the callers' own reaping still works; the next nudge tries again.
                match spawned {
                    Ok(handle) => *thread = Some(handle.thread().clone()),
                    Err(_) => self.awake.store(false, Ordering::Release),
                }
            }
        }
    }

    fn keep(&self, core: &Arc<Core>) {
        process::watch_exit_again();
        let sweeps = &core.timing.sweeps;
        let mut pause = sweeps.first;
        loop {
            if process::fork_generation() != self.fork_generation {
                return;
            }
            if self.closing.load(Ordering::Acquire) {
                let context_too = core.context.closed();
                process::watch_exit_again();
                process::unless_exiting(|| core.tear_down());
                core.outlive_results(self.fork_generation);
                let mut thread = self.thread.lock();
                // If the device is closed after this, `close` finds no thread and starts one.
                if core.context.closed() == context_too {
                    *thread = None;
                    return;
                }
                continue;
            }
            // Wait a little first: the thread that nudged usually calls again soon, and reaps then. `close` ends this
            // wait.
            std::thread::park_timeout(pause);
            if self.closing.load(Ordering::Acquire) {
                continue;
            }
            let some_are_left = process::unless_exiting(|| core.sweep()).unwrap_or(false);
            // Also beside work in flight, which is not held up.
            process::unless_exiting(|| core.free_dropped_growth(false));
            if some_are_left {
                pause = (pause * 2).min(sweeps.longest);
                continue;
            }
            process::unless_exiting(|| handed_on::free_excess(core));
            process::unless_exiting(|| core.free_dropped_managed());
            pause = sweeps.first;
            self.awake.swap(false, Ordering::SeqCst);
            // A thread may have queued something after the sweep while the flag still said that we are awake.
            if core.has_queued() && !self.awake.swap(true, Ordering::AcqRel) {
                continue;
            }
            std::thread::park_timeout(sweeps.doze);
            self.awake.store(true, Ordering::Release);
        }
    }

    /// Call when the epoch is over: the thread tears it down and ends.
    pub(crate) fn close(self: &Arc<Self>) {
        self.closing.store(true, Ordering::Release);
        self.awake.store(false, Ordering::Release);
        self.nudge();
    }
}

impl Core {
    /// Whether something is queued or in flight that a sweep must handle.
    fn has_queued(&self) -> bool {
        let busy = |s: &super::streams::Slot| !s.shared.frees.is_surely_empty() || s.stream.sequence.in_flight() > 0;
        let leaving = self.code.has_leaving() && !self.streams.have_ended();
        let dropped = self.memory.managed().has_dropped() || self.memory.growth().has_work();
        self.memory.parked() > 0 || leaving || dropped || self.streams.all().any(busy)
    }

    /// Destroys the epoch's native objects. Waits for what is in flight. Objects that cannot be proven idle are counted
    /// as leaked and left alone.
    pub(crate) fn tear_down(&self) {
        let Some(life) = self.streams.first().map(|s| s.shared.life.clone()) else { return };
        if self.torn.swap(true, Ordering::AcqRel) {
            return;
        }
        // Within a process an endless kernel cannot be stopped. If a device is dropped while one runs, its housekeeping
        // thread waits for it here. A rebuild has drained the device before.
        let bound = loop {
            if life.stand() == Stand::Lost || process::exiting() {
                return self.give_up(life.stand());
            }
            match self.context.bind() {
                // The program reads or writes pages that would be freed.
                Ok(_) if self.memory.managed().has_slices() => {
                    clock::pause(self.timing.sweeps.longest);
                    continue;
                }
                // First wait for dispatches that are not enqueued yet: they will be on the streams.
                Ok(bound) if self.late.in_flight() == 0 && self.is_quiet() => break bound,
                Err(code) if fault::is_context_gone(code) => {
                    // The thread that makes the next epoch handles what is left (`forsake`). Without a next epoch,
                    // nothing can.
                    self.torn.store(false, Ordering::Release);
                    if self.context.closed() {
                        self.counters.leaked.fetch_add(self.natives(), Ordering::Relaxed);
                    }
                    return;
                }
                _ => {}
            }
            clock::pause(self.timing.waits.glance);
        };
        // Everything that was in flight is now known to have completed, so threads that still wait have their answer
        // without the driver. The flag keeps all other threads out of the driver.
        life.end(Stand::Stale);
        while self.streams.waits().inside() > 0 {
            if process::exiting() {
                return;
            }
            clock::pause(self.timing.waits.glance);
        }
        self.destroy(bound);
    }

    /// Whether nothing is in flight on any stream. Queries the streams themselves: the epoch is closed, so nothing new
    /// can begin.
    fn is_quiet(&self) -> bool {
        self.streams.all().all(|slot| {
            let state = slot.lease.lock();
            // SAFETY: the stream is alive until `destroy`, and we hold its lease.
            let code = unsafe { self.context.api.stream_query(state.stream.0) };
            if code.is_success() {
                slot.stream.sequence.observe(slot.stream.sequence.issued());
            } else if code != Code::NOT_READY {
                slot.shared.report(code, "cuStreamQuery");
            }
            code.is_success()
        })
    }

    /// Takes the lease of a slot whose context is gone. `None` if its holder keeps it for too long.
    fn lease_of_the_forsaken<'c>(
        &self,
        slot: &'c super::streams::Slot,
    ) -> Option<MutexGuard<'c, super::streams::State>> {
        let end = self.timing.clock.after(self.timing.sweeps.forsaken);
        loop {
            let state = match end {
                Some(end) => slot.lease.try_lock_until(end.wake_at()),
                None => Some(slot.lease.lock()),
            };
            if state.is_some() || clock::is_over(end) {
                return state;
            }
        }
    }

    /// Results that were not fetched yet lie in pinned memory. Waits until they are dropped, then hands on or frees
    /// that memory and leaves the context. If the context was lost, the memory is counted as leaked, and this does not
    /// wait.
    fn outlive_results(&self, fork_generation: u32) {
        let stays = || self.left.load(Ordering::Acquire) || self.context.lost();
        let mut pause = self.timing.sweeps.first;
        while self.memory.pinned().outstanding() > 0 && !stays() {
            if process::fork_generation() != fork_generation {
                return;
            }
            // A result that the program has leaked is never dropped. This wait for it costs almost nothing.
            clock::pause(pause);
            pause = (pause * 2).min(self.timing.sweeps.results);
        }
        if process::exiting() {
            return;
        }
        if !self.context.lost() {
            process::unless_exiting(|| self.let_go());
        } else if !self.left.swap(true, Ordering::AcqRel) {
            // The fault is of this generation, or of a later one that came between the end of this one and here.
            self.counters.leaked.fetch_add(self.memory.pinned().held() as u64, Ordering::Relaxed);
        }
    }

    fn let_go(&self) {
        let gone = |code| self.count_refused(code);
        if !self.left.swap(true, Ordering::AcqRel) {
            match self.context.bind() {
                Ok(_bound) => {
                    for piece in handed_on::hand_on(self, self.memory.pinned().take_all()) {
                        // SAFETY: from `mem_host_alloc`, and owned here alone; no epoch uses it any more.
                        gone(unsafe { self.context.api.mem_free_host(piece.at.0.cast()) });
                    }
                }
                Err(_) => drop(self.counters.leaked.fetch_add(self.memory.pinned().held() as u64, Ordering::Relaxed)),
            }
            gone(self.context.leave());
        }
        gone(self.context.release_unused());
    }

    /// Call when other code destroyed the context, with everything in it. Two things remain: the pool's memory, which
    /// is freed through the device's new context (`new`), and the handles of libraries, which can no longer be freed.
    pub(crate) fn forsake(&self, new: &Context) {
        if self.torn.swap(true, Ordering::AcqRel) {
            return;
        }
        self.left.store(true, Ordering::Release);
        handed_on::forget(self.context.device);
        // It went with its context.
        drop(self.memory.managed().take_all());
        self.code.modules().close();
        let mut addresses = Vec::new();
        self.code.plans().clear();
        for slot in self.streams.all() {
            slot.shared.frees.clear();
            // A library call may be blocked there for ever: what the slot owns stays as it is, and is counted as
            // leaked.
            let Some(mut state) = self.lease_of_the_forsaken(slot) else {
                self.counters.leaked.fetch_add(1 + slot.shared.live.count() as u64, Ordering::Relaxed);
                continue;
            };
            addresses.extend(slot.shared.live.take().into_iter().chain(state.take_memory()));
            self.counters.leaked.fetch_add(state.handles.forget(), Ordering::Relaxed);
        }
        self.counters.leaked.fetch_add(self.code.objects().forget(), Ordering::Relaxed);
        let gone = |code| self.count_refused(code);
        match new.bind() {
            Ok(_bound) => {
                for address in addresses {
                    // SAFETY: pool memory that was not freed yet; all work that used it ended with the context.
                    gone(unsafe { new.api.mem_free(address) });
                }
                // SAFETY: as above; it belongs to no context.
                unsafe { self.memory.growth().destroy(new.api, &mut { gone }) };
                // SAFETY: the pool is empty now; no epoch uses it.
                gone(unsafe { self.memory.destroy_pool(new.api) });
            }
            Err(_) => drop(self.counters.leaked.fetch_add(1 + addresses.len() as u64, Ordering::Relaxed)),
        }
        gone(self.context.forsake());
        self.housekeeper.nudge.close();
    }

    /// Counts the native objects as leaked and leaves them alone.
    fn give_up(&self, stand: Stand) {
        self.left.store(true, Ordering::Release); // the context is kept as well
        self.code.modules().close();
        self.counters.leaked.fetch_add(self.natives(), Ordering::Relaxed);
        self.code.objects().forget();
        self.code.plans().clear();
        self.memory.forget_parked(stand);
    }

    /// How many objects of the driver this engine holds; the context and the pool are two of them.
    fn natives(&self) -> u64 {
        1 + (self.streams.natives() + self.memory.natives() + self.code.natives()) as u64
    }

    /// Counts an object as leaked if the driver refused to destroy it.
    fn count_refused(&self, code: Code) {
        self.counters.leaked.fetch_add(u64::from(!code.is_success()), Ordering::Relaxed);
    }

    /// Destroys everything. Everything is idle, and no thread can begin new work: the flag is set, and this takes every
    /// lease and every polling right in turn.
    fn destroy(&self, _bound: Bound<'_>) {
        let api = self.context.api;
        let mut gone = |code| self.count_refused(code);
        let mut out = Retired::new();
        self.memory.forget_parked(Stand::Stale);
        self.code.objects().destroy_all(&mut gone);
        for slot in self.streams.all() {
            slot.shared.frees.clear();
            let mut state = slot.lease.lock();
            self.counters.carry(slot.shared.dispatches.swap(0, Ordering::Relaxed));
            slot.stream.sequence.without_pollers(|| {
                let stream = state.stream.0;
                state.handles.destroy(self.code.libraries(), &mut gone);
                for address in slot.shared.live.take().into_iter().chain(state.take_memory()) {
                    // SAFETY: allocated by this slot, not freed yet (it was still listed), idle.
                    gone(unsafe { api.mem_free_async(address, stream) });
                }
                for event in state.ring.take_all(&mut out) {
                    // SAFETY: made by this slot; nothing uses it: pollers are kept out, the flag is set.
                    gone(unsafe { api.event_destroy(event.0) });
                }
                // SAFETY: the stream is idle; no thread enqueues on it any more.
                let _ = unsafe { api.stream_synchronize(stream) };
                // SAFETY: as above; streams are destroyed here only, one at a time.
                gone(unsafe { api.stream_destroy(stream) });
            });
        }
        for (stream, event) in self.streams.waits().take_all() {
            // SAFETY: no thread is inside; both are idle.
            unsafe {
                gone(api.event_destroy(event.0));
                gone(api.stream_destroy(stream.0));
            }
        }
        self.streams.timers().destroy(api, &mut gone);
        self.code.modules().unload(api, &mut gone);
        out.iter().for_each(|cargo| cargo.retire());
        drop(out);
        self.code.plans().clear();
        // SAFETY: everything is idle; the epoch ended after the last slice; the context is current.
        unsafe { self.memory.managed().destroy(api, &mut gone) };
        // SAFETY: everything is idle, and nothing of the epoch is used any more.
        unsafe { self.memory.growth().destroy(api, &mut gone) };
        // SAFETY: every allocation of the pool was freed above.
        gone(unsafe { self.memory.destroy_pool(api) });
    }
}

impl super::CudaEngine {
    /// Call when every handle of the device is gone: hands the engine to its housekeeping thread. Makes no driver call.
    ///
    /// The program may exit right after this, so our exit handler is registered again here. A library that was first
    /// used since the thread started has registered exit handlers of its own. Without this they would run while the
    /// thread is inside the library. (Seen: `cublasDestroy` ended in a segmentation fault in 3 of 40 processes that
    /// exited after their first product.)
    pub(crate) fn close(&self) {
        process::watch_exit_again();
        self.core.context.close();
        self.core.late.helpers().close();
        self.core.housekeeper.nudge.close();
    }

    /// Call when the epoch was drained and closed for a rebuild: destroys its native objects now. The context stays for
    /// the next epoch.
    pub(crate) fn retire(&self) {
        self.core.tear_down();
        self.core.late.helpers().close();
        self.core.housekeeper.nudge.close();
    }
}
