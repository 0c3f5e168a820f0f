//! What must happen when nobody calls: frees behind work, cargo of pendings that were dropped, the end of an epoch.
//!
//! One thread an epoch, started by the first nudge. It sweeps while something is in flight or parked, sleeps when
//! nothing is, makes no unbounded driver call, and ends with the epoch. Callers help: every dispatch reaps a little.

use super::Core;
use super::api::Code;
use super::context::{Bound, Context};
use super::fault;
use super::ring::Retired;
use crate::clock;
use crate::engine::life::Stand;
use crate::engine::process;
use crate::sync::{Arc, AtomicBool, AtomicUsize, Mutex, Ordering};
use parking_lot::MutexGuard;
use std::sync::{OnceLock, Weak};
use std::thread::Thread;

/// Wakes the housekeeping thread. Cheap when it is awake: one swap.
pub(crate) struct Nudge {
    awake: AtomicBool,
    closing: AtomicBool,
    fork_generation: u32,
    thread: Mutex<Option<Thread>>,
    core: OnceLock<Weak<Core>>,
}

/// The engine's end of it.
pub(crate) struct Housekeeper {
    pub(crate) nudge: Arc<Nudge>,
    /// Those who sweep just now.
    pub(super) sweeping: AtomicUsize,
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

    /// Knows the core from now on.
    pub(crate) fn serve(&self, core: &Arc<Core>) {
        let _ = self.nudge.core.set(Arc::downgrade(core));
    }
}

#[cfg(test)]
impl Nudge {
    /// One that wakes nobody.
    pub(crate) fn idle() -> Arc<Self> {
        Housekeeper::new().nudge
    }
}

impl Nudge {
    /// There may be something to do. Makes no driver call; may be called from any `Drop`.
    pub(crate) fn nudge(self: &Arc<Self>) {
        // In one order with the thread's own: it lowers the flag, then looks whether something was queued.
        if self.awake.load(Ordering::SeqCst) || self.awake.swap(true, Ordering::AcqRel) {
            return;
        }
        if process::fork_generation() != self.fork_generation {
            return; // exiting, or a forked child: nobody may call the driver any more
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
                // A device that is closed after this finds no thread, and starts one.
                if core.context.closed() == context_too {
                    *thread = None;
                    return;
                }
                continue;
            }
            // First a little patience: whoever nudged is usually about to call again, and reaps on the way. Its close ends it.
            std::thread::park_timeout(pause);
            if self.closing.load(Ordering::Acquire) {
                continue;
            }
            if process::unless_exiting(|| core.sweep()).unwrap_or(false) {
                pause = (pause * 2).min(sweeps.longest);
                continue;
            }
            process::unless_exiting(|| core.free_excess());
            pause = sweeps.first;
            self.awake.swap(false, Ordering::SeqCst);
            // Somebody may have queued something after the sweep, and found us awake.
            if core.has_queued() && !self.awake.swap(true, Ordering::AcqRel) {
                continue;
            }
            std::thread::park_timeout(sweeps.doze);
            self.awake.store(true, Ordering::Release);
        }
    }

    /// The epoch is over: the thread tears it down and ends.
    pub(crate) fn close(self: &Arc<Self>) {
        self.closing.store(true, Ordering::Release);
        self.awake.store(false, Ordering::Release);
        self.nudge();
    }
}

impl Core {
    /// Something was queued that nobody has looked at.
    fn has_queued(&self) -> bool {
        let busy = |s: &super::slot::Slot| !s.shared.frees.is_surely_empty() || s.shared.sequence.in_flight() > 0;
        let over = self.slots.iter().any(|slot| slot.shared.over());
        let leaving = self.modules.has_leaving() || self.objects.has_leaving();
        self.reclaim.parked() > 0 || (leaving && !over) || self.all_slots().any(busy)
    }

