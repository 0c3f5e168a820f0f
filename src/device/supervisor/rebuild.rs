//! Makes a new generation.

use super::{RestartPolicy, Supervisor, self_test};
use crate::core::clock::Timing;
use crate::core::epoch::life::Stand;
use crate::core::epoch::{Cause, Epoch};
use crate::core::error::{Error, Result, Site};
use crate::core::health::Phase;
use crate::core::sync::{Arc, Ordering};
use crate::core::trace::{Loss, Recovery};
use crate::device::{Device, Inner};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Weak;
use std::time::Duration;

/// The shortest pause after the n-th consecutive attempt that failed, whatever the policy says. A worker program that
/// cannot start fails at once, and would be started in a tight loop.
fn breather(timing: &Timing, failed: u32) -> Duration {
    match failed {
        0 => Duration::ZERO,
        n => timing.recovery.breather.saturating_mul(1 << (n - 1).min(10)),
    }
}

/// Recovers after an epoch ended: makes attempts as the policy allows, until one succeeds or none is left. Holds the
/// device only during an attempt: once every handle of it was dropped, no new generation is needed.
pub(super) fn recover(device: &Weak<Inner>, old: &Arc<Epoch>, mut failed: Option<Error>) {
    if failed.is_none() {
        tell_loss(old);
    }
    for attempt in 0u32.. {
        let pause = {
            let Some(inner) = device.upgrade() else { return };
            if inner.epoch().life.stand() == Stand::Lost {
                return; // a device fault has ended CUDA for the process
            }
            let supervisor = &inner.supervisor;
            supervisor.enter(Phase::Rebuilding, failed.as_ref().map(|e| format!("a rebuild failed: {e}")));
            let pause = supervisor.state.lock().history.take(&supervisor.policy, old.timing.clock.now());
            let Some(pause) = pause else {
                let why = old.cause().map(|c| c.message).unwrap_or_default();
                let RestartPolicy { restarts, window, .. } = supervisor.policy;
                let last = failed.as_ref().map(|e| format!("; the last attempt failed: {e}")).unwrap_or_default();
                let reason = format!(
                    "{why}; all {restarts} restarts that the restart policy allows in {window:?} are used{last}"
                );
                return supervisor.lose(&inner, reason, failed.as_ref().and_then(remedy_of));
            };
            pause
        };
        old.timing.clock.sleep(pause.max(breather(old.timing, attempt)));
        let Some(inner) = device.upgrade() else { return };
        match inner.supervisor.attempt(&inner, old.generation + 1) {
            Ok(()) => return,
            Err(error) => failed = Some(error),
        }
    }
}

/// The remedy after an attempt that failed with this error, if more attempts would not help.
fn remedy_of(error: &Error) -> Option<&'static str> {
    match error {
        Error::OutOfMemory { .. } => Some("free memory of the device, or use less of it, and open the device again"),
        Error::LibraryMissing { .. } => Some("install what is missing, and open the device again"),
        Error::Panicked { .. } => Some("open the device again with a hook that does not panic"),
        Error::InvalidArgument { .. } | Error::Unsupported { .. } => {
            Some("open the device again with hooks and mirrored data that a new generation accepts")
        }
        _ => None,
    }
}

/// Reports to the trace that a fault has ended an epoch.
fn tell_loss(old: &Epoch) {
    let counters = &old.counters;
    let Some(trace) = counters.trace() else { return };
    let cause = old.cause().map(|cause| cause.message).unwrap_or_default();
    trace.lost(&Loss {
        device: &old.label,
        generation: old.generation,
        cause: &cause,
        orders: counters.orders.load(Ordering::Relaxed),
        bytes_crossed: counters.bytes_crossed.load(Ordering::Relaxed),
    });
}

