//! What happens when a device fails.
//!
//! ```text
//!   Healthy(g) ──fault──> Poisoned ──> Rebuilding ──> Healthy(g + 1)
//!       │                                  └── past the policy, or nothing can help ──> Lost
//!       └── rebuild() asked for: drain, then the same way
//! ```
//!
//! The steps of a rebuild: the flag is set (dispatches are refused, waiters see it and settle, sleeping waiters are
//! woken); the old epoch is shut down; a new one is made; it is tested; mirrored data is put back and the pre-admission
//! hooks run, which restore the rest; the epoch pointer is swapped, which installs the new epoch, bumps the generation
//! and admits work in one step; the post-admission hooks run.
//!
//! **A device fault on a GPU ends CUDA for the whole process** (measured: no call brings it back, on any GPU). So such
//! a device becomes `Lost` at once, together with every other CUDA device of the process. The host engine is rebuilt in
//! place, and so is a CUDA device if a rebuild is requested. An isolated device gets a new worker process, whatever
//! ended the old one.

mod policy;
mod rebuild;
pub(crate) mod self_test;

use crate::core::clock;
use crate::core::epoch::Epoch;
use crate::core::epoch::life::Stand;
use crate::core::error::{Error, Result, Site};
use crate::core::health::{Health, Phase};
use crate::core::sync::{Arc, Condvar, Mutex};
pub use policy::RestartPolicy;
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) use self_test::SelfTest;
pub(crate) use self_test::self_test;
#[cfg(target_os = "linux")]
pub(crate) use self_test::work;

use crate::device::{Device, Inner};
use policy::History;
use std::time::Duration;

/// Added to the reason while a recovery waits for a thread.
const NO_THREAD: &str = "; the supervisor's thread could not be started yet: ";

/// A user's function that is called during or after a rebuild.
pub(crate) type Hook = Arc<dyn Fn(&Device) -> Result<()> + Send + Sync>;

/// The state machine of one device.
pub(crate) struct Supervisor {
    #[cfg_attr(not(feature = "tracing"), expect(dead_code, reason = "only events name the device"))]
    device: Arc<str>,
    policy: RestartPolicy,
    state: Mutex<State>,
    changed: Condvar,
    /// How many waits for health have begun.
    #[cfg(test)]
    pub(crate) waiters: crate::core::sync::AtomicUsize,
}

struct State {
    phase: Phase,
    history: History,
    reason: Option<String>,
    /// The newest generation whose end is being handled, so that two threads that notice the same fault start one
    /// recovery.
    seen: Option<u64>,
    /// A recovery for which no thread could be started. The next call that asks for the device's health, or waits for
    /// it, tries again.
    waiting: Option<Waiting>,
}

