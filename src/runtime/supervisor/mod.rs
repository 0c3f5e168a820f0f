//! What happens when a device fails.
//!
//! ```text
//!   Healthy(g) ──fault──> Poisoned ──> Rebuilding ──> Healthy(g + 1)
//!       │                                  └── past the policy, or nothing can help ──> Lost
//!       └── rebuild() asked for: drain, then the same way
//! ```
//!
//! The order of a rebuild: the flag is set (dispatches are refused, waiters see it and settle, sleepers are woken); the
//! old life is shut away; a new one is made; it is tested; the pre-admission hooks put data back into it; the epoch
//! pointer is swapped, which installs, bumps the generation and admits in one step; the post-admission hooks run.
//!
//! **A device fault on a GPU ends CUDA for the whole process** (measured: no call brings it back, on any GPU), so such
//! a device goes to `Lost` at once, together with every other CUDA device of the process. The host engine, and a CUDA
//! device whose rebuild is asked for, are rebuilt in place. An isolated device gets a new worker process, whatever it was
//! that ended the old one.

mod health;
mod policy;
mod rebuild;
mod self_test;

pub use health::{Health, Phase};
pub use policy::RestartPolicy;
#[cfg(all(feature = "worker-program", target_os = "linux"))]
pub(crate) use self_test::SelfTest;
pub(crate) use self_test::self_test;
#[cfg(target_os = "linux")]
pub(crate) use self_test::work;

use crate::clock;
use crate::device::{Device, Inner};
use crate::engine::Epoch;
use crate::engine::life::Stand;
use crate::error::Site;
use crate::sync::{Arc, Condvar, Mutex};
use crate::{Error, Result};
use policy::History;
use std::time::Duration;

/// What a reason says where the recovery waits for a thread.
const NO_THREAD: &str = "; no thread for the supervisor yet: ";

/// Called after a rebuild.
pub(crate) type Hook = Arc<dyn Fn(&Device) -> Result<()> + Send + Sync>;

/// The state machine of one device.
pub(crate) struct Supervisor {
    #[cfg_attr(not(feature = "tracing"), expect(dead_code, reason = "only events name the device"))]
    device: Arc<str>,
    policy: RestartPolicy,
    state: Mutex<State>,
    changed: Condvar,
    /// How often somebody began to wait for its health.
    #[cfg(test)]
    pub(crate) waiters: crate::sync::AtomicUsize,
}

struct State {
    phase: Phase,
    history: History,
    reason: Option<String>,
    /// The newest generation whose fault is being seen to: two that notice the same fault start one recovery.
    seen: Option<u64>,
    /// A recovery that had no thread: whoever asks for the device's health, or waits for it, starts it again.
    waiting: Option<Waiting>,
}

/// A recovery to begin: of which life, and why the attempt before failed.
type Waiting = (Arc<Epoch>, Option<Error>);

impl Supervisor {
    pub(crate) fn new(device: Arc<str>, policy: RestartPolicy) -> Self {
        let state =
            State { phase: Phase::Healthy, history: History::default(), reason: None, seen: None, waiting: None };
        Supervisor {
            device,
            policy,
            state: Mutex::new(state),
            changed: Condvar::new(),
            #[cfg(test)]
            waiters: crate::sync::AtomicUsize::new(0),
        }
    }

    fn enter(&self, phase: Phase, reason: Option<String>) {
        #[cfg(feature = "tracing")]
        crate::trace::tell_phase(&self.device, phase, reason.as_deref());
        let mut state = self.state.lock();
        state.phase = phase;
        if reason.is_some() {
            state.reason = reason;
        }
        self.changed.notify_all();
    }

    /// How the device stands.
    pub(crate) fn health(&self, inner: &Arc<Inner>) -> Health {
        self.begin_waiting(inner);
        self.look(inner)
    }

    fn look(&self, inner: &Inner) -> Health {
        // A forked child has no supervisor, and none of the threads that might hold its lock.
        let epoch = inner.epoch();
        if epoch.is_forked() {
            let reason = Some(Error::forked().to_string());
            return Health { phase: Phase::Lost, generation: epoch.generation, reason, restarts_left: 0 };
        }
        let mut state = self.state.lock();
        // Looked at after: a generation is installed before it is said to be healthy, so this is not one before that.
        let epoch = inner.epoch();
        let restarts_left = state.history.left(&self.policy, epoch.timing.clock.now());
        // Whoever sees a fault sets the epoch's flag first, which others are refused by, and comes here a moment later.
        let phase = match (state.phase, epoch.life.stand()) {
            (_, Stand::Lost) => Phase::Lost,
            (Phase::Healthy, Stand::Poisoned) => Phase::Poisoned,
            (phase, _) => phase,
        };
        let told = phase == state.phase;
        let reason = if told { state.reason.clone() } else { epoch.cause().map(|cause| cause.message) };
        Health { phase, generation: epoch.generation, reason, restarts_left }
    }

    /// Waits until it is healthy.
    pub(crate) fn wait_healthy(&self, inner: &Arc<Inner>, limit: Duration) -> Result<Health> {
        rebuild::not_in_its_hook(inner)?;
        #[cfg(test)]
        self.waiters.fetch_add(1, crate::sync::Ordering::SeqCst);
        let timing = inner.config.timing;
        let until = timing.clock.after(limit);
        loop {
            // Before the look: much may happen between that and this.
            let late = clock::is_over(until);
            let health = self.health(inner);
            match health.phase {
                Phase::Healthy if inner.epoch().alive() => return Ok(health),
                Phase::Lost => return Err(inner.epoch().verdict()),
                _ => {}
            }
            if late {
                return Err(Error::Timeout { waited: limit, site: Site::none() });
            }
            // Short sleeps: the epoch's flag, which is part of the condition, has no condvar.
            self.changed.wait_for(&mut self.state.lock(), timing.recovery.look);
        }
    }