impl Supervisor {
    /// A rebuild that the user requested: drains first.
    pub(crate) fn rebuild(&self, inner: &Arc<Inner>, deadline: Duration) -> Result<()> {
        not_in_its_hook(inner)?;
        let old = inner.epoch();
        if old.is_forked() {
            return Err(Error::forked());
        }
        if !old.life.drain() {
            return match old.life.stand() {
                Stand::Draining => Err(Error::ContextPoisoned {
                    cause: "another rebuild of this device is under way".into(),
                    site: Site::none(),
                }),
                // A fault came first: the caller waits for its recovery.
                _ => self.wait_healthy(inner, deadline).map(drop),
            };
        }
        match inner.drain(&old, deadline) {
            Ok(true) => {}
            Ok(false) => {
                old.life.reopen();
                return Err(Error::Timeout { waited: deadline, site: Site::none() });
            }
            Err(error) => return Err(error),
        }
        if !self.claim(&old) {
            return self.wait_healthy(inner, deadline).map(drop);
        }
        old.engine.retire();
        old.engine.await_gone(old.timing.recovery.parting);
        match self.attempt(inner, old.generation + 1) {
            Ok(()) => Ok(()),
            // Recover as after a fault: what the attempt needs may be taken for now, by the previous worker or by other
            // programs on the same GPU.
            Err(error) => {
                self.begin_recovery(inner, &old, Some(error.clone()));
                self.wait_healthy(inner, deadline).map(drop).map_err(|end| match end {
                    Error::DeviceLost { .. } => error, // why the device was lost
                    end => end,
                })
            }
        }
    }

    /// Ends a drained epoch for a rebuild. False if a fault came first: then its recovery sets the phase. Until the
    /// phase is set here, the epoch's own flag tells that it is over.
    pub(super) fn claim(&self, old: &Epoch) -> bool {
        let why = || "a rebuild was requested".to_string();
        let first = {
            let mut state = self.state.lock();
            let first = old.end(Stand::Poisoned, || Cause { message: why(), ..Cause::default() });
            if first {
                // A thread that finds the epoch dead (such as a recovery that has just installed it) also finds its end
                // handled.
                state.seen = state.seen.max(Some(old.generation));
            }
            first
        };
        if first {
            self.enter(Phase::Rebuilding, Some(why()));
        }
        first
    }

    /// Makes a new epoch, tests it, restores its data and installs it.
    fn attempt(&self, inner: &Arc<Inner>, generation: u64) -> Result<()> {
        let epoch = inner.next_epoch(generation)?;
        let device = Device::bound_to(inner.clone(), epoch.clone());
        let ready = self_test(&device)
            .and_then(|()| inner.mirrors.put_back(&device))
            .and_then(|()| {
                let _making = Making::begin(inner.id);
                inner.config.before.iter().try_for_each(|hook| guarded(hook, &device))
            })
            // A fault during a hook that the hook itself did not report.
            .and_then(|()| if epoch.dead() { Err(epoch.verdict()) } else { Ok(()) });
        if let Err(error) = ready {
            epoch.end(Stand::Stale, || Cause {
                message: "the rebuild of this generation failed".into(),
                ..Cause::default()
            });
            epoch.engine.retire();
            return Err(error);
        }
        drop(device);
        inner.counters.rebuilds.fetch_add(1, Ordering::Relaxed); // before any thread can see the new generation
        inner.install(epoch.clone());
        let recovery = inner.counters.recovered();
        self.admitted(generation);
        if let (Some(time), Some(trace)) = (recovery, inner.counters.trace()) {
            trace.recovered(&Recovery { device: &inner.label, generation, time });
        }
        // A fault between the last check and the installation has not been handled, because the epoch was not current
        // yet. Done before the hooks, which may wait for the recovery.
        if epoch.dead() && !self.sees_to(generation) {
            self.on_fault(inner, &epoch);
        }
        let device = Device::from_inner(inner.clone());
        for hook in &inner.config.after {
            if let Err(error) = guarded(hook, &device) {
                inner.counters.count_error(&error);
            }
        }
        Ok(())
    }
}

thread_local! {
    /// The device for whose new generation this thread runs hooks.
    static MAKING: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Lives while the pre-admission hooks of a new generation run. A hook may rebuild another device, so these can nest.
struct Making(Option<u64>);

impl Making {
    fn begin(device: u64) -> Self {
        Making(MAKING.replace(Some(device)))
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        MAKING.set(self.0);
    }
}

/// Refuses to wait for a new generation of `device` inside its own pre-admission hook: the thread would wait for
/// itself.
pub(super) fn not_in_its_hook(device: &Inner) -> Result<()> {
    if MAKING.get() == Some(device.id) {
        return Err(Error::unsupported(format!(
            "a `before_admission` hook must not wait for the rebuild of {}, which waits for the hook",
            device.label
        )));
    }
    Ok(())
}

/// A panic of a hook is an error of the rebuild; it does not end the supervisor.
fn guarded(hook: &super::Hook, device: &Device) -> Result<()> {
    catch_unwind(AssertUnwindSafe(|| hook(device)))
        .unwrap_or_else(|_| Err(Error::Panicked { message: "a rebuild hook panicked".into(), site: Site::none() }))
}