/// A recovery to begin: the epoch that ended, and why the previous attempt failed.
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
            waiters: crate::core::sync::AtomicUsize::new(0),
        }
    }

    fn enter(&self, phase: Phase, reason: Option<String>) {
        #[cfg(feature = "tracing")]
        crate::core::trace::tell_phase(&self.device, phase, reason.as_deref());
        let mut state = self.state.lock();
        state.phase = phase;
        if reason.is_some() {
            state.reason = reason;
        }
        self.changed.notify_all();
    }

    /// The device's health. Also begins a recovery that had no thread.
    pub(crate) fn health(&self, inner: &Arc<Inner>) -> Health {
        self.begin_waiting(inner);
        self.look(inner)
    }

    fn look(&self, inner: &Inner) -> Health {
        // A forked child has no supervisor, and none of the threads that might hold the supervisor's lock.
        let epoch = inner.epoch();
        if epoch.is_forked() {
            let reason = Some(Error::forked().to_string());
            return Health { phase: Phase::Lost, generation: epoch.generation, reason, restarts_left: 0 };
        }
        let mut state = self.state.lock();
        // Read only now: a generation is installed before it is said to be healthy, so this epoch is not older than the
        // phase.
        let epoch = inner.epoch();
        let restarts_left = state.history.left(&self.policy, epoch.timing.clock.now());
        // The thread that sees a fault sets the epoch's flag first, which refuses other work, and changes the phase a
        // moment later.
        let phase = match (state.phase, epoch.life.stand()) {
            (_, Stand::Lost) => Phase::Lost,
            (Phase::Healthy, Stand::Poisoned) => Phase::Poisoned,
            (phase, _) => phase,
        };
        let told = phase == state.phase;
        let reason = if told { state.reason.clone() } else { epoch.cause().map(|cause| cause.message) };
        Health { phase, generation: epoch.generation, reason, restarts_left }
    }

    /// Waits until the device is healthy.
    pub(crate) fn wait_healthy(&self, inner: &Arc<Inner>, limit: Duration) -> Result<Health> {
        rebuild::not_in_its_hook(inner)?;
        #[cfg(test)]
        self.waiters.fetch_add(1, crate::core::sync::Ordering::SeqCst);
        let timing = inner.config.engine.timing;
        let until = timing.clock.after(limit);
        loop {
            // Before the health is read: the thread may be suspended between the two.
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

    /// Handles an epoch that a fault has ended: decides what to do, and starts a thread for the recovery if there can
    /// be one.
    pub(crate) fn on_fault(&self, inner: &Arc<Inner>, epoch: &Arc<Epoch>) {
        let cause = epoch.cause().unwrap_or_default();
        let current = Arc::ptr_eq(&inner.epoch(), epoch);
        if !epoch.engine.recovers_from(&cause) {
            epoch.engine.latch(Some(cause));
            return;
        }
        if !current {
            return; // not installed yet: its own rebuild sees the fault
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

    /// Whether a recovery or a rebuild already handles the end of that generation.
    fn sees_to(&self, generation: u64) -> bool {
        self.state.lock().seen >= Some(generation)
    }

    /// Starts a thread for a recovery. `failed`: why the previous attempt failed, if there was one.
    fn begin_recovery(&self, inner: &Arc<Inner>, old: &Arc<Epoch>, failed: Option<Error>) {
        let (device, old, again) = (Arc::downgrade(inner), old.clone(), (old.clone(), failed.clone()));
        let spawned = std::thread::Builder::new()
            .name(format!("windlass supervisor {}", inner.label))
            .spawn(move || rebuild::recover(&device, &old, failed));
        if let Err(e) = spawned {
            // The system may be able to start one a moment later.
            let mut state = self.state.lock();
            state.waiting = Some(again);
            let had = state.reason.take().unwrap_or_default();
            state.reason =
                Some(had.split(NO_THREAD).next().unwrap_or_default().to_owned() + NO_THREAD + &e.to_string());
        }
    }

    /// Begins a recovery that had no thread before.
    fn begin_waiting(&self, inner: &Arc<Inner>) {
        if inner.epoch().is_forked() {
            return;
        }
        let waiting = self.state.lock().waiting.take();
        if let Some((old, failed)) = waiting {
            self.begin_recovery(inner, &old, failed);
        }
    }

    /// A generation was installed: the device is healthy, unless a fault of that generation has already been seen.
    fn admitted(&self, generation: u64) {
        {
            let mut state = self.state.lock();
            if state.seen >= Some(generation) {
                return;
            }
            state.phase = Phase::Healthy;
        }
        #[cfg(feature = "tracing")]
        crate::core::trace::tell_phase(&self.device, Phase::Healthy, None);
        self.changed.notify_all();
    }

    /// Records that the device was ended for good.
    #[cfg(feature = "cuda")]
    pub(crate) fn lost(&self, reason: String) {
        self.enter(Phase::Lost, Some(reason));
    }

    /// Ends the device for good.
    pub(crate) fn lose(&self, inner: &Inner, reason: String, remedy: Option<&'static str>) {
        {
            let mut state = self.state.lock();
            inner.epoch().end_for_good(&reason, remedy);
            // Set under the same lock, so that a thread that sees the device lost sees this reason, not the first
            // cause.
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

    /// A recovery looks once more at the epoch that it has installed. By then a rebuild of that epoch may have been
    /// requested.
    #[test]
    #[cfg(feature = "host")]
    fn the_end_of_a_life_for_a_rebuild_is_no_fault_of_it() {
        let device = Device::builder().host().open().unwrap();
        let (inner, old) = (device.inner().clone(), device.epoch());
        assert!(!inner.supervisor.sees_to(0) && old.life.drain());
        assert!(inner.supervisor.claim(&old) && inner.supervisor.sees_to(0));
        inner.supervisor.on_fault(&inner, &old);
        // A fault would have changed the phase by now, and its recovery would have begun.
        assert_eq!((device.generation(), device.health().phase), (0, Phase::Rebuilding));
    }

    /// A `rebuild` that is delayed after its drain, while a fault of the same epoch is seen and the device recovers.
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