    /// An epoch ended by a fault. Decides, and sets a thread of its own to work where something can be done.
    pub(crate) fn on_fault(&self, inner: &Arc<Inner>, epoch: &Arc<Epoch>) {
        let cause = epoch.cause().unwrap_or_default();
        let current = Arc::ptr_eq(&inner.epoch(), epoch);
        if !epoch.engine.recovers_from(&cause) {
            #[cfg(feature = "cuda")]
            crate::cuda::latch_all(Some(cause));
            return;
        }
        if !current {
            return; // a life that is still being made: its rebuild sees the fault itself
        }
        {
            let mut state = self.state.lock();
            if state.seen >= Some(epoch.generation) {
                return;
            }
            state.seen = Some(epoch.generation);
        }
        self.enter(Phase::Poisoned, Some(cause.message));
        self.begin_recovery(inner, epoch, None);
    }

    /// The end of that generation has somebody who makes the next.
    fn sees_to(&self, generation: u64) -> bool {
        self.state.lock().seen >= Some(generation)
    }

    /// Sets a thread of its own to work, after an attempt that `failed` if there was one.
    fn begin_recovery(&self, inner: &Arc<Inner>, old: &Arc<Epoch>, failed: Option<Error>) {
        let (device, old, again) = (Arc::downgrade(inner), old.clone(), (old.clone(), failed.clone()));
        let spawned = std::thread::Builder::new()
            .name(format!("windlass supervisor {}", inner.label))
            .spawn(move || rebuild::recover(&device, &old, failed));
        if let Err(e) = spawned {
            // The system may have one in a moment.
            let mut state = self.state.lock();
            state.waiting = Some(again);
            let had = state.reason.take().unwrap_or_default();
            state.reason =
                Some(had.split(NO_THREAD).next().unwrap_or_default().to_owned() + NO_THREAD + &e.to_string());
        }
    }

    /// Begins a recovery that had no thread.
    fn begin_waiting(&self, inner: &Arc<Inner>) {
        if inner.epoch().is_forked() {
            return;
        }
        let waiting = self.state.lock().waiting.take();
        if let Some((old, failed)) = waiting {
            self.begin_recovery(inner, &old, failed);
        }
    }

    /// A generation was installed. A fault of it may have been seen before this: then that counts.
    fn admitted(&self, generation: u64) {
        {
            let mut state = self.state.lock();
            if state.seen >= Some(generation) {
                return;
            }
            state.phase = Phase::Healthy;
        }
        #[cfg(feature = "tracing")]
        crate::trace::tell_phase(&self.device, Phase::Healthy, None);
        self.changed.notify_all();
    }

    /// The device was ended for good.
    #[cfg(feature = "cuda")]
    pub(crate) fn lost(&self, reason: String) {
        self.enter(Phase::Lost, Some(reason));
    }

    /// Ends the device for good.
    pub(crate) fn lose(&self, inner: &Inner, reason: String, remedy: Option<&'static str>) {
        {
            let mut state = self.state.lock();
            inner.epoch().end_for_good(&reason, remedy);
            // Whoever finds it lost finds this reason, not what ended the life first.
            (state.phase, state.reason) = (Phase::Lost, Some(reason.clone()));
        }
        self.enter(Phase::Lost, Some(reason));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_fault_that_is_seen_at_once_is_not_covered_by_the_admission() {
        let supervisor = Supervisor::new("a".into(), RestartPolicy::default());
        let phase = || supervisor.state.lock().phase;
        supervisor.state.lock().seen = Some(0);
        supervisor.enter(Phase::Rebuilding, None);
        supervisor.admitted(1);
        assert_eq!(phase(), Phase::Healthy);
        supervisor.state.lock().seen = Some(2);
        supervisor.enter(Phase::Poisoned, Some("it".into()));
        supervisor.admitted(2);
        assert_eq!(phase(), Phase::Poisoned);
    }

    /// A recovery looks at the life that it has installed once more: by then a rebuild of that one may have been asked for.
    #[test]
    #[cfg(feature = "host")]
    fn the_end_of_a_life_for_a_rebuild_is_no_fault_of_it() {
        let device = Device::builder().host().open().unwrap();
        let (inner, old) = (device.inner().clone(), device.epoch());
        assert!(!inner.supervisor.sees_to(0) && old.life.drain());
        assert!(inner.supervisor.claim(&old) && inner.supervisor.sees_to(0));
        inner.on_fault(&old);
        // A fault would be entered by now, and its recovery begun.
        assert_eq!((device.generation(), device.health().phase), (0, Phase::Rebuilding));
    }

    /// `rebuild` that is held up after its drain, while a fault of the same life is seen and mended.
    #[test]
    #[cfg(feature = "host")]
    fn a_rebuild_that_a_fault_has_overtaken_says_nothing_of_the_phase() {
        let device = Device::builder().host().open().unwrap();
        let (inner, old) = (device.inner().clone(), device.epoch());
        assert!(old.life.drain());
        old.fault("it", None);
        let start = clock::Clock::SYSTEM.start();
        while (device.generation(), device.health().phase) != (1, Phase::Healthy) {
            assert!(start.elapsed().as_secs() < 60, "{:?}", device.health());
            std::thread::yield_now();
        }
        assert!(!inner.supervisor.claim(&old));
        assert_eq!(device.health().phase, Phase::Healthy);
        device.wait_healthy(Duration::ZERO).unwrap();
    }
}