    /// Ends the epoch's natives. Waits for what is in flight; natives that cannot be proven idle are counted, not
    /// touched.
    pub(crate) fn tear_down(&self) {
        let Some(life) = self.slots.first().map(|s| s.shared.life.clone()) else { return };
        if self.torn.swap(true, Ordering::AcqRel) {
            return;
        }
        // In process nobody can stop an endless kernel: a device that was dropped over one waits for it here, in its own
        // thread. A rebuild has drained before.
        let bound = loop {
            if life.stand() == Stand::Lost || process::exiting() {
                return self.give_up(life.stand());
            }
            match self.context.bind() {
                // Those that are not enqueued yet first: they come to the streams.
                Ok(bound) if self.late.in_flight() == 0 && self.is_quiet() => break bound,
                Err(code) if fault::is_context_gone(code) => {
                    // Whoever makes the next epoch looks after what is left; if there is none, nobody can.
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
        // Everything in flight is known to be over now, so whoever still waits has its answer without the driver; the
        // flag keeps the others out of it.
        life.end(Stand::Stale);
        while self.blocking_waits.inside() > 0 {
            if process::exiting() {
                return;
            }
            clock::pause(self.timing.waits.glance);
        }
        self.destroy(bound);
    }

    /// Nothing in flight on any stream. Asks the streams themselves: the epoch is closed, so nothing new can begin.
    fn is_quiet(&self) -> bool {
        self.all_slots().all(|slot| {
            let state = slot.lease.lock();
            // SAFETY: the stream is alive until `destroy`, and we hold its lease.
            let code = unsafe { self.context.api.stream_query(state.stream.0) };
            if code.is_success() {
                slot.shared.sequence.observe(slot.shared.sequence.issued());
            } else if code != Code::NOT_READY {
                slot.shared.report(code, "cuStreamQuery");
            }
            code.is_success()
        })
    }

    /// The lease of a slot whose context is gone, unless its holder keeps it for too long.
    fn lease_of_the_forsaken<'c>(&self, slot: &'c super::slot::Slot) -> Option<MutexGuard<'c, super::slot::State>> {
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

    /// Results that nobody has fetched yet lie in pinned memory: it goes when they are gone, and the context after it. Where
    /// the context was lost it never goes, and nobody is waited for.
    fn outlive_results(&self, fork_generation: u32) {
        let stays = || self.left.load(Ordering::Acquire) || self.context.lost();
        let mut pause = self.timing.sweeps.first;
        while self.pinned.outstanding() > 0 && !stays() {
            if process::fork_generation() != fork_generation {
                return;
            }
            // A result that its program forgot never comes: whoever waits for it costs next to nothing.
            clock::pause(pause);
            pause = (pause * 2).min(self.timing.sweeps.results);
        }
        if process::exiting() {
            return;
        }
        if !self.context.lost() {
            process::unless_exiting(|| self.let_go());
        } else if !self.left.swap(true, Ordering::AcqRel) {
            // The fault is this life's own, or that of a later one which came between the end of this and here.
            self.counters.leaked.fetch_add(self.pinned.held() as u64, Ordering::Relaxed);
        }
    }

    fn let_go(&self) {
        let gone = |code| self.count_refused(code);
        if !self.left.swap(true, Ordering::AcqRel) {
            match self.context.bind() {
                Ok(_bound) => {
                    for piece in self.hand_on(self.pinned.take_all()) {
                        // SAFETY: from `mem_host_alloc`, and in hand here alone; no epoch uses it any more.
                        gone(unsafe { self.context.api.mem_free_host(piece.at.0.cast()) });
                    }
                }
                Err(_) => drop(self.counters.leaked.fetch_add(self.pinned.held() as u64, Ordering::Relaxed)),
            }
            gone(self.context.leave());
        }
        gone(self.context.release_unused());
    }

    /// The context was destroyed by somebody else, with everything in it. What it left is the pool's memory, which is
    /// freed through the device's new context, and libraries' handles, which nothing can free now.
    pub(crate) fn forsake(&self, new: &Context) {
        if self.torn.swap(true, Ordering::AcqRel) {
            return;
        }
        self.left.store(true, Ordering::Release);
        super::handed_on::forget(self.context.device);
        self.modules.close();
        let mut addresses = Vec::new();
        self.plans.clear();
        for slot in self.all_slots() {
            slot.shared.frees.clear();
            // A call of a library may be blocked there for good: what is its stays as it is.
            let Some(mut state) = self.lease_of_the_forsaken(slot) else {
                self.counters.leaked.fetch_add(1 + slot.shared.live.count() as u64, Ordering::Relaxed);
                continue;
            };
            addresses.extend(slot.shared.live.take().into_iter().chain(state.take_memory()));
            self.counters.leaked.fetch_add(state.handles.forget(), Ordering::Relaxed);
        }
        self.counters.leaked.fetch_add(self.objects.forget(), Ordering::Relaxed);
        let gone = |code| self.count_refused(code);
        match new.bind() {
            Ok(_bound) => {
                for address in addresses {
                    // SAFETY: pool memory that was not freed yet; what used it ended with the context.
                    gone(unsafe { new.api.mem_free(address) });
                }
                // SAFETY: empty now; no epoch uses it.
                gone(unsafe { new.api.mem_pool_destroy(self.pool.0.0) });
            }
            Err(_) => drop(self.counters.leaked.fetch_add(1 + addresses.len() as u64, Ordering::Relaxed)),
        }
        gone(self.context.forsake());
        self.housekeeper.nudge.close();
    }

    /// Leaves the natives alone, and counts them.
    fn give_up(&self, stand: Stand) {
        self.left.store(true, Ordering::Release); // the context is kept as well
        self.modules.close();
        self.counters.leaked.fetch_add(self.natives(), Ordering::Relaxed);
        self.objects.forget();
        self.plans.clear();
        self.reclaim.forget(stand);
    }

    /// How many objects of the driver this engine holds; the context and the pool are two of them.
    fn natives(&self) -> u64 {
        let of_slot = |slot: &super::slot::Slot| {
            let held = slot
                .lease
                .try_lock()
                .map_or(0, |state| state.ring.events() + state.memory() + state.handles.count() as usize);
            1 + slot.shared.live.count() + held
        };
        let slots: usize = self.all_slots().map(of_slot).sum();
        let others = self.pinned.held() + self.timers.held() + self.modules.held() + self.objects.held();
        2 + (slots + others) as u64 + 2 * self.blocking_waits.made()
    }

    /// What the driver refuses to take back is counted.
    fn count_refused(&self, code: Code) {
        self.counters.leaked.fetch_add(u64::from(!code.is_success()), Ordering::Relaxed);
    }

    /// Destroys everything. All is idle, and nobody can begin: the flag is set, and every lease and polling right is
    /// taken in turn here.
    fn destroy(&self, _bound: Bound<'_>) {
        let api = self.context.api;
        let mut gone = |code| self.count_refused(code);
        let mut out = Retired::new();
        self.reclaim.forget(Stand::Stale);
        self.objects.destroy_all(&mut gone);
        for slot in self.all_slots() {
            slot.shared.frees.clear();
            let mut state = slot.lease.lock();
            self.counters.carry(slot.shared.dispatches.swap(0, Ordering::Relaxed));
            slot.shared.sequence.without_pollers(|| {
                let stream = state.stream.0;
                state.handles.destroy(self.libraries, &mut gone);
                for address in slot.shared.live.take().into_iter().chain(state.take_memory()) {
                    // SAFETY: ours, not freed yet (it was still listed), idle.
                    gone(unsafe { api.mem_free_async(address, stream) });
                }
                for event in state.ring.take_all(&mut out) {
                    // SAFETY: made by this slot; nothing refers to it: pollers are out, the flag is set.
                    gone(unsafe { api.event_destroy(event.0) });
                }
                // SAFETY: idle; nobody enqueues any more.
                let _ = unsafe { api.stream_synchronize(stream) };
                // SAFETY: as above; streams are destroyed here only, one at a time.
                gone(unsafe { api.stream_destroy(stream) });
            });
        }
        for (stream, event) in self.blocking_waits.take_all() {
            // SAFETY: nobody is inside; idle.
            unsafe {
                gone(api.event_destroy(event.0));
                gone(api.stream_destroy(stream.0));
            }
        }
        self.timers.destroy(api, &mut gone);
        self.modules.unload(api, &mut gone);
        out.iter().for_each(|cargo| cargo.retire());
        drop(out);
        self.plans.clear();
        // SAFETY: every allocation of it was freed above; the pool itself goes when the driver is done with them.
        gone(unsafe { api.mem_pool_destroy(self.pool.0.0) });
    }
}

impl super::CudaEngine {
    /// Every handle of the device is gone: hands the engine to its thread. No driver call here.
    ///
    /// The program may exit right after this, so its exit is watched anew from here: a library that was first used since
    /// the thread began has registered handlers of its own meanwhile, which else ran while the thread is inside it. (Seen:
    /// `cublasDestroy` ended in a segmentation fault in 3 of 40 processes that exited after their first product.)
    pub(crate) fn close(&self) {
        process::watch_exit_again();
        self.core.context.close();
        self.core.helpers.close();
        self.core.housekeeper.nudge.close();
    }

    /// The epoch was drained and closed for a rebuild: ends its natives now. The context stays for the next one.
    pub(crate) fn retire(&self) {
        self.core.tear_down();
        self.core.helpers.close();
        self.core.housekeeper.nudge.close();
    }
}
